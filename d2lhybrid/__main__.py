"""`python -m d2lhybrid`: `compare` asks about your model, `bench` about the course's network."""

import sys

# Python looks for modules in the current folder first, where a reader may have a random.py.
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]

from .cli.main import run

if __name__ == "__main__":
    run()

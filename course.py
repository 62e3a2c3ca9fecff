"""The commands of the course. They need nothing but Python: the rest is installed into .venv, or
into the folder that the environment variable D2LHYBRID_VENV names.
"""

import argparse
import inspect
import sys

PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))


def main(*words):
    this = "{}.{}".format(*sys.version_info)
    if sys.version_info[:2] < PYTHONS[0]:
        sys.exit(f"The course needs Python 3.11 or later, and this is {this}. Install a later one.")
    if sys.version_info[:2] > PYTHONS[-1]:
        print(f"The course was made for Python 3.11 to 3.15, and this is {this}.", flush=True)
    # Here, because an older Python can't read them.
    from tools import api, authoring, checking, environment, glossary, reading, teaching

    parser = argparse.ArgumentParser(prog="course.py", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name, function):
        about = inspect.getdoc(function)
        one = commands.add_parser(name, help=about.split("\n\n")[0], description=about)
        one.allow_abbrev = False  # what is not ours goes to pytest as it is
        one.set_defaults(function=function)
        return one.add_argument

    command("read", reading.read)
    command("check", checking.check)("--part", metavar="N", help="only the notebooks of part N")
    command("frameworks", environment.frameworks)("names", nargs="*")
    command("slides", teaching.slides)("notebooks", nargs="*")
    add = command("handout", teaching.handout)
    add("notebooks", nargs="*")
    add("--solutions", action="store_true", help="keep the solutions")
    add("--html", action="store_true", help="make web pages, with outputs")
    add = command("refresh", authoring.refresh)
    add("notebooks", nargs="*")
    add("--busy", action="store_true", help="store outputs of a busy machine, too")
    command("contents", authoring.contents)
    command("glossary", glossary.write_page)
    command("api", api.write_page)
    command("address", authoring.address)("new", metavar="OWNER/NAME")

    arguments, others = parser.parse_known_args(words or ["--help"])
    if arguments.function is checking.check:
        arguments.pytest = others
    elif others:
        parser.error(f"there is no {' '.join(others)} here")
    return arguments.function(**{k: v for k, v in vars(arguments).items() if k != "function"})


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except OSError as error:  # a full disk, or a folder that can't be written to
        sys.exit(f"That did not work: {error}.")

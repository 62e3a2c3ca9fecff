"""From a graph to source text: `python` writes a Python function, `c` a C function.

Explained in notebooks 04 and 12; Inductor calls this step code generation, too.
"""

from .c import PRELUDE, c_source
from .python import python_function, python_source

__all__ = ["PRELUDE", "c_source", "python_function", "python_source"]

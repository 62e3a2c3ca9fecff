"""Names for generated text: each is a name in Python and in C, with no other meaning in either.

Explained in notebook 12. `torch.fx.graph._Namespace` does the same for Python alone.
"""

import keyword
import re
from collections.abc import Iterable
from itertools import count

# The words of C, the names that have a meaning in `forward`, and macros of C's headers. A variable
# may hide other names of prelude.c, such as `one`. `operation_names` has what OPERATIONS call.
RESERVED = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while _Bool _Complex _Imaginary fabsf fmaf add_dots
    forward malloc free memory main parameters n i ptrdiff_t NAN INFINITY NULL
    RAND_MAX MB_CUR_MAX EXIT_SUCCESS EXIT_FAILURE HUGE_VAL HUGE_VALF HUGE_VALL
    MATH_ERRNO MATH_ERREXCEPT math_errhandling linux unix UNROLL
"""
# A loop's counter, more macros of math.h, and what C keeps for itself.
RESERVED_FORMS = re.compile(r"i\d+|FP_\w+|_[A-Z_]\w+")


class UniqueNames:
    """Called with a preferred name, it returns one close to it that it has not returned before.

    >>> unique = UniqueNames()
    >>> unique("größe"), unique("int"), unique("int")
    ('gr__e', 'int_2', 'int_3')
    """

    def __init__(self, taken: Iterable[str] = ()):
        self.taken = {*RESERVED.split(), *keyword.kwlist, *taken}

    def __call__(self, preferred: str) -> str:
        preferred = re.sub(r"\W|^(?=\d)", "_", preferred, flags=re.ASCII)
        if RESERVED_FORMS.fullmatch(preferred):
            preferred = f"the_{preferred}"
        name, numbers = preferred, count(2)
        while name in self.taken:
            name = f"{preferred}_{next(numbers)}"
        self.taken.add(name)
        return name

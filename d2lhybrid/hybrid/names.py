"""Names for generated text: each is a word in Python and in C, and means nothing else there.

Explained in notebook 09. `torch.fx.graph._Namespace` does the same for Python alone.
"""

import keyword
import re
from collections.abc import Iterable
from itertools import count

# The words of C, and those that our C text uses, except for the functions of OPERATIONS.
RESERVED = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while _Bool _Complex _Imaginary fabsf fmaf add_dots
    forward malloc free memory main parameters n i ptrdiff_t NAN INFINITY NULL
    RAND_MAX MB_CUR_MAX EXIT_SUCCESS EXIT_FAILURE HUGE_VAL HUGE_VALF HUGE_VALL
    MATH_ERRNO MATH_ERREXCEPT math_errhandling linux unix
"""
# A loop's counter, a macro of math.h, and what C keeps for itself.
RESERVED_FORMS = re.compile(r"i\d+|FP_\w+|_[A-Z_]\w+")


class UniqueNames:
    """Called with a wish, it returns a name close to it that it has not returned before.

    >>> unique = UniqueNames()
    >>> unique("größe"), unique("int"), unique("int")
    ('gr__e', 'int_2', 'int_3')
    """

    def __init__(self, taken: Iterable[str] = ()):
        self.taken = {*RESERVED.split(), *keyword.kwlist, *taken}

    def __call__(self, wish: str) -> str:
        wish = re.sub(r"\W|^(?=\d)", "_", wish, flags=re.ASCII)
        if RESERVED_FORMS.fullmatch(wish):
            wish = f"the_{wish}"
        name, numbers = wish, count(2)
        while name in self.taken:
            name = f"{wish}_{next(numbers)}"
        self.taken.add(name)
        return name

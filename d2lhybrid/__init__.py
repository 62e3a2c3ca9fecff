"""What happens when a program is compiled instead of interpreted, and does it help?

The helper package of the course. `__init__.pyi` lists the public names. Each is loaded when it is
first used, so `import d2lhybrid` itself imports neither torch nor matplotlib.
"""

import lazy_loader

__version__ = "1.0.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
# Of the book's chapter on computational performance, what is not here. d2l 0.17 is the newest that
# installs beside today's NumPy.
_BOOKS = "Accumulator Animator Residual accuracy evaluate_accuracy_gpu "
_BOOKS += "load_data_fashion_mnist plot plt resnet18 set_figsize sgd split_batch"


def __getattr__(name):
    """Import a public name at its first use (PEP 562); AttributeError for any other name, which
    says where a name of the book's is.

    Where matplotlib is missing, a function that needs it only prints that it does.
    """
    if name in _BOOKS.split():
        where = f"pip install d2l==0.17, then from d2l.torch import {name}"
        raise AttributeError(f"d2l.{name} is the book's own: {where}")
    try:
        value = globals()[name] = _load(name)  # older versions of lazy_loader do not keep it
        return value
    except ModuleNotFoundError as missing:
        if missing.name != "matplotlib":
            raise
        # A browser has none. A notebook goes on there without this picture.
        return lambda *_, **__: print(f"{name} needs matplotlib, which is not installed here")

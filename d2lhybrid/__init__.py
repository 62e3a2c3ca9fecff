"""What happens when a program is compiled instead of interpreted, and does it help?

The helper package of the course. `__init__.pyi` lists the public names. Each is loaded when it is
first used, so `import d2lhybrid` itself imports neither torch nor matplotlib.
"""

import lazy_loader

__version__ = "1.0.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):
    """Import a public name at its first use (PEP 562); AttributeError for any other name.

    Where matplotlib is missing, a function that needs it only prints that it does.
    """
    try:
        value = globals()[name] = _load(name)  # older versions of lazy_loader do not keep it
        return value
    except ModuleNotFoundError as missing:
        if missing.name != "matplotlib":
            raise
        # A browser has none. A notebook goes on there without this picture.
        return lambda *_, **__: print(f"{name} needs matplotlib, which is not installed here")

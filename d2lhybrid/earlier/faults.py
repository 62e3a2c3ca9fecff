"""This was `d2lhybrid.faults`; it is now `from d2lhybrid import reset_compiler`."""

from d2lhybrid.frameworks.pytorch import reset_compiler

__all__ = ["reset_compiler"]

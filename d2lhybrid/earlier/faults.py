"""Earlier versions had this here; it is `from d2lhybrid import reset_compiler` now."""

from d2lhybrid.frameworks.pytorch import reset_compiler

__all__ = ["reset_compiler"]

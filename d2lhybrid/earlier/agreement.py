"""Earlier versions had this here; it is `from d2lhybrid import difference` now."""

from d2lhybrid.measure.agreement import difference

__all__ = ["difference"]

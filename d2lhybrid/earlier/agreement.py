"""This was `d2lhybrid.agreement`; it is now `from d2lhybrid import difference`."""

from d2lhybrid.measure.agreement import difference

__all__ = ["difference"]

"""Search spaces: what may be tried.

A space is written as a dict of domains, or given as a ``ConfigSpace.ConfigurationSpace``; both
become a :class:`Space`. Nothing here does I/O or keeps random state of its own.
"""

from rungwise.space.domains import Choice, Float, Int
from rungwise.space.space import Space

__all__ = ["Choice", "Float", "Int", "Space"]

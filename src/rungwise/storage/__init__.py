"""Where logs are kept: append, read; nothing else."""

from rungwise.storage.base import Entry, EventLog
from rungwise.storage.memory import MemoryLog, replay

__all__ = ["Entry", "EventLog", "MemoryLog", "replay"]

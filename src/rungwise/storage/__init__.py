"""Event logs: append and read, nothing else."""

from rungwise.storage.base import Entry, EventLog
from rungwise.storage.memory import MemoryLog, replay
from rungwise.storage.sqlite import SqliteLog

__all__ = ["Entry", "EventLog", "MemoryLog", "SqliteLog", "replay"]

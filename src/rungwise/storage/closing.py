"""Files that are closed when a block ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TypeVar

T = TypeVar("T", bound="Closing")


class Closing(ABC):
    """Closed at the end of a ``with`` statement."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    def __enter__(self: T) -> T:  # noqa: PYI019 - Self needs Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

"""All callbacks of a study: every call of one goes through here."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from rungwise.callbacks.base import Callback
from rungwise.callbacks.outlets import Outlet, QueuedOutlet
from rungwise.validation import adopt


class CallbackFeed:
    """Passes facts on to callbacks.

    Args:
        callbacks: the callbacks, in the order in which they are called.
    """

    def __init__(self, callbacks: Sequence[Any]) -> None:
        self._notices: queue.SimpleQueue[str] = queue.SimpleQueue()
        say = self._notices.put
        self._outlets = [
            QueuedOutlet(each, say) if each.slow else Outlet(each, say)
            for each in (adopt(own, Callback) for own in callbacks)
        ]

    def __bool__(self) -> bool:
        return bool(self._outlets)

    def say(self, text: str) -> None:
        """Keep something that the user should know; from any thread."""
        self._notices.put(text)

    def tell(self, name: str, fact: Any) -> None:
        """Pass a fact on to all.

        Args:
            name: of the method.
            fact: its argument, or a ``partial`` that makes it: in a thread, for slow callbacks.
        """
        for outlet in self._outlets:
            outlet.put(name, fact)

    def wait_until_begun(self) -> None:
        """Wait until all are ready, but not for long."""
        for outlet in self._outlets:
            outlet.wait_until_begun()

    def take_notices(self) -> list[str]:
        """What the user should know; threads show nothing themselves."""
        found: list[str] = []
        if self._notices.empty():  # as at nearly every step
            return found
        with suppress(queue.Empty):
            while True:
                found.append(self._notices.get_nowait())
        return found

    def close(self, show: Callable[[str], None]) -> None:
        """Wait until everything was passed on.

        Args:
            show: says what is waited for.
        """
        for outlet in self._outlets:
            outlet.close(show)

"""How a job is unwound in the middle: its training function gets :class:`Unwound`."""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from types import FrameType

from rungwise.backends.tuner_connection import TunerConnection
from rungwise.run import Unwound

UNWIND: signal.Signals = getattr(signal, "SIGUSR2", signal.SIGTERM)
"""The signal by which a job is unwound in its own process."""

LEAVE_POLL = 0.1
"""Seconds between two checks for a message to leave, while a job trains."""


class JobUnwinder:
    """Turns a message to leave into :class:`Unwound` in the thread that trains.

    Where signals can be sent (on this machine) one comes with the message, and the job is unwound
    at once. Elsewhere a thread polls for the message. The signal is not SIGTERM: children that
    training forks inherit handlers, and process pools end their children by SIGTERM.

    Args:
        connection: the connection to the tuner.
    """

    def __init__(self, connection: TunerConnection) -> None:
        self._connection = connection
        self._thread = threading.get_ident()
        self._signals = threading.current_thread() is threading.main_thread()
        self.job: int | None = None  # the job that can be unwound
        self._meant: int | None = None  # the job that the watching thread has sent its signal for
        self.install_handler()
        threading.Thread(target=self._watch, name="rungwise-leave", daemon=True).start()

    def install_handler(self) -> None:
        """Handle the signal, even if training has installed a handler of its own since."""
        if self._signals:
            signal.signal(UNWIND, self._unwind)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _unwind(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        meant, self._meant = self._meant, None
        # Else the job it was meant for has left; the next one may have begun.
        if self.job is not None and meant in (None, self.job):
            self.job = None
            raise Unwound

    def _watch(self) -> None:
        while True:
            time.sleep(LEAVE_POLL)
            job = self.job
            if (
                job is None
                or self._connection.receiving
                or not self._connection.is_asked_to_leave(job)
            ):
                continue
            if self._signals:
                self._meant = job
                signal.pthread_kill(self._thread, UNWIND)
            elif self.job == job:
                self.job = None
                raise_in_thread(self._thread, Unwound)


def raise_in_thread(thread: int, kind: type[BaseException]) -> None:
    """Raise an exception in another thread, as soon as that runs Python code.

    Until then, Python 3.11 lets every thread that has a trace function (a debugger, coverage) spin
    at its next call of a function; other versions do not.
    """
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))

"""A worker process: one training function, loaded once, and one leg after another.

It talks to the tuner over a socket in lines of JSON. To the tuner: ``["ready"]``, ``["report",
resource, value, extras]``, ``["saved", resource, bytes]``, ``["notice", text]``, ``["ended"]``,
``["failed", reason, trace]``, ``["unfit", reason, trace]``. From it: a leg to run, and after each
report ``true`` (train on) or ``false`` (enough). When the tuner is gone the worker ends.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pickle
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from rungwise.run import Leg, Run, Unwound

Train = Callable[[dict[str, Any], Run], Any]


class Line:
    """The worker's end of the socket."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._pending = b""

    def tell(self, *message: Any) -> None:
        """Send a message; without a tuner there is nothing left to do."""
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            _leave()

    def hear(self) -> Any:
        """The next message, waited for."""
        while b"\n" not in self._pending:
            try:
                read = self._socket.recv(65536)
            except OSError:
                read = b""
            if not read:
                _leave()
            self._pending += read
        line, _, self._pending = self._pending.partition(b"\n")
        return json.loads(line)

    # -- the channel of a run ------------------------------------------------------------------

    def report(self, resource: float, value: float, extras: Mapping[str, float]) -> bool:
        """Tell a report, and wait until it is in the log."""
        self.tell("report", resource, value, extras)
        return self.hear() is True

    def saved(self, resource: float, size: int) -> None:
        """Tell that a checkpoint was committed."""
        self.tell("saved", resource, size)

    def notice(self, text: str) -> None:
        """Tell something a person should know."""
        self.tell("notice", text)


class Stopper:
    """Turns SIGTERM into :class:`Unwound` while a leg runs, and into the end otherwise."""

    def __init__(self) -> None:
        self.armed = False
        self.listen()

    def listen(self) -> None:
        """Take the signals, whoever has taken them since."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.armed:
            self.armed = False
            raise Unwound
        _leave()


class Surroundings:
    """What a leg may leave behind changed, and the next one is to find as it was."""

    def __init__(self) -> None:
        self._place = Path.cwd()
        self._outputs = {"stdout": (1, os.dup(1)), "stderr": (2, os.dup(2))}

    def restore(self) -> None:
        """The working folder, and outputs that are open."""
        with suppress(OSError):
            os.chdir(self._place)
        for name, (descriptor, kept) in self._outputs.items():
            os.dup2(kept, descriptor)
            stream = getattr(sys, name)
            if stream is None or stream.closed:
                setattr(sys, name, _stream(descriptor))


def _stream(descriptor: int) -> TextIO:
    return open(descriptor, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)


def main(descriptor: int) -> None:
    """Serve until the tuner is gone.

    Args:
        descriptor: the socket.
    """
    line, stopper = Line(descriptor), Stopper()
    train = _prepare(line)
    surroundings = Surroundings()
    line.tell("ready")
    while True:
        order = line.hear()
        if not isinstance(order, dict):
            continue  # the answer to a report that was being made when the leg was stopped
        leg, config = Leg(**order["leg"]), order["config"]
        surroundings.restore()
        stopper.listen()
        line.tell(*_serve(train, config, leg, line, stopper))


def _prepare(line: Line) -> Train:
    """Load the training function; a worker that cannot is of no use, and says why."""
    setup = line.hear()
    try:
        os.chdir(setup["cwd"])
        for name in setup["preload"]:
            importlib.import_module(name)
        payload = Path(setup["function"]).read_bytes()
        train: Train = pickle.loads(payload)  # noqa: S301 - written by the tuner that started us
    except BaseException as error:  # noqa: BLE001 - whatever the user's modules raise
        line.tell("unfit", _told(error), traceback.format_exc())
        _leave()
    return train


def _serve(
    train: Train, config: dict[str, Any], leg: Leg, line: Line, stopper: Stopper
) -> tuple[str, ...]:
    """Run a leg; the message that tells how it ended."""
    try:
        run = Run(leg, line)
        stopper.armed = True
        train(config, run)
        stopper.armed = False
        if not run.reported and leg.phase == "tune":
            return ("failed", f"the function returned without a report of {leg.metric!r}", "")
    except Unwound:
        return ("ended",)
    except BaseException as error:  # noqa: BLE001 - whatever training raises is the trial's own
        stopper.armed = False
        trace = "".join(traceback.format_exception(error))
        reason = _told(error)
        del error
        gc.collect()  # what the traceback held on to, models on a GPU for example
        return ("failed", reason, trace)
    finally:
        stopper.armed = False
        _flush()
    return ("ended",)


def _told(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it called exit({error.code!r})"
    first = str(error).strip().partition("\n")[0]
    name = type(error).__name__
    return f"{name}: {first}" if first else name


def _leave() -> Any:
    """End without ceremony: nothing of a user's may hold the process back."""
    _flush()
    os._exit(0)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # full, closed or None
            stream.flush()

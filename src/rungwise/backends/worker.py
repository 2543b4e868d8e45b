"""A worker process: one training function, loaded once, and one leg after another.

It talks to the tuner over a socket in lines of JSON. To the tuner: ``["ready"]``, ``["unfit",
reason, trace]``, and with the number of the job ``["report", job, resource, value, extras]``,
``["saved", job, resource, bytes]``, ``["notice", job, text]``, ``["ended", job]``, ``["failed",
job, reason, trace]``. From it: a leg to run, and after each
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
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, TextIO

from rungwise.run import UNWIND, Leg, Run, Unwound

Train = Callable[[dict[str, Any], Run], Any]


class Line:
    """The worker's end of the socket."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._pending = b""
        self._owner = os.getpid()

    def tell(self, *message: Any) -> None:
        """Send a message; without a tuner there is nothing left to do."""
        if os.getpid() != self._owner:
            # A child that training forked has come out of its function: it must not speak for us.
            os._exit(0)
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


class LegChannel:
    """How the run of one leg talks to the tuner; once the leg has ended nothing gets through.

    Args:
        line: the socket.
        job: the number of the job, which every message carries.
    """

    def __init__(self, line: Line, job: int) -> None:
        self._line = line
        self._job = job
        self._turn = threading.Lock()  # a report and its answer belong together
        self.open = True

    def report(self, resource: float, value: float, extras: Mapping[str, float]) -> bool:
        """Tell a report, and wait until it is in the log."""
        with self._turn:
            self._tell("report", resource, value, extras)
            return self._line.hear() is True

    def saved(self, resource: float, size: int) -> None:
        """Tell that a checkpoint was committed."""
        self._tell("saved", resource, size)

    def notice(self, text: str) -> None:
        """Tell something a person should know."""
        self._tell("notice", text)

    def _tell(self, kind: str, *rest: Any) -> None:
        if not self.open:
            raise Unwound  # a thread that has outlived its leg
        self._line.tell(kind, self._job, *rest)


class Stopper:
    """Turns the signal to unwind into :class:`Unwound` while a leg runs, else into the end.

    It is not SIGTERM: children that training forks inherit handlers, and process pools end their
    children by SIGTERM.
    """

    def __init__(self) -> None:
        self.armed = False
        self.listen()

    def listen(self) -> None:
        """Take the signal, whoever has taken it since."""
        signal.signal(UNWIND, self._stop)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

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
        channel = LegChannel(line, leg.job)
        kind, *rest = _serve(train, config, leg, channel, stopper)
        channel.open = False
        line.tell(kind, leg.job, *rest)


def _prepare(line: Line) -> Train:
    """Load the training function; a worker that cannot is of no use, and says why."""
    setup = line.hear()
    try:
        os.chdir(setup["cwd"])
        for name in setup["preload"]:
            importlib.import_module(name)
        payload = Path(setup["function"]).read_bytes()
        train: Train = pickle.loads(payload)  # noqa: S301 - written by the tuner that started us
        _furnish(train)
    except BaseException as error:  # noqa: BLE001 - whatever the user's modules raise
        line.tell("unfit", _told(error), traceback.format_exc())
        _leave()
    return train


def _furnish(train: Any) -> None:
    """Put what came with a function into the module it came from.

    A function of a script comes whole, with the classes it uses; these say that they belong to
    ``__main__``, and whoever pickles one of their objects looks for them there.
    """
    while hasattr(train, "func"):  # functools.partial
        train = train.func
    function: Any = train if hasattr(train, "__globals__") else vars(type(train)).get("__call__")
    values = getattr(function, "__globals__", None)
    name = getattr(function, "__module__", None)
    if values is None or name is None:
        return
    module = _module(name)
    if vars(module) is not values:  # else it was imported, and has all
        own = {key: value for key, value in values.items() if not key.startswith("__")}
        vars(module).update(own, **{function.__name__: function} if function is train else {})


def _module(name: str) -> ModuleType:
    """The module of a name, made up where there is none, in packages that are there or made up."""
    if name not in sys.modules:
        parent = name.rpartition(".")[0]
        if parent:
            try:
                importlib.import_module(parent)
            except ImportError:
                _module(parent)
        sys.modules[name] = ModuleType(name)
    return sys.modules[name]


def _serve(
    train: Train, config: dict[str, Any], leg: Leg, channel: LegChannel, stopper: Stopper
) -> tuple[str, ...]:
    """Run a leg; the message that tells how it ended."""
    try:
        run = Run(leg, channel)
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

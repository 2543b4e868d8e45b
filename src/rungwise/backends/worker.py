"""A worker: one training function, loaded once, and one job after another.

It talks to the tuner over a socket in lines of JSON. Its first message from there is the setup,
followed by the training function as bytes (none where the worker was started with it); then come
assignments, ``{"start": {…}}``, after each report ``true`` (train on) or ``false`` (enough), and
``{"leave": job}`` when a job is to be unwound in the middle. It sends ``["ready"]`` or
``["unfit", reason, trace]``, and with the number of the job ``["started", job]``,
``["report", job, resource, value, metrics]``, ``["saved", job, resource, bytes]``,
``["notice", job, text]``, ``["ended", job]``, ``["failed", job, reason, trace, fault]``. When the
tuner is gone the worker ends.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import pickle
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Protocol, TextIO

from rungwise.backends.messages import Crashed, Ended, Fault
from rungwise.checkpoints import CheckpointStore, store_from_json
from rungwise.errors import StoreUnavailableError
from rungwise.run import Assignment, Channel, Run, Unwound

Train = Callable[[dict[str, Any], Run], Any]

UNWIND: signal.Signals = getattr(signal, "SIGUSR2", signal.SIGTERM)
"""The signal by which a job is unwound in its own process."""

LEAVE_POLL = 0.1
"""Seconds between two checks for a message to leave, while a job trains."""


def connect(address: str, token: str, number: int, **more: Any) -> socket.socket:
    """The worker's end of its socket.

    Args:
        address: ``"fd:7"``, a descriptor that was inherited, or ``"tcp:host:port"``.
        token: what a listening tuner expects in the first message.
        number: which slot this is.
        more: anything else for the first message.
    """
    kind, _, rest = address.partition(":")
    if kind == "fd":
        return socket.socket(fileno=int(rest))
    host, _, port = rest.rpartition(":")
    connected = socket.create_connection((host, int(port)), timeout=30)
    connected.settimeout(None)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    greeting = {"token": token, "number": number, **more}
    connected.sendall(json.dumps(greeting).encode() + b"\n")
    return connected


class TunerConnection:
    """The worker's end of the socket, in messages.

    Args:
        connected: the socket.
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._pending = b""
        self._owner = os.getpid()
        self._sending = threading.Lock()
        self.receiving = False  # whether receive() waits for a message

    def send(self, *message: Any) -> None:
        """Send a message; if the tuner is gone, end the worker."""
        if os.getpid() != self._owner:
            # A child that training forked has returned from its function: it must not send
            # messages in the worker's name.
            _end_child(message)
        try:
            # One at a time: child processes that share a run are answered by threads.
            with self._sending:
                self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            _exit_with_group()

    def receive(self) -> Any:
        """Wait for the next message."""
        self.receiving = True
        try:
            while b"\n" not in self._pending:
                self._read()
        finally:
            self.receiving = False
        line, _, self._pending = self._pending.partition(b"\n")
        return json.loads(line)

    def read_bytes(self, count: int) -> bytes:
        """Read this many bytes that follow a message."""
        parts, missing = [self._pending], count - len(self._pending)
        while missing > 0:
            self._pending = b""
            self._read()
            parts.append(self._pending)
            missing -= len(self._pending)
        data = b"".join(parts)
        self._pending = data[count:]
        return data[:count]

    def _read(self) -> None:
        try:
            read = self._socket.recv(65536)
        except OSError:
            read = b""
        if not read:
            _exit_with_group()
        self._pending += read

    def is_asked_to_leave(self, job: int) -> bool:
        """Whether a message to leave waits, without taking it.

        If the tuner is gone, end the worker.
        """
        wanted = json.dumps({"leave": job}).encode() + b"\n"
        if wanted in self._pending:  # it came together with an answer
            return True
        try:
            seen = self._socket.recv(65536, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            seen = b""
        if not seen:
            _exit_with_group()
        return wanted in self._pending + seen


class JobChannel:
    """How the run of one job talks to the tuner; once the job has ended nothing is sent.

    Args:
        connection: the connection to the tuner.
        job: the number of the job, which every message carries.
    """

    def __init__(self, connection: TunerConnection, job: int) -> None:
        self._connection = connection
        self._job = job
        self.open = True

    def report(self, resource: float, value: float, metrics: Mapping[str, float]) -> bool:
        """Send a report, and wait until it is in the log."""
        self._send("report", resource, value, metrics)
        while True:
            answer = self._connection.receive()
            if isinstance(answer, bool):
                return answer
            if answer == {"leave": self._job}:
                raise Unwound

    def saved(self, resource: float, size: int) -> None:
        """Send that a checkpoint was committed."""
        self._send("saved", resource, size)

    def notice(self, text: str) -> None:
        """Send something a person should know."""
        self._send("notice", text)

    def _send(self, kind: str, *rest: Any) -> None:
        if not self.open:
            raise Unwound  # a thread that has outlived its job
        self._connection.send(kind, self._job, *rest)


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


class ProcessState:
    """The working folder and the outputs: a job may change them, the next one gets them back."""

    def __init__(self) -> None:
        self._place = Path.cwd()
        self._outputs = {"stdout": (1, os.dup(1)), "stderr": (2, os.dup(2))}

    def restore(self) -> None:
        """Change back to the working folder, and reopen outputs that were closed."""
        with suppress(OSError):
            os.chdir(self._place)
        for name, (descriptor, kept) in self._outputs.items():
            os.dup2(kept, descriptor)
            stream = getattr(sys, name)
            if stream is None or stream.closed:
                setattr(sys, name, _stream(descriptor))


def _stream(descriptor: int) -> TextIO:
    return open(descriptor, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)


def main(address: str, token: str, number: int, function: bytes = b"") -> None:
    """Serve until the tuner is gone.

    Args:
        address: where the tuner is, see :func:`connect`.
        token: what shows the tuner that this is its worker.
        number: which slot this is.
        function: the training function, packed, where it does not come from the tuner.
    """
    connection = TunerConnection(connect(address, token, number))
    train, store = _prepare(connection, function)
    unwinder = JobUnwinder(connection)
    state = ProcessState()
    connection.send("ready")
    while True:
        message = connection.receive()
        if not isinstance(message, dict) or "start" not in message:
            continue  # an answer, or a message to leave, for a job that has left since
        assignment = Assignment(**message["start"])
        connection.send("started", assignment.job)  # from now on a crash may be the job's fault
        state.restore()
        unwinder.install_handler()
        channel = JobChannel(connection, assignment.job)
        outcome = serve(train, assignment, channel, store, unwinder)
        channel.open = False
        _flush()
        if isinstance(outcome, Crashed):
            parts = (outcome.reason, outcome.trace, outcome.fault)
            connection.send("failed", outcome.job, *parts)
        else:
            connection.send("ended", outcome.job)


def _prepare(connection: TunerConnection, function: bytes) -> tuple[Train, CheckpointStore]:
    """Load the training function; a worker that cannot load it says why and ends."""
    setup = connection.receive()
    payload = function or connection.read_bytes(setup["function"])
    try:
        with suppress(OSError):  # another machine may not have it, or not for this user
            os.chdir(setup["cwd"])
        # What the tuner can import, on a disk that is shared; a worker's own places come first.
        sys.path += [place for place in setup.get("path", ()) if place not in sys.path]
        for name in setup["preload"]:
            importlib.import_module(name)
        train: Train = pickle.loads(payload)  # noqa: S301 - sent by the tuner that started us
        _complete_module(train)
        store = store_from_json(setup["store"])
    except BaseException as error:  # noqa: BLE001 - whatever the user's modules raise
        connection.send("unfit", describe(error), traceback.format_exc())
        _exit_now()
    return train, store


def _complete_module(train: Any) -> None:
    """Put what came with a function into the module it came from.

    A function of a script comes whole, with the classes it uses; these say that they belong to
    ``__main__``, and pickling one of their objects looks for them there.
    """
    while hasattr(train, "func"):  # functools.partial
        train = train.func
    function: Any = train if hasattr(train, "__globals__") else vars(type(train)).get("__call__")
    values = getattr(function, "__globals__", None)
    name = getattr(function, "__module__", None)
    if values is None or name is None:
        return
    module = _module(name)
    if vars(module) is not values:  # else it was imported, and is complete
        own = {key: value for key, value in values.items() if not key.startswith("__")}
        vars(module).update(own, **{function.__name__: function} if function is train else {})


def _module(name: str) -> ModuleType:
    """The module of a name; an empty one is created where there is none, and so are packages."""
    if name not in sys.modules:
        parent = name.rpartition(".")[0]
        if parent:
            try:
                importlib.import_module(parent)
            except ImportError:
                _module(parent)
        sys.modules[name] = ModuleType(name)
    return sys.modules[name]


class Unwinder(Protocol):
    """Unwinds the job that it names."""

    job: int | None


def serve(
    train: Train,
    assignment: Assignment,
    channel: Channel,
    store: CheckpointStore,
    unwinder: Unwinder,
) -> Ended | Crashed:
    """Run a job to its end.

    Args:
        train: the training function.
        assignment: the job.
        channel: how its run talks to the tuner.
        store: where its checkpoints are.
        unwinder: unwinds the job that its attribute ``job`` names.

    Returns:
        How it ended.
    """
    job = assignment.job
    run: Run | None = None
    whole = False
    try:
        run = Run(assignment, channel, store)
        unwinder.job = assignment.job
        returned = train(dict(assignment.config), run)
        unwinder.job = None
        whole = True
        if not run.reported and assignment.phase == "tune":
            hint = "" if returned is None else "; what it returns is not used: call run.report"
            return Crashed(job, f"the function returned without a report of {run.metric!r}{hint}")
    except Unwound:
        return Ended(job)
    except BaseException as error:  # noqa: BLE001 - whatever training raises is the trial's own
        unwinder.job = None
        trace = "".join(traceback.format_exception(error))
        reason = describe(error)
        fault: Fault = "worker" if isinstance(error, StoreUnavailableError) else "trial"
        del error
        gc.collect()  # what the traceback kept alive, models on a GPU for example
        return Crashed(job, reason, trace, fault=fault)
    finally:
        unwinder.job = None
        if run is not None:
            run.close(unwound=not whole)
    return Ended(job)


def describe(error: BaseException) -> str:
    """An exception in one line."""
    if isinstance(error, SystemExit):
        return f"it called exit({error.code!r})"
    first = str(error).strip().partition("\n")[0]
    name = type(error).__name__
    return f"{name}: {first}" if first else name


def _end_child(message: tuple[Any, ...]) -> None:
    """End a process that training has forked, when it leaves the function; say if that failed."""
    trace = message[3] if message[0] == "failed" else ""
    if trace and sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(str(trace))
    _flush()
    os._exit(1 if trace else 0)


def _exit_now() -> Any:
    """End at once: no exit handler or thread of the user's may keep the process alive."""
    _flush()
    os._exit(0)


def _exit_with_group() -> Any:
    """The tuner is gone: end, and what training has started as well."""
    if os.name == "posix" and os.getpgrp() == os.getpid():
        _flush()
        os.killpg(0, signal.SIGKILL)
    _exit_now()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # full, closed or None
            stream.flush()

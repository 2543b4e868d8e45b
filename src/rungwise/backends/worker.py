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

import gc
import importlib
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TextIO

from rungwise.backends.messages import Crashed, Ended, Fault
from rungwise.backends.tuner_connection import (
    JobChannel,
    TunerConnection,
    connect,
    exit_now,
    flush_outputs,
)
from rungwise.backends.unwinding import JobUnwinder
from rungwise.checkpoints import CheckpointStore, store_from_json
from rungwise.errors import StoreUnavailableError
from rungwise.run import Assignment, Channel, Run, Unwound

Train = Callable[[dict[str, Any], Run], Any]


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
        flush_outputs()
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
        exit_now()
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
    if isinstance(error, TypeError) and first.startswith("Run.report() "):
        first += "; call it as run.report(epoch, loss=…): the resource first, then metrics by name"
    return f"{name}: {first}" if first else name

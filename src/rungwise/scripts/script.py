"""Running a script: one job of a trial as one process.

The script gets its configuration as flags or placeholders of its command line and as JSON in the
environment; it reports by appending lines of JSON to a file, and saves into a folder. Law of this
file: all that the script and the study share are files and the environment, and what the script
has reported as complete it never touches again, so that no lock is needed.

A job ends in one of three ways: the script ends by itself; it has reached its goal and has time
to save and end; enough is known before, and it is ended.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rungwise.backends import children
from rungwise.core.events import FURTHEST
from rungwise.errors import InvalidArgumentError
from rungwise.scripts.commands import filled, find_placeholders, flag, value_to_text, variables
from rungwise.scripts.processes import delaying_unwind, describe_exit, end
from rungwise.scripts.reports import Reports, ScriptError, ScriptReport, malformed
from rungwise.space import Space
from rungwise.space.scalars import plain
from rungwise.validation import real, set_frozen

POLL = 0.02
"""Seconds between two looks at the report file."""

SAVING_TIME = 60.0
"""Seconds that a script may take to save and end after it has reached its goal."""

_SCRATCH = ".script-"
_SHOWN = 120
_logger = logging.getLogger(__name__)


class Handle(Protocol):
    """What a script needs of a run; see :class:`rungwise.run.Run`."""

    @property
    def trial(self) -> int: ...
    @property
    def phase(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def latest(self) -> Path | None: ...
    @property
    def start(self) -> float: ...
    @property
    def until(self) -> float: ...
    @property
    def max_resource(self) -> float | None: ...
    @property
    def folder(self) -> Path: ...

    def report(self, resource: float, /, **metrics: Any) -> bool:
        """Send a report; False when enough is known."""
        ...

    def checkpoint(self, resource: float) -> AbstractContextManager[Path]:
        """A fresh folder, committed when the block ends."""
        ...


@dataclass(frozen=True)
class Script:
    """A training function that runs a command: ``script(config, run)`` runs one job.

    Args:
        command: the program and its arguments. ``{name}`` stands for the value of a parameter;
            a literal brace is written twice.
        flags: whether the configuration is appended as ``--name value``, if the command has no
            placeholders. A value that begins with a dash is written ``--name=value``.
        folder: the working directory; that of the worker by default.
        environment: variables beyond those of the worker.
        saving_time: how many seconds the script may take to end after it has reached its goal.

    Example:
        >>> Script(("sh", "train.sh")).arguments({"lr": 0.1, "act": "relu"})
        ('sh', 'train.sh', '--act', 'relu', '--lr', '0.1')
        >>> Script(("fit", "--rate={lr}", "{{x}}")).arguments({"lr": 0.1, "act": "relu"})
        ('fit', '--rate=0.1', '{x}')
    """

    command: tuple[str, ...]
    flags: bool = True
    folder: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    saving_time: float = SAVING_TIME

    def __post_init__(self) -> None:
        rule = "it must be a list of strings: the program and its arguments"
        command: Any = self.command
        if isinstance(command, str) or not isinstance(command, Sequence) or not command:
            raise InvalidArgumentError("command", command, rule)
        for part in command:
            if not isinstance(part, str) or "\0" in part:
                raise InvalidArgumentError("command", part, rule)
            find_placeholders(part)
        if not command[0]:
            raise InvalidArgumentError("command", command, "the program must have a name")
        set_frozen(self, flags=plain(self.flags))
        if type(self.flags) is not bool:
            raise InvalidArgumentError("flags", self.flags, "it must be True or False")
        if not isinstance(self.folder, (str, os.PathLike, type(None))):
            raise InvalidArgumentError("folder", self.folder, "it must be the path of a folder")
        folder = None if self.folder is None else os.fspath(self.folder)
        set_frozen(
            self, command=tuple(command), folder=folder, environment=variables(self.environment)
        )
        set_frozen(self, saving_time=real("saving_time", self.saving_time, at_least=0))

    def __str__(self) -> str:
        text = shlex.join(self.command)
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The parameters that the command names, in its order."""
        return tuple(name for part in self.command for name in find_placeholders(part))

    def check(self, space: Space) -> None:
        """Refuse what cannot work with a space, before anything is started."""
        always = [known.name for known in space.parameters if known.condition is None]
        for name in self.placeholders:
            if name not in space.names:
                rule = (
                    f"the space has only {', '.join(map(repr, space.names))} "
                    f"(a literal brace is written twice: {{{{ or }}}})"
                )
                raise InvalidArgumentError("command", f"{{{name}}}", rule)
            if name not in always:
                rule = "a conditional parameter, which may have no value, cannot be a placeholder"
                rule += ": use flags instead"
                raise InvalidArgumentError("command", f"{{{name}}}", rule)
        if self.folder is not None and not Path(self.folder).is_dir():
            raise InvalidArgumentError("folder", self.folder, "there is no such folder")
        program = self.command[0]
        if not find_placeholders(program) and self._program() is None:
            rule = "there is no such program, or it is not executable"
            raise InvalidArgumentError("command", program, rule)

    def arguments(self, config: Mapping[str, Any]) -> tuple[str, ...]:
        """The command line for a configuration."""
        values = {name: value_to_text(config[name]) for name in sorted(config)}
        missing = [name for name in self.placeholders if name not in values]
        if missing:
            rule = f"the configuration has only {', '.join(map(repr, values))}"
            raise InvalidArgumentError("command", f"{{{missing[0]}}}", rule)
        command = tuple(filled(part, values) for part in self.command)
        if not self.flags or self.placeholders:
            return command
        return (*command, *(part for name in values for part in flag(name, values[name])))

    def __call__(self, config: Mapping[str, Any], run: Handle) -> None:
        """Run one job: start the script, pass on its reports and checkpoints, wait for its end."""
        arguments = self.arguments(config)
        with _scratch(run.folder) as scratch:
            save, reports = scratch / "save", Reports(scratch / "reports.jsonl")
            save.mkdir()
            environment = {**os.environ, **self.environment}
            environment |= _make_variables(config, run, reports.path, save)
            process = None
            try:
                with delaying_unwind():
                    process = self._start(arguments, environment)
                    children.watch(process.pid)
                self._follow(process, run, reports, save)
            finally:
                if process is not None:
                    end(process)
                    children.forget(process.pid)

    def _program(self) -> str | None:
        """Where the program is; as the system looks for it, from the working directory."""
        program = filled(self.command[0], {})
        if os.path.dirname(program):  # noqa: PTH120 - Path("./x") would forget the dot
            program = str(Path(self.folder or ".", program).absolute())
        return shutil.which(program, path=self.environment.get("PATH"))

    def _start(
        self, arguments: tuple[str, ...], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        # In a worker process it stays in that one's group, so that killing the group reaches it
        # too. In a thread of the tuner it gets a group of its own, which Ctrl-C does not reach.
        try:
            return subprocess.Popen(  # noqa: S603 - running the user's command is the purpose
                arguments,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                env=environment,
                start_new_session=children.need_a_group(),
            )
        except (OSError, ValueError) as error:
            raise ScriptError(f"The script ({self}) cannot be started: {error}.") from error

    def _follow(
        self, process: subprocess.Popen[bytes], run: Handle, reports: Reports, save: Path
    ) -> None:
        resource: float | None = None
        while True:
            ended = process.poll() is not None  # asked first: all it wrote is there then
            lines = reports.read(whole=process.returncode == 0)
            for number, line in enumerate(lines, start=1):
                report = ScriptReport.of(line)
                if report.checkpoint is not False:
                    complete = _complete(save, report)
                    _commit(complete, run, report.resource)
                    if complete != save:
                        complete.rmdir()
                resource = report.resource
                if not run.report(resource, **report.metrics):
                    reached = resource >= run.until and number == len(lines)
                    if reached and self._await_end(process, reports):
                        self._ended(process, run, save, resource)
                    return
            if ended:
                self._ended(process, run, save, resource)
                return
            _wait(process)

    def _await_end(self, process: subprocess.Popen[bytes], reports: Reports) -> bool:
        """Whether a script that reached its goal ends by itself; it may still be saving."""
        deadline = time.monotonic() + self.saving_time
        while True:
            ended = process.poll() is not None
            if reports.read(whole=False):
                # It trains beyond its goal. What it saves then belongs to a later resource.
                return False
            if ended:
                return True
            if time.monotonic() > deadline:
                _logger.warning(
                    "The script (%s) was still running %g s after it had reached its goal, and was "
                    "killed; a script should end at RUNGWISE_UNTIL.",
                    self,
                    self.saving_time,
                )
                return False
            _wait(process)

    def _ended(
        self, process: subprocess.Popen[bytes], run: Handle, save: Path, resource: float | None
    ) -> None:
        """The script has ended by itself: with success, or not."""
        if process.returncode != 0:
            raise ScriptError(f"The script ({self}) {describe_exit(process.returncode)}.")
        if resource is None:
            raise ScriptError(
                f"The script ({self}) ended without a report: it must append lines such as "
                '{"resource": 1, "accuracy": 0.5} to the file that RUNGWISE_REPORTS names.'
            )
        if not _is_folder(save):
            raise ScriptError(
                f"The script ({self}) removed RUNGWISE_SAVE or put a link in its place; it must "
                "write into that folder."
            )
        if any(save.iterdir()):
            _commit(save, run, resource)


def _complete(save: Path, report: ScriptReport) -> Path:
    """The folder that a report calls complete; never a link: its target must not be emptied."""
    if not _is_folder(save):
        raise malformed(report.line, '"checkpoint" needs RUNGWISE_SAVE to be the folder it was')
    if report.checkpoint is True:
        if not any(save.iterdir()):
            raise malformed(report.line, '"checkpoint" needs something in RUNGWISE_SAVE')
        return save
    name = str(report.checkpoint)
    if name != os.path.basename(name) or name in {"", ".", ".."} or "\0" in name:  # noqa: PTH119
        raise malformed(report.line, '"checkpoint" must name a folder directly in RUNGWISE_SAVE')
    if not _is_folder(save / name):
        rule = f'"checkpoint" needs a folder {name!r} in RUNGWISE_SAVE, not a link to one'
        raise malformed(report.line, rule)
    return save / name


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _commit(folder: Path, run: Handle, resource: float) -> None:
    """Make a checkpoint of what a folder holds; the folder is empty then."""
    entries = sorted(folder.iterdir())
    moved = 0
    with run.checkpoint(resource) as target:
        # One by one: a script that waits until the folder is empty waits until all are moved.
        for entry in entries:
            shutil.move(entry, target / entry.name)
            moved += 1
    # If the disk was full, training continues without this checkpoint. Only what was listed is
    # removed: the script may write its next checkpoint as soon as the folder is empty.
    for entry in entries[moved:]:
        _remove(entry)


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        entry.unlink(missing_ok=True)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder for one job; those of jobs that were killed are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{_SCRATCH}*"):
        shutil.rmtree(left, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=folder)).absolute()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(POLL)
    except subprocess.TimeoutExpired:
        return


def _make_variables(
    config: Mapping[str, Any], run: Handle, reports: Path, save: Path
) -> dict[str, str]:
    """The environment variables of a script."""
    return {
        "RUNGWISE_CONFIG": json.dumps(dict(config)),
        "RUNGWISE_REPORTS": str(reports),
        "RUNGWISE_LATEST": "" if run.latest is None else str(run.latest.absolute()),
        "RUNGWISE_SAVE": str(save),
        "RUNGWISE_START": _number(run.start),
        "RUNGWISE_UNTIL": "" if run.until >= FURTHEST else _number(run.until),
        "RUNGWISE_MAX": "" if run.max_resource is None else _number(run.max_resource),
        "RUNGWISE_TRIAL": str(run.trial),
        "RUNGWISE_PHASE": run.phase,
        "RUNGWISE_SEED": str(run.seed),
    }


def _number(number: float) -> str:
    """A resource as text: 9, not 9.0."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))

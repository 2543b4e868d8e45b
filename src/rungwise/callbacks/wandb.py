"""Weights & Biases: a run for every trial, all of a study in one group.

A run that is not finished may lose what was logged last when its process is killed, and the files
of a study that is tracked offline cannot be asked what they hold. So what a run holds is noted
beside W&B's own files when it is finished. What is not noted is logged again when the study is
resumed: it is in the study file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TextIO

from rungwise.callbacks.base import Callback
from rungwise.callbacks.events import CeilingRaised, JobLeft, ReportEvent, StudyBegan, StudyEnded
from rungwise.core.codec import jsonable
from rungwise.packages import check_package
from rungwise.validation import one_of

OPEN_RUNS = 64
"""Runs of trials that are open at the same time; one that goes on later is opened again."""

ENDS = ("stopped", "completed", "failed")


class WandB(Callback):
    """Logs to Weights & Biases, online or into files that ``wandb sync`` uploads later.

    Every trial is a run with its configuration, and metrics over the resource; the study itself is
    a run too, with the ceiling and the best value. They have one group. Resuming adds what is
    missing and nothing twice, as long as the folder is the same.

    Args:
        project: its name.
        mode: ``"online"`` or ``"offline"``; by default what W&B itself is set to.
        entity: user or team; your own by default.
        folder: where W&B keeps its files.

    Example:
        >>> WandB("digits", mode="offline")
        WandB('digits')
    """

    words: ClassVar[tuple[str, ...]] = ("wandb",)
    paths: ClassVar[tuple[str, ...]] = ("folder",)
    slow: ClassVar[bool] = True

    def __init__(
        self,
        project: str = "rungwise",
        mode: str | None = None,
        entity: str | None = None,
        folder: str | os.PathLike[str] = ".",
    ) -> None:
        self._project = str(project)
        self._mode = None if mode is None else one_of("mode", mode, ("online", "offline"))
        self._entity = entity
        self._folder = Path(str(folder)).absolute()  # W&B's own process may be elsewhere

    def __repr__(self) -> str:
        return f"WandB({self._project!r})"

    def check(self) -> None:
        """The package must be there."""
        check_package("the callback WandB", "wandb", extra="wandb", at_least="0.19")

    def begin(self, study: StudyBegan) -> None:
        self.check()
        self._study = study
        self._open: OrderedDict[int, Any] = OrderedDict()
        self._beyond: dict[int, float] = {}  # the resource up to which the server has reports
        self._configs: dict[int, Mapping[str, Any]] = {}
        folder = self._folder / "wandb"
        folder.mkdir(parents=True, exist_ok=True)
        self._wandb = import_module("wandb")
        path = folder / f"rungwise-{study.key}.jsonl"
        finished, self._held = _read_notes(path)
        _remove_unfinished(folder, study.key, finished)
        self._logged: dict[int, list[float]] = {}
        self._notes: TextIO = path.open("a", encoding="utf-8")
        about = {
            "scheduler": study.scheduler,
            "searcher": study.searcher,
            "metric": study.metric,
            "goal": study.goal,
            "max_resource": study.max_resource,
            "space": dict(study.space),
            "seed": study.seed,
            "phase": study.phase,
        }
        self._main = self._start(study.key, study.name, "study", about)

    def reported(self, report: ReportEvent) -> None:
        key = (report.trial, float(report.resource))
        self._configs[report.trial] = report.config
        if key in self._held:
            return
        run = self._find_run(report.trial)
        self._held.add(key)
        if report.resource <= self._beyond[report.trial]:  # the server has it
            return
        values = {**report.metrics, self._study.metric: report.value, "resource": report.resource}
        run.log({_clean(name): value for name, value in values.items()})
        self._logged[report.trial].append(report.resource)

    def fill(self, reports: Iterable[ReportEvent]) -> None:
        for report in reports:
            self.reported(report)

    def left(self, job: JobLeft) -> None:
        if job.trial in self._open and job.state in ENDS:
            self._finish(job.trial, job.state)

    def ceiling(self, raised: CeilingRaised) -> None:
        self._main.log({"ceiling": raised.level, "reports": raised.reports})

    def ended(self, result: StudyEnded) -> None:
        for trial in list(self._open):
            self._finish(trial, result.trials.get(trial, ""))
        self._main.summary.update(
            {
                "best": result.best,
                "best_trial": result.best_trial,
                "best_problem": result.best_problem,
                "best_config": jsonable(dict(result.best_config)),
                "why": result.why,
            }
        )
        self._main.finish(exit_code=int(result.how == "failed"))
        self._note(self._main, -1, [])
        self._notes.close()

    def _find_run(self, trial: int) -> Any:
        if trial not in self._open:
            name = f"{'retrain' if self._study.phase == 'retrain' else 'trial'}-{trial:05d}"
            config = self._configs.get(trial, {})
            run = self._start(f"{self._study.key}-{trial}", name, self._study.phase, config)
            run.define_metric("*", step_metric="resource")
            self._open[trial], self._logged[trial] = run, []
            self._beyond[trial] = float(run.summary.get("resource", 0)) if run.resumed else 0.0
        self._open.move_to_end(trial)
        if len(self._open) > OPEN_RUNS:
            self._finish(next(iter(self._open)), "paused")
        return self._open[trial]

    def _finish(self, trial: int, state: str) -> None:
        run = self._open.pop(trial)
        run.summary["state"] = state
        run.finish(exit_code=int(state == "failed"))
        self._note(run, trial, self._logged.pop(trial))

    def _note(self, run: Any, trial: int, resources: list[float]) -> None:
        """Note what a finished run holds."""
        note = {"run": Path(run.dir).parent.name, "trial": trial, "resources": resources}
        self._notes.write(json.dumps(note) + "\n")
        self._notes.flush()

    def _start(self, number: str, name: str, kind: str, config: Mapping[str, Any]) -> Any:
        """Open a run; one that was opened before goes on."""
        quiet = self._wandb.Settings(silent=True, console="off", x_disable_stats=True)
        return self._wandb.init(
            project=self._project,
            entity=self._entity,
            group=f"{self._study.name[:80]}-{self._study.key}",
            job_type=kind,
            id=number,
            name=name[:120],
            config=jsonable({_clean(key): value for key, value in config.items()}),
            dir=str(self._folder),
            mode=self._mode,
            resume="allow",
            reinit="create_new",
            settings=quiet,
        )


def _read_notes(path: Path) -> tuple[set[str], set[tuple[int, float]]]:
    """The runs that were finished, and (trial, resource) of what they hold.

    A last line that was cut off is removed.
    """
    if not path.exists():
        return set(), set()
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        path.write_bytes(whole)
    notes = [json.loads(line) for line in whole.splitlines()]
    held = {(note["trial"], float(each)) for note in notes for each in note["resources"]}
    return {note["run"] for note in notes}, held


def _remove_unfinished(folder: Path, key: str, finished: set[str]) -> None:
    """Remove the offline runs of a study that were cut off: all of them is logged again."""
    for path in folder.glob(f"offline-run-*-{key}*"):
        ours = re.fullmatch(rf"offline-run-[0-9_]+-{re.escape(key)}(-[0-9]+)?", path.name)
        if ours and path.name not in finished:
            shutil.rmtree(path, ignore_errors=True)


def _clean(name: str) -> str:
    """A name without what cannot be printed."""
    return "".join(letter if letter.isprintable() else "_" for letter in name)

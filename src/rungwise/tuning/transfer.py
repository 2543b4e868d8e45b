"""Start a new study from the best configurations of earlier ones.

Earlier files are read and never written. What was taken from them becomes part of the new study
(its initial configurations and its scheduler), which does not need them any more.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rungwise.core.study import Study
from rungwise.errors import InvalidArgumentError, SpaceError, Words
from rungwise.schedulers import Rush
from rungwise.space import Space
from rungwise.storage.record import TransferRecord
from rungwise.storage.study_file import StudyFile, shown
from rungwise.tuning.folding import fold
from rungwise.tuning.opening import must_be_file
from rungwise.validation import whole
from rungwise.views import StudyView

LEADERS = 4
"""How many configurations are taken by default."""

SHOWN_REASONS = 3
"""How many reasons for unusable configurations an error lists."""

Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""One study file, or several."""


def leaders(
    studies: Files, space: Any, count: int = LEADERS, *, types: Sequence[type] = ()
) -> list[dict[str, Any]]:
    """The best configurations of earlier studies that are legal in a space.

    For ``initial=`` of :func:`tune`; its ``transfer=`` does that, and also lets them set the bar
    for all others. The studies take turns, the best of each first, and nothing comes twice. Which
    is best follows each study's own metric and goal. A parameter that the space does not have is
    dropped, one with a single option gets that option; a configuration that lacks a parameter, or
    has a value that is not legal, is left out, and so are failed trials.

    Args:
        studies: the study file, or several.
        space: the new space, as :func:`tune` takes it.
        count: how many at most.
        types: recipes, rankings and searchers of your own that the studies use.

    Raises:
        InvalidArgumentError: there is no such file, it holds no trial with a finite value, or
            nothing in it is legal in the space.
        CorruptLogError: it is not a study file.
    """
    files = list_files("studies", studies)
    if not files:
        raise InvalidArgumentError("studies", studies, "it must name at least one study file")
    limit = whole("count", count, at_least=1)
    return _taken("studies", files, Space.parse(space), limit, types)


@dataclass(frozen=True, slots=True)
class Transfer:
    """What tune() was asked to start from.

    Args:
        files: the earlier studies; none at all is no transfer.
        leaders: how many configurations at most.
    """

    files: tuple[Path, ...]
    leaders: int

    @classmethod
    def of(cls, transfer: Any, leaders: Any, study: Any) -> Transfer:
        """Checked arguments.

        Args:
            transfer: the earlier studies.
            leaders: how many configurations at most; None for as many as usual.
            study: the file of the new study, if it has one.
        """
        files = list_files("transfer", transfer)
        own = isinstance(study, (str, os.PathLike)) and bool(files)
        if own and _find_file("study", study) in files:
            rule = "it is the file of the new study itself: give the new study another name"
            raise InvalidArgumentError("transfer", str(study), rule)
        if leaders is not None and not files:
            rule = "it goes with transfer=, which names the earlier studies"
            raise InvalidArgumentError("leaders", leaders, rule)
        return cls(files, LEADERS if leaders is None else whole("leaders", leaders, at_least=1))

    def record(self) -> TransferRecord | None:
        """For the study file: the same call finds that the study was begun with this transfer."""
        if not self.files:
            return None
        return TransferRecord(tuple(str(file) for file in self.files), self.leaders)

    def applied_to(self, study: Study, path: Path | None, types: Iterable[type]) -> Study:
        """The study with the leaders first, and a scheduler in which they set the bar.

        A study that was begun with the same transfer keeps what it took then, even if the earlier
        files have changed since: so the same call resumes it.

        Args:
            study: what else is asked for.
            path: the file of the new study, if it has one.
            types: kinds beyond those of rungwise that the files may use.
        """
        if not self.files:
            return study
        if isinstance(study.scheduler, Rush):
            rule = "it makes a Rush of its own, whose priors come first: give the scheduler inside"
            raise InvalidArgumentError("transfer", Words(_listed(self.files)), rule)
        space, kinds = study.space, tuple(types)
        assert space is not None, "tune() has a space"
        found = None if path is None else self._held(path, space, kinds)
        if found is None:
            found = _taken("transfer", self.files, space, self.leaders, kinds)
        known = {space.key(config) for config in found}
        rest = [config for config in study.initial if space.key(config) not in known]
        rush = Rush(study.scheduler, priors=len(found))
        return replace(study, scheduler=rush, initial=(*found, *rest))

    def _held(self, path: Path, space: Space, types: Sequence[type]) -> list[dict[str, Any]] | None:
        """What a study file took when it was begun with the same transfer; None otherwise."""
        if not path.is_file() or not path.stat().st_size:
            return None
        with StudyFile(path, mode="read", types=types) as file:
            if not file.begun or file.about.transfer != self.record():
                return None
            held = file.log.study
        if not isinstance(held.scheduler, Rush):
            return None
        priors = list(held.initial[: held.scheduler.priors])
        try:
            return [space.validate(config) for config in priors]
        except SpaceError:
            return None  # another space is asked for now: tune() reports that


def list_files(argument: str, given: Any) -> tuple[Path, ...]:
    """Paths in full; files that do not exist are refused when they are read."""
    several = given if isinstance(given, Sequence) and not isinstance(given, (str, bytes)) else None
    single = isinstance(given, (str, os.PathLike))
    if given is None:
        return ()
    if several is None and not single:
        raise InvalidArgumentError(argument, given, "it must be a study file or a list of them")
    paths: dict[Path, None] = {}
    for one in [given] if several is None else several:
        if not isinstance(one, (str, os.PathLike)) or not str(one):
            raise InvalidArgumentError(argument, one, "it must be the name of a study file")
        try:
            paths[Path(one).resolve()] = None
        except (OSError, ValueError) as error:
            raise InvalidArgumentError(
                argument, str(one), f"no file has that name: {error}"
            ) from None
    return tuple(paths)


def _find_file(argument: str, path: Any) -> Path:
    """A path in full, without links."""
    try:
        return Path(path).resolve()
    except (OSError, ValueError) as error:
        rule = f"no file has that name: {error}"
        raise InvalidArgumentError(argument, str(path), rule) from None


def _taken(
    argument: str, files: Sequence[Path], space: Space, count: int, types: Sequence[type]
) -> list[dict[str, Any]]:
    refused: list[str] = []
    queues = [_usable(argument, file, space, types, refused) for file in files]
    taken: dict[str, dict[str, Any]] = {}
    for turn in zip_longest(*queues):
        for config in turn:
            if config is not None and len(taken) < count:
                taken.setdefault(space.key(config), config)
    if not taken:
        more = len(refused) - SHOWN_REASONS
        rest = f"; and {more} more" if more > 0 else ""
        why = "; ".join(refused[:SHOWN_REASONS])
        rule = f"no configuration found there is legal in the new space: {why}{rest}"
        raise InvalidArgumentError(argument, Words(_listed(files)), rule)
    return list(taken.values())


def _usable(
    argument: str, file: Path, space: Space, types: Sequence[type], refused: list[str]
) -> list[dict[str, Any]]:
    """What one study found, best first; why others are missing is added to ``refused``."""
    usable = []
    for trial, config in _found(argument, file, types):
        fitted = _fitted_or_why(config, space)
        if isinstance(fitted, str):
            refused.append(f"trial {trial} of {shown(file)}: {fitted}")
        else:
            usable.append(fitted)
    return usable


def _found(
    argument: str, file: Path, types: Sequence[type]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(trial, configuration) of one study, best first."""
    must_be_file(argument, shown(file))
    with StudyFile(file, mode="read", types=types) as held:
        if not held.begun:
            raise InvalidArgumentError(argument, shown(file), "it contains no study")
        engine, _ = fold(held)
        ranked = StudyView.of(engine, held.about, file, running=False).leaderboard()
    rows = [row for row in ranked if row.value is not None and not row.problem]
    if not rows:
        rule = "it has no leaders: none of its healthy trials has reported a finite value"
        raise InvalidArgumentError(argument, shown(file), rule)
    yield from ((row.trial, row.config) for row in rows)


def _fitted_or_why(config: Mapping[str, Any], space: Space) -> dict[str, Any] | str:
    try:
        return _fitted(config, space)
    except SpaceError as error:
        return str(error).rstrip(".")


def _fitted(config: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """A configuration cut to a space, or a :class:`SpaceError` that says why it cannot be."""
    fitted: dict[str, Any] = {}
    for parameter in space.parameters:
        name, domain = parameter.name, parameter.domain
        if not parameter.is_active(fitted):
            continue
        if domain.size == 1:  # there is no choice: another value then does not matter
            fitted[name] = domain.at(0.0)
        elif name in config:
            fitted[name] = domain.accept(name, config[name])
        else:
            raise SpaceError("config", dict(config), f"it has no {name!r}")
    return space.validate(fitted)


def _listed(files: Iterable[Path]) -> str:
    return ", ".join(shown(file) for file in files)

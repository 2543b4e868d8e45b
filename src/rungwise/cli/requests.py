"""``rungwise add``, ``stop``, ``fail``, ``tag``, ``note``: what is asked of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rungwise.cli.arguments import Study
from rungwise.errors import MISSING, InvalidArgumentError
from rungwise.scalars import scalar
from rungwise.specification import files
from rungwise.tuning import requests
from rungwise.tuning.opening import read_view
from rungwise.tuning.spool import Answer

Configs = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        help="A configuration, as name=value,name=value. May be repeated.",
        metavar="TEXT",
    ),
]
ConfigFile = Annotated[
    Path | None, typer.Option("--file", help="A list of configurations, in YAML or JSON.")
]
Number = Annotated[int, typer.Option("--trial", help="The number of the trial.", min=0)]
MaybeNumber = Annotated[
    int | None, typer.Option("--trial", help="Only the trial with this number, permanently.", min=0)
]
Reason = Annotated[str, typer.Option(help="Why, for the record.")]
Tags = Annotated[list[str] | None, typer.Argument(help="Tags to add.")]
Removed = Annotated[
    list[str] | None, typer.Option("--remove", help="A tag to remove. May be repeated.")
]
Text = Annotated[str, typer.Argument(help="The note; an empty one removes it.")]


def add(study: Study, config: Configs = None, file: ConfigFile = None) -> None:
    """Have configurations of your own tried next, in a study that runs or will be resumed.

    They come on top of the number of trials.

    rungwise add study.db --config lr=0.1,units=64 --config lr=0.01,units=64

    rungwise add study.db --file configs.yaml
    """
    configs = [_parse(text) for text in config or ()]
    if file is not None:
        configs += _read(file)
    if not configs:
        rule = "give at least one configuration, for example --config lr=0.1,units=64"
        raise InvalidArgumentError("--config", MISSING, rule)
    _tell(requests.add(study, configs))
    way = read_view(study).way_on  # none while a tuner works on it
    if way:
        typer.echo(f"Go on with: {way}")


def stop(study: Study, trial: MaybeNumber = None, reason: Reason = "") -> None:
    """Stop a study, so that it can be resumed, or one trial of it permanently.

    The study stops when every running job has sent its next report. A trial that was stopped
    keeps what it has reached, and is trained no further.

    rungwise stop study.db

    rungwise stop study.db --trial 7
    """
    _tell(requests.stop(study, trial, reason=reason))


def fail(study: Study, trial: Number, reason: Reason = "") -> None:
    """Stop one trial of a study permanently, and count it as failed.

    rungwise fail study.db --trial 7 --reason "its data was wrong"
    """
    _tell(requests.fail(study, trial, reason=reason))


def tag(study: Study, tags: Tags = None, remove: Removed = None) -> None:
    """Give a study tags, which list and show print.

    rungwise tag study.db baseline vision --remove draft
    """
    if not tags and not remove:
        raise InvalidArgumentError("tags", MISSING, "give at least one tag, or --remove one")
    _tell(requests.label(study, tags=tags or (), remove=remove or ()))


def note(study: Study, text: Text) -> None:
    """Give a study a note, which list and show print.

    rungwise note study.db "larger images, as agreed"
    """
    _tell(requests.label(study, note=text))


def _tell(answer: Answer) -> None:
    if answer.state == "refused":
        typer.echo(f"rungwise: {answer.text}", err=True)
        raise typer.Exit(2)
    typer.echo(answer.text)


def _parse(text: str) -> dict[str, Any]:
    found = {}
    for part in text.split(","):
        name, sign, value = part.partition("=")
        if not sign or not name.strip():
            rule = "it must be name=value,name=value; values with commas are given in a --file"
            raise InvalidArgumentError("--config", text, rule)
        if name.strip() in found:
            raise InvalidArgumentError("--config", text, f"{name.strip()!r} is given twice")
        found[name.strip()] = scalar(value.strip())
    return found


def _read(path: Path) -> list[dict[str, Any]]:
    data = files.read(path).data
    configs = [data] if isinstance(data, Mapping) else data
    if not isinstance(configs, Sequence) or not all(isinstance(one, Mapping) for one in configs):
        raise InvalidArgumentError("--file", str(path), "it must hold a list of configurations")
    return [dict(one) for one in configs]

"""Pages of the reference that are written from the package itself."""

from __future__ import annotations

import importlib
from textwrap import dedent
from typing import Any

import rungwise
from rungwise.cli.commands import load_command
from rungwise.cli.entries import COMMANDS

PACKAGES: dict[str, tuple[str, str, str]] = {
    "tuning": ("Studies", "rungwise.tuning", "Start, resume and read studies."),
    "views": ("Results", "rungwise.views", "What a study holds, for reading."),
    "run": ("Training functions", "rungwise.run", "What a training function is given."),
    "scripts": ("Scripts", "rungwise.scripts", "Programs of any language as training functions."),
    "specification": ("Files in YAML", "rungwise.specification", "Studies and spaces in files."),
    "space": ("Search spaces", "rungwise.space", "What is searched."),
    "schedulers": ("Schedulers", "rungwise.schedulers", "Who is trained next, and how far."),
    "rankings": ("Criteria", "rungwise.rankings", "When a ranking counts as stable."),
    "searchers": ("Searchers", "rungwise.searchers", "What proposes configurations."),
    "backends": ("Backends", "rungwise.backends", "Where trials are trained."),
    "checkpoints": ("Checkpoint stores", "rungwise.checkpoints", "Where checkpoints are kept."),
    "display": ("Displays", "rungwise.display", "What is shown while a study runs."),
    "callbacks": ("Callbacks", "rungwise.callbacks", "Called with what happens in a study."),
    "plots": ("Figures", "rungwise.plots", "Drawings of studies and tables."),
    "simulation": ("Simulation", "rungwise.simulation", "Studies in virtual time."),
    "benchmarks": ("Benchmarks", "rungwise.benchmarks", "Tables of learning curves."),
    "storage": ("Logs", "rungwise.storage", "Where the entries of a study are kept."),
    "core": ("Engine", "rungwise.core", "Events in, decisions out: for embedding it elsewhere."),
    "errors": ("Errors", "rungwise.errors", "Every exception and warning."),
    "testing": ("Conformance suites", "rungwise.testing", "Tests for parts of your own."),
}
"""Page → (title, package, what it is)."""

CORE = (
    "study.Study",
    "limits.Limits",
    "engine.Engine",
    "events",
    "decisions",
    "scheduler",
    "searcher.Searcher",
    "history.TrialHistory",
    "replay",
)
"""What those who embed the engine use; the package itself exports nothing."""


def list_names(page: str) -> list[str]:
    """The full names of the objects on a page: those of ``rungwise`` itself first."""
    package = PACKAGES[page][1]
    top = [name for name in rungwise.__all__ if _find_page(name) == page]
    top.sort(key=lambda name: not name[0].islower())  # functions first
    if page == "core":
        return [*(f"rungwise.{name}" for name in top), *(f"{package}.{name}" for name in CORE)]
    own = getattr(importlib.import_module(package), "__all__", ())
    return [
        *(f"rungwise.{name}" for name in top),
        *(f"{package}.{name}" for name in own if name not in rungwise.__all__),
    ]


def _find_page(name: str) -> str | None:
    """The page of a name that ``rungwise`` exports; None for a package and for ``__version__``."""
    place = rungwise._PLACE_OF.get(name)  # noqa: SLF001 - our own
    return None if place is None else str(place).split(".")[1]


def write_package_page(page: str) -> str:
    """The page, whose objects mkdocstrings fills in from their docstrings."""
    title, package, about = PACKAGES[page]
    lines = [f"# {title}", "", about, ""]
    if page == "errors":
        tree = str(importlib.import_module(package).__doc__).partition("::\n\n")[2]
        lines += ["```text", dedent(tree.partition("\n\nEvery message")[0]), "```", ""]
    for name in list_names(page):
        lines += [f"::: {name}", "    options:", f"      heading: {name}", ""]
        lines[-1:] = [f"      toc_label: {name.rpartition('.')[2]}", ""]
    return "\n".join(lines)


# -- commands --------------------------------------------------------------------------------------


def write_command_page() -> str:
    """Every command with its arguments and options, as ``--help`` has them."""
    lines = [
        "# Commands",
        "",
        "The same as `rungwise COMMAND --help`. `rungwise manual` lists the pages of this manual,",
        "and `rungwise manual scripts` shows one of them.",
        "",
    ]
    for name in COMMANDS:
        lines += _describe_command(f"rungwise {name}", load_command(name))
    return "\n".join(lines)


def _describe_command(path: str, command: Any) -> list[str]:
    lines = [f"## `{path}`", "", _show_calls(_clean(command.help or "")), ""]
    inner = getattr(command, "commands", None)
    if inner:
        for name, one in inner.items():
            lines += _describe_command(f"{path} {name}", one)
        return lines
    rows = [_describe_parameter(each) for each in command.params if each.name != "help"]
    if rows:
        lines += ["| | | default |", "|---|---|---|", *rows, ""]
    return lines


def _show_calls(text: str) -> str:
    """Help with the calls in it, each a paragraph of its own, as code."""
    parts = text.split("\n\n")
    return "\n\n".join(
        f"```console\n$ {part}\n```" if part.startswith("rungwise ") else part for part in parts
    )


def _describe_parameter(parameter: Any) -> str:
    shown = getattr(parameter, "show_default", True)
    nothing = parameter.default is None or parameter.default is False or parameter.default == ()
    default = "" if nothing else f"`{parameter.default}`"
    if isinstance(shown, str):
        default = shown
    elif not shown or callable(parameter.default):
        default = ""
    if getattr(parameter, "param_type_name", "") == "argument":
        word = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        word = ", ".join(f"`{option}`" for option in [*parameter.opts, *parameter.secondary_opts])
    if parameter.required:
        default = "required"
    text = _clean(parameter.help or "").replace("|", "\\|")
    return f"| {word} | {text} | {default.replace('|', '/')} |"


def _clean(text: str) -> str:
    """Help is plain text: what Markdown would take for markup is kept as it is."""
    return text.replace("<", "&lt;").replace("\b", "").replace("\f", "\n\n").strip()

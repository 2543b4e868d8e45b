"""Writes ``docs/reference/options.md`` and the docstrings that list options, from the fields.

python docs/options.py --write
python docs/options.py --check
"""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import rungwise
from rungwise import backends
from rungwise.options import Option, list_options
from rungwise.options.backend_options import SHORT_FORMS
from rungwise.options.registry import BACKENDS, FAMILIES
from rungwise.options.study_options import GROUPS, OutputOptions, RunOptions
from rungwise.tuning.api import tune
from rungwise.tuning.open_study import open_study

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "options.md"
WIDTH = 100

OWN = ("train", "space", "on_report", "on_end")
"""Arguments of tune() that are no options: they are documented where they stand."""

_INTRODUCTION = """\
# Every option

<!-- Written by docs/options.py from the fields in rungwise.options.study_options. -->

A key of a [study file](../scripts.md) has the name of the Python keyword, and a flag of
`rungwise tune` the same name with hyphens; `rungwise resume` takes those that are marked *resume*.
What takes a name (a scheduler, a searcher, …) takes `NAME` or `NAME:option,option=value`, for
example `gp:startup=20`, in all three places; the names are at the end.
"""


def list_keywords() -> dict[str, Option]:
    """The options that tune() has as keywords."""
    found = (*list_options(*GROUPS), *SHORT_FORMS)
    return {each.name: each for each in found if each.keyword}


# -- the page --------------------------------------------------------------------------------------


def draw() -> str:
    """The reference page."""
    parts = [_INTRODUCTION]
    parts += [_section(str(inspect.getdoc(group)), list_options(group)) for group in GROUPS]
    for name in BACKENDS.classes():
        kind = getattr(backends, name)
        title = f"`rungwise.{name}`: {inspect.getdoc(kind)}".partition("\n")[0]
        shorts = SHORT_FORMS if name == BACKENDS.default else ()
        parts.append(_section(title, list_options(kind), shorts))
    parts.append(_names())
    return "\n".join(parts)


def _section(title: str, options: Iterable[Option], shorts: Iterable[Option] | None = None) -> str:
    lines = [f"## {title.rstrip('.')}", "", "| Python | command line | study file | default | |"]
    lines.append("|---|---|---|---|---|")
    for each in options:
        # A field of a backend has a flag and a key only where it has a short form.
        reached = shorts is None or each in shorts
        flag = f"`{each.flag_name}`" if each.flag and reached else ""
        key = f"`{each.name}`" if each.key and reached else ""
        changes = reached and not each.fixed and (shorts is not None or _is_run_option(each))
        cells = (
            f"`{each.name}`" if each.keyword else "",
            f"{flag} *resume*" if changes else flag,
            key,
            "required" if each.required else f"`{each.default!r}`",
            _sentence(each.text),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _is_run_option(each: Option) -> bool:
    """Whether resume takes it: how a study is run, and what is shown meanwhile."""
    shown = [
        one for one in list_options(OutputOptions) if one.name in ("show", "dashboard", "track")
    ]
    return each in (*list_options(RunOptions), *shown)


def _sentence(text: str) -> str:
    return (text[0].upper() + text[1:]).replace("|", "\\|")


def _names() -> str:
    lines = ["## Names", "", "| | name | class | |", "|---|---|---|---|"]
    for family in FAMILIES.values():
        page = f"../{Path(family.page).name}"
        others = family.other_words
        lines += [f"| {family.noun} | `{word}` | | [page]({page}) |" for word in others]
        for name, words in family.classes().items():
            if words:
                shown = ", ".join(f"`{word}`" for word in words)
                lines.append(f"| {family.noun} | {shown} | `{name}` | [page]({page}) |")
    return "\n".join([*lines, ""])


# -- docstrings ------------------------------------------------------------------------------------


def write_arguments(source: str, documented: Any, options: dict[str, Option]) -> str:
    """The source of a module with the texts of the options in a docstring's ``Args:``.

    Args:
        source: of the module.
        documented: the function or class whose docstring it is.
        options: by the name of the argument.
    """
    old = documented.__doc__
    lines = old.split("\n")
    indent = "    " * (2 if "\n        " in old else 1)
    start = lines.index("    Args:") + 1
    end = next((n for n in range(start, len(lines)) if not lines[n].strip()), len(lines))
    end = end if lines[end - 1].strip() else end - 1
    blocks: dict[str, list[str]] = {}
    for line in lines[start:end]:
        if line.startswith(indent) and not line.startswith(indent + " "):
            name = line.strip().partition(":")[0]
            blocks[name] = []
        blocks[name].append(line)
    written: list[str] = []
    for name in inspect.signature(documented).parameters:
        if name in options:
            written += _argument(name, options[name].text, indent)
        else:
            written += blocks.get(name, [])
    new = "\n".join([*lines[:start], *written, *lines[end:]])
    return source.replace(old, new)


def _argument(name: str, text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        f"{name}: {text}",
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def list_documented() -> list[tuple[Any, dict[str, Option]]]:
    """Functions and classes whose docstrings list options."""
    keywords = list_keywords()
    found: list[tuple[Any, dict[str, Option]]] = [(tune, keywords)]
    # Its study is the first argument, and may be None on purpose.
    asked = {name: each for name, each in keywords.items() if name not in ("study", "metric")}
    found.append((open_study, asked))
    for name in BACKENDS.classes():
        kind = getattr(backends, name)
        found.append((kind, {each.name: each for each in list_options(kind)}))
    return found


def find_differences() -> list[str]:
    """What differs between tune()'s signature and the options, a sentence each."""
    options = list_keywords()
    parameters = inspect.signature(tune).parameters
    lines = [f"tune() has no {name}" for name in options if name not in parameters]
    for name, parameter in parameters.items():
        if name in OWN:
            continue
        if name not in options:
            lines.append(f"{name} of tune() is no option")
            continue
        short = options[name] in SHORT_FORMS
        wanted = None if short else options[name].default
        wanted = parameter.empty if options[name].required else wanted
        if parameter.default != wanted:
            lines.append(f"{name} is {parameter.default!r} in tune(), but {wanted!r} in its field")
        ours = inspect.signature(open_study).parameters.get(name)
        if ours is not None and name != "study" and ours.default != wanted:
            lines.append(f"{name} is {ours.default!r} in open_study(), but {wanted!r} in its field")
    return lines


# -- the command -----------------------------------------------------------------------------------


def list_files() -> dict[Path, str]:
    """What each file that holds texts of options must hold."""
    files = {PAGE: draw()}
    for documented, options in list_documented():
        # The source beside this script, whichever rungwise is installed.
        path = ROOT / "src" / f"{documented.__module__.replace('.', '/')}.py"
        source = files.get(path, path.read_text(encoding="utf-8"))
        files[path] = write_arguments(source, documented, options)
    return files


def find_stale() -> list[str]:
    """What is not as it must be, a sentence each."""
    stale = find_differences()
    for path, text in list_files().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(f"{path.name} is stale: run python docs/options.py --write")
    return stale


def main() -> None:
    """Write or check."""
    parser = argparse.ArgumentParser(description=f"The options of rungwise {rungwise.__version__}")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    if parser.parse_args().write:
        for path, text in list_files().items():
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.name}")
    stale = find_differences() if "--write" in sys.argv else find_stale()
    print("\n".join(stale), end="\n" if stale else "")
    sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()

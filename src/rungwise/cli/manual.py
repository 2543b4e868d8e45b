"""``rungwise manual``: the pages of the manual, which come with the package.

Messages name a page by this command, because it works wherever rungwise is installed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rungwise.cli.console import out
from rungwise.errors import InvalidArgumentError
from rungwise.specification import files

Page = Annotated[
    str | None,
    typer.Argument(help="A page, such as scripts or howto/gpus; all are listed without one."),
]

_FILE = re.compile(r"^<!-- file (.+?) -->$", re.MULTILINE)
"""Where a page shows a file whole."""

_LEFT_OUT = ("results",)
"""Pages, and folders of them, that are too large for the package."""


def show_manual(page: Page = None) -> None:
    """Show a page of the manual, or list the pages.

    For example: rungwise manual tuning, or rungwise manual howto/resume
    """
    folder = find_folder()
    pages = list_pages(folder)
    if page is None:
        for number, (heading, names) in enumerate(list_sections(folder, pages).items()):
            typer.echo(f"{chr(10) * bool(number)}{heading}")
            for name in names:
                typer.echo(f"  {name:28} {read_title(pages[name])}")
        return
    console = out()
    text = read_page(pages[find_name(page, list(pages))], folder)
    if not console.is_terminal:
        typer.echo(text)
        return
    from rich.markdown import Markdown  # noqa: PLC0415 - only where it is seen

    console.print(Markdown(text))


def find_folder() -> Path:
    """Where the pages are: in the package, or in the clone that it is run from."""
    package = Path(__file__).parents[1]
    installed = package / "manual"
    return installed if installed.is_dir() else package.parents[1] / "docs"


def list_pages(folder: Path) -> dict[str, Path]:
    """{name: file} of every page, those without a folder first."""
    found = {
        path.relative_to(folder).with_suffix("").as_posix(): path for path in folder.rglob("*.md")
    }
    kept = {name: path for name, path in found.items() if name.split("/")[0] not in _LEFT_OUT}
    return {name: kept[name] for name in sorted(kept, key=lambda name: ("/" in name, name))}


def list_sections(folder: Path, pages: Mapping[str, Path]) -> dict[str, list[str]]:
    """{heading: pages} in the order in which the site has them; what it leaves out comes last."""
    found: dict[str, list[str]] = {}

    def walk(entries: list[Any], heading: str) -> None:
        for entry in entries:
            for title, target in entry.items():
                if isinstance(target, list):
                    walk(target, f"{heading}: {title}" if heading else title)
                elif (name := target.removesuffix(".md")) in pages:
                    found.setdefault(heading, []).append(name)
                else:  # a folder of pages
                    inside = [page for page in pages if target and page.startswith(target)]
                    found.setdefault(heading, []).extend(inside)

    walk(files.read(_find_source(folder, "mkdocs.yml")).data["nav"], "")
    listed = {name for names in found.values() for name in names}
    found["Other pages"] = [name for name in pages if name not in listed]
    return {heading: names for heading, names in found.items() if names}


def _find_source(folder: Path, name: str) -> Path:
    """A file from the root of the repository, which the package has beside the pages."""
    inside = folder / name
    return inside if inside.exists() else folder.parent / name


def find_name(given: str, names: list[str]) -> str:
    """The page that is meant: by its name, or by the last part of it if that is unique."""
    wanted = given.lower().removeprefix("docs/").removesuffix(".md")
    if wanted in names:
        return wanted
    ends = [name for name in names if name.rpartition("/")[2] == wanted]
    if len(ends) == 1:
        return ends[0]
    near = ends or difflib.get_close_matches(wanted, names, n=3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    rule = f"{hint}it must be a page that `rungwise manual` lists"
    raise InvalidArgumentError("page", given, rule)


def read_title(path: Path) -> str:
    """The heading of a page."""
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ").strip()


def read_page(path: Path, folder: Path) -> str:
    """The text of a page: examples in full, and links to pages as the commands that show them."""
    text = _FILE.sub(lambda found: _show_file(folder, found[1]), path.read_text(encoding="utf-8"))
    text = "\n".join(line for line in text.split("\n") if not line.startswith("<!-- "))

    def rename(found: re.Match[str]) -> str:
        label, target = found[1], found[2].partition("#")[0]
        if not target or ":" in target:
            return found[0] if ":" in found[2] else label
        place = (path.parent / target).resolve()
        if place.suffix != ".md" or not place.is_relative_to(folder.resolve()):
            return label
        name = place.relative_to(folder.resolve()).with_suffix("").as_posix()
        return f"{label} (`rungwise manual {name}`)" if place.exists() else label

    return re.sub(r"!?\[([^\]]*)\]\(([^)\s]*)\)", rename, text)


def _show_file(folder: Path, name: str) -> str:
    """A file as a block of code."""
    language = {".py": "python", ".sh": "sh", ".yaml": "yaml"}.get(Path(name).suffix, "text")
    text = _find_source(folder, name).read_text(encoding="utf-8")
    return f"```{language}\n{text}```"

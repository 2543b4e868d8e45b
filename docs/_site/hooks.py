"""What mkdocs asks while it makes the site: pages from files outside ``docs/``, and their links.

README, CONTRIBUTING, CHANGELOG and the examples are read where they stand, and so they are linked:
a link means the same in the repository and on the site. The pages of the Python reference and of
the commands are written from the package, so that they cannot be stale.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from pages_from_code import PACKAGES, write_command_page, write_package_page

ROOT = Path(__file__).resolve().parents[2]

DOCUMENTS = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "RELEASING.md": "releasing.md",
    "recording/README.md": "benchmarks/recording.md",
}
"""Files outside ``docs/`` that are pages, by their place in the repository."""

SHOWN = ("LICENSE", "CITATION.cff", "examples/**/*.py", "examples/**/*.sh", "examples/**/*.yaml")
"""Files outside ``docs/`` that are shown as they are, each on a page of its own."""

LANGUAGES = {".py": "python", ".sh": "sh", ".yaml": "yaml", ".cff": "yaml"}

LINK = re.compile(r"(?<=\]\()([^)\s#:]*)(#[^)\s]*)?(?=\))")
ROLE = re.compile(r":(?:class|func|meth|attr|mod|data|exc|obj):<code>~?(.*?)</code>")
"""What Sphinx makes links of, in docstrings."""

FILE = re.compile(r"^<!-- file (.+?) -->$", re.MULTILINE)


def list_shown() -> dict[str, str]:
    """{place in the repository: page} of the files that are shown as they are."""
    found = [path for pattern in SHOWN for path in sorted(ROOT.glob(pattern))]
    names = [path.relative_to(ROOT).as_posix() for path in found]
    return {name: f"files/{name.replace('.', '_')}.md" for name in names}


def on_config(config: Any) -> Any:
    """Put the pages that are written here into the navigation."""
    for part in config.nav:
        for entries in part.values():
            for entry in entries if isinstance(entries, list) else ():
                if entry.get("Python") == "reference/api/":
                    entry["Python"] = [
                        {title: f"reference/api/{name}.md"}
                        for name, (title, *_) in PACKAGES.items()
                    ]
                if entry.get("Data cards") == "benchmarks/":
                    cards = sorted((ROOT / "docs" / "benchmarks").glob("*.md"))
                    entry["Data cards"] = [{card.stem: f"benchmarks/{card.name}"} for card in cards]
                    entry["Data cards"].append({"How they were made": "benchmarks/recording.md"})
                if entry.get("Details") == "results/":
                    entry["Details"] = list_results()
    return config


def list_results() -> list[dict[str, str]]:
    """The pages of results, in the order in which their first page names them."""
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    pages = dict.fromkeys(re.findall(r"\]\((results/[\w-]+\.md)\)", text))
    headings = {
        page: (ROOT / "docs" / page).read_text("utf-8").partition("\n")[0] for page in pages
    }
    return [
        {heading.lstrip("# ").partition(" (the paper")[0]: page}
        for page, heading in headings.items()
    ]


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that have no file in ``docs/``."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - checked without mkdocs, too

    made = {page: (ROOT / source).read_text("utf-8") for source, page in DOCUMENTS.items()}
    # The first page is alone in its section.
    made["index.md"] = f"---\nhide:\n  - navigation\n---\n{made['index.md']}"
    for source, page in list_shown().items():
        made[page] = f"# {source}\n\n{show_file(source)}\n"
    for name in PACKAGES:
        made[f"reference/api/{name}.md"] = write_package_page(name)
    made["reference/commands.md"] = write_command_page()
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Fill in the examples, and let links lead to pages of the site."""
    markdown = FILE.sub(lambda found: show_file(found[1]), markdown)
    return redirect_links(markdown, page.file.src_uri)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Docstrings name objects as Sphinx reads them; here they are code."""
    return ROLE.sub(r"<code>\1</code>", html)


def show_file(source: str) -> str:
    """A file of the repository as a block of code."""
    text = (ROOT / source).read_text(encoding="utf-8")
    return f"````{LANGUAGES.get(Path(source).suffix, 'text')}\n{text}````"


def redirect_links(markdown: str, page: str) -> str:
    """The text with the links of a page leading to pages of the site.

    Args:
        markdown: the text.
        page: where on the site it stands.
    """
    places = {**DOCUMENTS, **list_shown()}
    sources = {target: source for source, target in places.items()}
    source = sources.get(page, f"docs/{page}")
    here = posixpath.dirname(page) or "."

    def redirect(found: re.Match[str]) -> str:
        target, anchor = found[1], found[2] or ""
        if not target or page.startswith(("reference/api/", "reference/commands")):
            return found[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        goal = places.get(place)
        if goal is None and place.startswith("docs/"):
            goal = place.removeprefix("docs/")
        if goal is None:
            return found[0]  # mkdocs refuses a link that leads out of the site
        return posixpath.relpath(goal, here) + anchor

    parts = re.split(r"(^ *````?.*?^ *````? *$)", markdown, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [LINK.sub(redirect, part) for part in parts[::2]]
    return "".join(parts)

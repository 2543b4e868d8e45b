"""Draws the badges of README.md from ``pyproject.toml``, so that they need no service and are true.

python docs/draw_badges.py
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import rungwise

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "badges"
CHARACTER = 6.6
"""How wide a character is, in pixels; texts are stretched to exactly that, whatever the font."""

_TEMPLATE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img">
<title>{name}: {value}</title>
<rect width="{width}" height="20" rx="3" fill="#555"/>
<path d="M{left} 0h{body}a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3h-{body}z" fill="#2b6cb0"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="6" y="14" textLength="{name_width}">{name}</text>
<text x="{value_at}" y="14" textLength="{value_width}">{value}</text>
</g></svg>
"""


def list_badges() -> dict[str, tuple[str, str]]:
    """{file: (name, value)}."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pythons = re.findall(r"Python :: (3\.\d+)\"", text)
    systems = {"MacOS": "macOS", "POSIX :: Linux": "Linux"}
    named = [systems[found] for found in re.findall(r"Operating System :: (.+?)\"", text)]
    licence = re.search(r'^license = "(.+)"$', text, re.MULTILINE)
    assert licence is not None, "pyproject.toml names the licence"
    return {
        "version": ("version", rungwise.__version__),
        "python": ("Python", f"{pythons[0]} – {pythons[-1]}"),
        "systems": ("runs on", " and ".join(sorted(named, key=str.lower))),
        "licence": ("licence", licence[1]),
        "types": ("types", "mypy strict"),
    }


def draw(name: str, value: str) -> str:
    """One badge."""
    name_width, value_width = round(len(name) * CHARACTER), round(len(value) * CHARACTER)
    left = name_width + 12
    return _TEMPLATE.format(
        name=escape(name),
        value=escape(value),
        name_width=name_width,
        value_width=value_width,
        left=left,
        value_at=left + 6,
        body=value_width + 9,
        width=left + value_width + 12,
    )


def list_files() -> dict[Path, str]:
    """What each file must hold."""
    return {FOLDER / f"{file}.svg": draw(*texts) for file, texts in list_badges().items()}


if __name__ == "__main__":
    for path, text in list_files().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.name}")

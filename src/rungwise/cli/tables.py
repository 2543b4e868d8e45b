"""Tables at any width: as a grid where that fits, else as plain lines; no number is ever broken."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape

from rungwise.cli.console import grid

Cells = list[str]


def print_columns(
    console: Console, title: str, heads: Cells, lines: Sequence[Cells], *, left: Sequence[int] = ()
) -> None:
    """A table of texts.

    Args:
        console: where.
        title: its title.
        heads: the heads of its columns.
        lines: the cells of each line.
        left: which columns are aligned on the left.
    """
    if measure_grid(heads, lines) > console.width:
        print_lines(console, title, heads, lines, [[]] * len(lines))
        return
    shown = grid(console, title)
    for number, head in enumerate(heads):
        shown.add_column(escape(head), justify="left" if number in left else "right", no_wrap=True)
    for cells in lines:
        shown.add_row(*map(escape, cells))
    console.print(shown)


def measure_grid(heads: Cells, lines: Sequence[Cells]) -> int:
    """How wide a grid is, with its borders and the spaces around cells."""
    return sum(width + 3 for width in _measure_columns(heads, lines)) + 1


def print_lines(
    console: Console, title: str, heads: Cells, lines: Sequence[Cells], more: Sequence[Cells]
) -> None:
    """Lines without borders; words of which a line has more stand below it.

    Args:
        console: where.
        title: the first line.
        heads: the heads of the columns; where they are too long for the width, they are left to
            the words of the line.
        lines: the cells of each line.
        more: the words below each line.
    """
    widths = _measure_columns(heads, lines)
    print_words(console, title.split(" "))
    for cells, words in zip([heads, *lines], [[], *more], strict=True):
        padded = [cell.rjust(width) for cell, width in zip(cells[:-1], widths, strict=False)]
        text = "  ".join([*padded, cells[-1]])
        if cell_len(text) > console.width:
            print_words(console, text.split())
        else:
            console.print(escape(text), soft_wrap=True)
        if words:
            print_words(console, words, indent=min(4, console.width // 8))


def print_words(console: Console, words: Sequence[str], *, indent: int = 0) -> None:
    """Words on as many lines as they need; none is broken, however long it is."""
    protected = " ".join(word.replace(" ", "\0") for word in words)
    wrapped = textwrap.wrap(
        protected,
        max(1, console.width),
        initial_indent=" " * indent,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for text in wrapped:
        console.print(escape(text.replace("\0", " ")), soft_wrap=True, emoji=False)


def measure_lines(heads: Cells, lines: Sequence[Cells]) -> int:
    """How wide lines without borders are."""
    return sum(_measure_columns(heads, lines)) + 2 * (len(heads) - 1)


def _measure_columns(heads: Cells, lines: Sequence[Cells]) -> list[int]:
    return [max(map(cell_len, column)) for column in zip(heads, *lines, strict=True)]

"""What shows a study, and what adapts it, reads views and results, and never an engine."""

import ast
from pathlib import Path

import pytest

import rungwise

ROOT = Path(rungwise.__file__).parent
READERS = ("callbacks", "cli", "dashboard", "display", "integrations", "plots")
FILES = sorted(path for part in READERS for path in (ROOT / part).rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_readers_touch_no_engine(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.module != "rungwise.core.engine", "it imports the engine"
            assert "Engine" not in {alias.name for alias in node.names}, "it imports the engine"
        elif isinstance(node, ast.Import):
            assert "rungwise.core.engine" not in {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            assert node.attr not in ("engine", "_engine"), f"line {node.lineno} reads .engine"
            assert node.attr != "handle", f"line {node.lineno} calls handle()"


def test_there_are_readers():
    assert len(FILES) > 30

"""Build the wheel, install it into a clean environment without extras, and try it there.

    python scripts/check_wheel.py                      # make wheel
    python scripts/check_wheel.py --minimum            # make minimum
    python scripts/check_wheel.py --wheel dist/*.whl   # a wheel that was built before

``--minimum`` installs the oldest base dependencies that ``pyproject.toml`` allows, and runs the
tests of the layers that use them besides. What is tried is in ``scripts/smoke.py``; it runs from an
empty folder, so that what is found is the installed package and never the checkout.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10, where it is only needed for --minimum
    tomllib = None  # type: ignore[assignment]

ROOT = Path(__file__).resolve().parents[1]

TESTS = (
    "tests/display",
    "tests/rankings/test_conformance.py",
    "tests/schedulers/test_conformance.py",
    "tests/searchers/test_searcher_conformance.py",
    "tests/space",
    "tests/storage/test_logs.py",
    "tests/test_options.py",
    "tests/test_specification.py",
)
"""Where NumPy, SciPy, rich, typer and PyYAML are used; quick, and without extras."""


OPTIONS = (
    *("-q", "-p", "no:cacheprovider"),
    # What the oldest typer uses of the newest click may be deprecated there.
    *("-W", "ignore::DeprecationWarning"),
)


def call(*command: object, cwd: Path = ROOT, quiet: bool = False) -> None:
    """Run a command, which sees none of this process's Python paths; end with it if it fails."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        check=False,
        text=True,
        stdout=subprocess.PIPE if quiet else None,
    )
    if done.returncode != 0:
        print(done.stdout or "")
        sys.exit(f"failed with exit code {done.returncode}: {' '.join(map(str, command))}")


def build(folder: Path) -> Path:
    """The wheel, made from the source distribution as a release is."""
    call(sys.executable, "-m", "build", "--outdir", folder, ROOT, quiet=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(folder: Path, *requirements: str) -> Path:
    """The interpreter of a new environment in which the requirements are installed."""
    # Without pip of its own: that of this environment installs into it in half the time.
    call(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    quiet = ("--quiet", "--disable-pip-version-check", "--no-compile")
    call(sys.executable, "-m", "pip", "--python", python, "install", *quiet, *requirements)
    return python


def list_lower_bounds() -> list[str]:
    """The base dependencies at the oldest versions that are allowed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [pin(requirement) for requirement in project["dependencies"]]


def pin(requirement: str) -> str:
    """A requirement at its lower bound: ``numpy>=1.24`` is ``numpy==1.24``."""
    found = re.fullmatch(r"([\w.-]+)>=([\w.]+)(?:,.*)?", requirement)
    if found is None:
        sys.exit(f"pyproject.toml: {requirement!r} has no lower bound; write name>=version")
    return f"{found[1]}=={found[2]}"


def try_wheel(wheel: Path, scratch: Path, *, minimum: bool) -> None:
    """Install it in a folder and try it there."""
    requirements = [str(wheel)]
    if minimum:
        bounds = list_lower_bounds()
        requirements = [f"{wheel}[testing]", *bounds]
        print("with", *bounds, flush=True)
    python = make_environment(scratch / "environment", *requirements)
    elsewhere = scratch / "elsewhere"
    elsewhere.mkdir()
    call(python, ROOT / "scripts" / "smoke.py", ROOT, cwd=elsewhere)
    if minimum:
        call(python, "-m", "pytest", *OPTIONS, *TESTS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wheel", type=Path, help="try this one instead of building one")
    parser.add_argument("--minimum", action="store_true", help="with the oldest dependencies")
    chosen = parser.parse_args(arguments)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rungwise-wheel-") as name:
        scratch = Path(name)
        wheel = chosen.wheel.resolve() if chosen.wheel else build(scratch / "dist")
        try_wheel(wheel, scratch, minimum=chosen.minimum)
    print(f"{wheel.name} works ({time.monotonic() - begun:.0f} s)")


if __name__ == "__main__":
    main()

"""Try the installed package: what a person does in the first five minutes.

    PYTHON scripts/smoke.py CHECKOUT

Run by ``scripts/check_wheel.py`` with the interpreter of a clean environment, from an empty folder.
Of the checkout only two pages and a training script are read; it uses the standard library alone.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).with_name("rungwise")


def run(*command: object) -> str:
    """The output of a command, which must succeed and warn of nothing."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode != 0 or "Warning" in done.stderr or "Traceback" in done.stderr:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def expect(what: str, text: str) -> None:
    """Stop unless the text has it."""
    if what not in text:
        sys.exit(f"expected {what!r} in:\n{text}")


def check_import() -> None:
    """The package comes from this environment, in the version that was installed."""
    import rungwise  # noqa: PLC0415 - the first thing that is tried

    if Path(sys.prefix).resolve() not in Path(rungwise.__file__).resolve().parents:
        sys.exit(f"rungwise comes from {rungwise.__file__}, not from {sys.prefix}")
    installed = importlib.metadata.version("rungwise")
    if rungwise.__version__ != installed:
        sys.exit(f"rungwise.__version__ is {rungwise.__version__}, installed is {installed}")
    for name in dir(rungwise):
        getattr(rungwise, name)


def check_examples(*pages: Path) -> None:
    """The Python examples of the pages run, but for those that import what is not installed."""
    ran = 0
    texts = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    blocks = re.findall(r"^```python\n(.*?)^```", texts, re.MULTILINE | re.DOTALL)
    for number, code in enumerate(blocks):
        script = Path(f"example_{number}.py")
        script.write_text(code, encoding="utf-8")
        imported = re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)
        if all(importlib.util.find_spec(name) for name in imported):
            run(sys.executable, script)
            ran += 1
    if not ran:
        sys.exit("no Python example of the first pages runs without extras")


def check_commands(examples: Path) -> None:
    """A training script is tuned by the command line, and its study is shown."""
    import rungwise  # noqa: PLC0415 - see above

    expect(rungwise.__version__, run(COMMAND, "--version"))
    expect("tune", run(COMMAND, "--help"))
    expect("tune", run(sys.executable, "-m", "rungwise", "--help"))
    for name in ("train.py", "space.yaml"):
        shutil.copy(examples / "script" / name, name)
    limits = ("--max-resource", 9, "--trials", 6, "--workers", 2)
    run(COMMAND, "tune", "train.py", "--space", "space.yaml", "--metric", "accuracy", *limits)
    expect("Done: 6 configurations compared", run(COMMAND, "show", "train.db"))
    expect("train.db", run(COMMAND, "list"))
    run(COMMAND, "report", "train.db", "-o", "report.html")
    expect("Learning curves", Path("report.html").read_text(encoding="utf-8"))
    run(COMMAND, "simulate", "--help")
    expect("fashion-nas", run(COMMAND, "benchmark", "list"))
    expect("RUNGWISE_REPORTS", run(COMMAND, "manual", "scripts"))
    expect("run.checkpoint(epoch)", run(COMMAND, "manual", "start/pytorch"))
    expect("Start\n  start/install", run(COMMAND, "manual"))


def main() -> None:
    """Try everything."""
    root = Path(sys.argv[1])
    check_import()
    check_examples(root / "README.md", root / "docs" / "start" / "first-study.md")
    check_commands(root / "examples")
    print(f"rungwise {importlib.metadata.version('rungwise')} is imported, tunes and shows")


if __name__ == "__main__":
    main()

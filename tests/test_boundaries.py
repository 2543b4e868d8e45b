"""The pure ring stays pure: no I/O, clock, threads, logging or global randomness."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import unmeasured

import rungwise

ROOT = Path(rungwise.__file__).parent
PURE = ("core", "schedulers", "rankings", "space", "searchers")
ALLOWED = {
    "__future__",
    "abc",
    "array",
    "bisect",
    "collections",
    "contextlib",
    "dataclasses",
    "enum",
    "functools",
    "heapq",
    "itertools",
    "json",
    "math",
    "numbers",
    "operator",
    "types",
    "typing",
    "zlib",
    "numpy",
    "ConfigSpace",
    # What models are made of, and how one says that it could not be fitted.
    "scipy",
    "threadpoolctl",
    # A sampler of Optuna is found by its name, and asked whether it takes a seed.
    "importlib",
    "inspect",
    "warnings",
}
"""What the pure ring may import besides itself; none of it acts on the world."""

FORBIDDEN_CALLS = {"open", "print", "input", "exec", "eval", "compile", "__import__", "id", "hash"}
"""Built-ins that act on the world, or whose answers differ from process to process."""

FILES = sorted(path for part in PURE for path in (ROOT / part).rglob("*.py"))


def imports_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module


def dotted(node):
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def in_all_files(find):
    """What a search finds in any pure file, each with its file."""
    trees = ((path, ast.parse(path.read_text(encoding="utf-8"))) for path in FILES)
    return [(path, one) for path, tree in trees for one in find(tree)]


def test_pure_files_import_nothing_that_acts():
    for path, name in in_all_files(imports_of):
        first, *rest = name.split(".")
        if first == "rungwise":
            assert not rest or rest[0] in (
                *PURE,
                "errors",
                "lazy_numpy",
                "options",
                "validation",
            ), f"{path.name} imports {name}"
        else:
            assert first in ALLOWED, f"{path.name} imports {name}"


def test_pure_files_use_no_global_randomness_nor_io():
    for path, node in in_all_files(ast.walk):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            in_hash = name == "hash" and path.name == "space.py"  # of its own text
            assert name not in FORBIDDEN_CALLS or in_hash, f"{path.name} calls {name}"
            if name.startswith(("np.random.", "numpy.random.")):
                assert name.endswith((".default_rng", ".Generator", ".RandomState")), name
                assert node.args, f"{path.name} draws from the system's entropy: {name}()"


def test_there_are_pure_files():
    assert len(FILES) > 30


def test_import_is_light():
    """`import rungwise` brings in nothing slow that it may never need."""
    code = "import sys, rungwise; print(sorted({n.split('.')[0] for n in sys.modules}))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    for heavy in ("ConfigSpace", "scipy", "rich", "typer", "yaml", "pandas", "torch", "pytest"):
        assert f"'{heavy}'" not in out


HEAVY = {"email", "scipy", "vl_convert", "altair", "torch", "optuna", "pandas", "ConfigSpace"}
"""Slow to import, and not needed by every study."""

SHOWN = {"typer", "rich", "yaml"}
"""What the command line, the live view and study files need, and Python does not."""


@pytest.mark.parametrize(
    "used", ["tune", "resume", "load", "PASHA", "rankings", "searchers", "Local", "simulate"]
)
def test_what_a_study_imports_has_a_budget(used):
    """A criterion or a searcher that imports SciPy at the top of its file would slow all down."""
    code = f"import sys, rungwise as rw; rw.{used}; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in out.stdout.split()}
    assert "rungwise" in loaded
    assert not loaded & (HEAVY | SHOWN)
    assert "rungwise.lab" not in out.stdout.split()


def test_reading_a_study_loads_no_searcher_no_tracker_and_nothing_that_packs_functions():
    code = "import sys, rungwise as rw; rw.load; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(out.stdout.split())
    others = {f"rungwise.searchers.{name}" for name in ("tpe", "gp", "kde", "sobol", "optuna")}
    others |= {f"rungwise.callbacks.{name}" for name in ("mlflow", "tensorboard", "wandb")}
    assert "rungwise.searchers" in loaded
    assert not loaded & (others | {"cloudpickle"})


@pytest.mark.parametrize("used", ["tune", "resume", "load", "PASHA", "rankings", "Space"])
def test_numpy_is_loaded_when_something_is_computed(used):
    code = f"import sys, rungwise as rw; rw.{used}; print('numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "False\n"


def test_no_file_imports_what_is_heavy_at_its_top():
    found = {
        (path.relative_to(ROOT).as_posix(), name.partition(".")[0])
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] not in {"plots", "lab", "integrations"}  # when used
        and path.name != "gaussian.py"  # which GP imports for its first model
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        for name in imports_of(node)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    assert ("simulation.py", "numpy") in found
    assert not [one for one in found if one[1] in HEAVY]


def test_a_worker_starts_light():
    """What a worker process loads before its training function; every study waits for that."""
    code = "import sys, rungwise.backends.worker; print([*sys.modules])"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=unmeasured())
    out = done.stdout
    for heavy in ("numpy", "sqlite3", "cloudpickle", "subprocess"):
        assert f"'{heavy}'" not in out


def test_names_are_found_when_they_are_used():
    code = (
        "import rungwise as rw; before = 'numpy' in __import__('sys').modules\n"
        "assert rw.PASHA().eta == 3 and not before and 'tune' in dir(rw)\n"
        "try:\n    rw.tuna\nexcept AttributeError as error:\n    print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "module 'rungwise' has no attribute 'tuna'\n"


def test_formatting_is_a_leaf():
    """Whoever prints anything imports it, so it imports nothing of rungwise itself."""
    tree = ast.parse((ROOT / "formatting.py").read_text(encoding="utf-8"))
    ours = {name for name in imports_of(tree) if name.startswith("rungwise")}
    assert ours <= {"rungwise.errors", "rungwise.validation"}


def test_json_is_read_and_written_by_codecs_in_pairs():
    """Whatever a codec writes it can read: ``x_to_json`` and ``x_from_json`` come together."""
    codecs = sorted(ROOT.rglob("codec.py"))
    assert [path.parent.name for path in codecs] == ["core", "schedulers", "space", "storage"]
    assert not sorted(ROOT.rglob("documents.py"))
    for path in codecs:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        written = {name.removesuffix("_to_json") for name in names if name.endswith("_to_json")}
        read = {name.removesuffix("_from_json") for name in names if name.endswith("_from_json")}
        assert written
        assert written - read <= {"parameter"}, "a parameter is written alone only to be compared"
        assert not {"read", "write"} & names

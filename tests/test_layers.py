"""The order of the layers: imports point downwards only, and nothing goes in circles."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import rungwise

ROOT = Path(rungwise.__file__).parent

LAYERS = [
    {"_version", "errors"},
    {
        "validation",
        "formatting",
        "lazy_numpy",
        "locking",
        "packages",
        "process_pools",
        "scalars",
        "script_guard",
        "sharing",
    },
    {"options", "options.foreign_names", "options.registry", "timeouts"},
    {"space"},
    {"core"},
    {"rankings", "searchers"},
    {"schedulers"},
    {"benchmarks", "checkpoints", "storage"},
    {"run"},
    {"backends", "outages", "session.failure_text"},
    {"session.failures"},
    {"policy", "scripts"},
    {"driver", "counterfactual"},
    {"views"},
    {"callbacks"},
    {"options.checks"},
    {"options.backend_options", "options.scheduler_options"},
    {"options.study_options", "simulation"},
    {"options.build"},
    {"display", "plots", "specification"},
    {"session"},
    {"tuning"},
    {"dashboard", "integrations", "lab"},
    {"cli", "testing"},
    {"__main__", "__init__"},
]
"""Lowest first; those of one layer do not import each other."""

IN_FUNCTIONS = {
    ("run.py", "rungwise.sharing"): "multiprocessing is slow to import, and few jobs are shared",
    ("display/__init__.py", "rungwise.display.live"): "rich is slow to import",
    ("searchers/gp.py", "rungwise.searchers.gaussian"): "it brings in SciPy",
    ("specification/files.py", "rungwise.specification.yaml_loader"): "PyYAML is slow to import",
    ("tuning/retraining.py", "rungwise.display.quiet"): "a study that is read starts no session",
    ("tuning/retraining.py", "rungwise.session.session"): "a study that is read starts no session",
    ("tuning/retraining.py", "rungwise.tuning.parts"): "a study that is read starts no session",
    ("tuning/retraining.py", "rungwise.tuning.running"): "a study that is read starts no session",
    ("tuning/function_reference.py", "rungwise.specification"): "resuming alone needs YAML",
    ("cli/benchmark.py", "rungwise.lab.sources"): "it brings in the network, and info needs none",
    ("cli/benchmark_get.py", "rungwise.lab.sources"): "it brings in the network; help needs none",
    ("cli/main.py", "rungwise.cli.commands"): "typer is slow, and what only reads needs none",
    ("cli/main.py", "rungwise.cli.parameters"): "--version needs none",
    ("cli/main.py", "rungwise.errors"): "--version needs none",
    ("cli/main.py", "rungwise.formatting"): "only errors need it",
    ("cli/reproduce.py", "rungwise.lab.reproduction.overview"): "it needs the extra for plots",
    ("cli/reproduce.py", "rungwise.lab.reproduction.report"): "it needs the extra for plots",
    ("cli/reproduce_frontier.py", "rungwise.lab.frontier.figure"): "the extra for plots, too",
    ("cli/reproduce_frontier.py", "rungwise.plots.figure"): "it needs the extra for plots",
}
"""Imports of rungwise inside functions, each with its reason: what is optional, or slow."""

LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
FILES = sorted(ROOT.rglob("*.py"))
MODULES = {
    ".".join(["rungwise", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(
        ".__init__"
    ): path
    for path in FILES
}


@cache
def find_imports(path):
    """(module, whether inside a function, whether for type checkers only) of a file."""
    found = []

    def walk(node, inside, typing):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                found.extend((alias.name, inside, typing) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                for alias in child.names:
                    full = f"{child.module}.{alias.name}"
                    found.append((full if full in MODULES else child.module, inside, typing))
            in_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
            walk(child, inside or in_function, typing or for_types)

    walk(ast.parse(path.read_text(encoding="utf-8")), inside=False, typing=False)
    return [one for one in found if one[0].partition(".")[0] == "rungwise"]


def find_layer(module):
    """The layer of a module: its own, if its package is divided, or that of its package."""
    part = module.removeprefix("rungwise").removeprefix(".") or "__init__"
    while part not in LEVEL:
        assert "." in part, f"{module} has no layer"
        part = part.rpartition(".")[0]
    return part


def test_imports_point_downwards():
    wrong = []
    for name, path in MODULES.items():
        part = find_layer(name)
        for module, _, _ in find_imports(path):
            layer = find_layer(module)
            if layer == part or (part, layer) == ("testing", "__init__"):
                continue  # the suites use the public names as their subclasses do
            if LEVEL[layer] >= LEVEL[part]:
                wrong.append(f"{path.relative_to(ROOT)} imports {module}, which is not below it")
    assert not wrong


def test_no_module_imports_itself_in_a_circle():
    graph = {
        name: {m for m, inside, typing in find_imports(path) if not inside and not typing}
        for name, path in MODULES.items()
        if name != "rungwise"
    }
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"a circle: {' → '.join(error.args[1])}")
    assert len(order) > 200


def test_functions_import_only_what_is_optional_or_slow():
    found = {
        (str(path.relative_to(ROOT)), module)
        for path in FILES
        for module, inside, _ in find_imports(path)
        if inside
    }
    assert found == set(IN_FUNCTIONS)


def test_every_part_has_a_layer():
    assert {find_layer(name) for name in MODULES} == set(LEVEL)

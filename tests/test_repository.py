"""What stands around the package agrees with it: pins, workflows, hooks, extras, the layout."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import extras
import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
JUDGES = ("ruff", "mypy", "zizmor")


def read(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def pins():
    """{name: version} of what the extra dev pins exactly."""
    listed = map(Requirement, extras.project()["optional-dependencies"]["dev"])
    exact = {r.name: [*r.specifier] for r in listed}
    return {
        name: one.version for name, spec in exact.items() for one in spec if one.operator == "=="
    }


# -- the judges of a change -------------------------------------------------------------------


def test_the_judges_are_pinned_and_judge_alike_before_a_commit_and_before_landing():
    assert set(pins()) >= set(JUDGES)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    check = re.search(r"^check:.*?\n\n", makefile, re.MULTILINE | re.DOTALL)[0]
    hooks = [hook for repo in read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    assert all(repo["repo"] == "local" for repo in read(".pre-commit-config.yaml")["repos"])
    for name in JUDGES:
        assert f"$(BIN)/{name}" in check
        # The tool of .venv is in the pinned version, which another repository's hook need not be.
        assert any(hook["entry"].startswith(f".venv/bin/{name}") for hook in hooks)
    assert len({hook["id"] for hook in hooks}) == len(hooks) == 4  # ruff is two


# -- workflows --------------------------------------------------------------------------------


def test_there_are_workflows():
    assert [path.stem for path in WORKFLOWS] == ["ci", "release"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_and_jobs_may_do_little(path):
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert used
    for action in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    document = read(path)
    assert document["permissions"] == {}
    assert "concurrency" in document
    assert "secrets." not in text
    for job in document["jobs"].values():
        assert job["timeout-minutes"] <= 60
        assert set(job["permissions"]) <= {"contents", "id-token"}
        assert job["permissions"].get("contents", "read") == "read"


def test_an_action_has_one_pin():
    found = {
        action
        for path in WORKFLOWS
        for action in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    }
    assert len(found) == len({action.partition("@")[0] for action in found})


def test_every_python_that_is_claimed_is_tested():
    matrix = read(".github/workflows/ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    claimed = [
        name.rpartition(" ")[2]
        for name in extras.project()["classifiers"]
        if re.search(r"Python :: 3\.\d+$", name)
    ]
    assert matrix["python"] == claimed
    assert extras.project()["requires-python"] == f">={claimed[0]}"


def test_nothing_is_published_by_a_push():
    # YAML 1.1 reads the key "on" as true.
    assert list(read(".github/workflows/release.yml")[True]) == ["workflow_dispatch"]


def test_forms_can_be_filled_in():
    for name in ("bug", "feature", "question"):
        form = read(f".github/ISSUE_TEMPLATE/{name}.yml")
        assert form["name"]
        assert form["description"]
        ids = [field["id"] for field in form["body"]]
        assert len(ids) == len(set(ids))
        assert any(field.get("validations", {}).get("required") for field in form["body"])


# -- extras -----------------------------------------------------------------------------------


@pytest.fixture
def bare(monkeypatch):
    """As if nothing optional were installed."""
    monkeypatch.setattr(extras, "installed", lambda _: False)
    extras.missing.cache_clear()
    yield
    extras.missing.cache_clear()


@pytest.mark.parametrize(
    "name", ["plots", "configspace", "optuna", "pandas", "parquet", "demo", "recording"]
)
def test_a_test_without_its_extra_is_skipped_by_the_name_of_it(bare, name):
    assert name in extras.project()["optional-dependencies"]
    with pytest.raises(pytest.skip.Exception, match=f"^needs {name} \\(not installed: "):
        extras.needs(name)


@pytest.mark.parametrize(("name", "owner"), [("cmaes", "dev"), ("scikit-learn", "demo")])
def test_a_test_without_a_package_is_skipped_by_the_extra_that_lists_it(bare, name, owner):
    with pytest.raises(pytest.skip.Exception, match=f"^needs {name} of the extra {owner} "):
        extras.needs(name)


def test_an_extra_of_extras_is_all_of_them(bare):
    assert set(extras.missing("plots")) < set(extras.missing("recording"))
    assert set(extras.missing("recording")) < set(extras.missing("dev"))


def test_the_version_counts(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1.0")
    extras.missing.cache_clear()
    with pytest.raises(pytest.skip.Exception, match=r"^needs ruff .*\(not installed: ruff==0\."):
        extras.needs("ruff")
    extras.missing.cache_clear()


def test_tests_name_what_they_need():
    """``importorskip`` would skip by the name of a module, which no one can install."""
    call = "importorskip" + "("
    found = [p for p in sorted(ROOT.glob("tests/**/*.py")) if call in p.read_text("utf-8")]
    assert not found, f"use needs() of tests/extras.py in {found}"


def test_a_misspelt_extra_skips_nothing():
    with pytest.raises(LookupError, match="no extra 'plotz'"):
        extras.needs("plotz")


def test_what_is_there_is_not_skipped():
    assert extras.needs("testing", "hypothesis").__name__ == "hypothesis"


# -- the wheel --------------------------------------------------------------------------------


def test_lower_bounds_are_read_from_the_project():
    """``scripts/check_wheel.py`` installs them; a dependency without one would be untested."""
    code = (
        "import sys; sys.path.insert(0, 'scripts'); import check_wheel\n"
        "print(*check_wheel.list_lower_bounds())"
    )
    if sys.version_info < (3, 11):
        pytest.skip("the script reads them with Python 3.11 or newer")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    bounds = done.stdout.split()
    assert len(bounds) == len(extras.project()["dependencies"])
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", bound) for bound in bounds)


# -- the layout -------------------------------------------------------------------------------


def test_the_layout_in_contributing_is_the_tree():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (layout,) = re.findall(r"^```\n(src/rungwise/\n.*?)^```", text, re.MULTILINE | re.DOTALL)
    package = layout.partition("\ntests/")[0]
    named = set(re.findall(r"(?<![\w/.-])([a-z_]+(?:\.py|/))", package.partition("\n")[2]))
    real = {
        path.name + ("/" if path.is_dir() else "")
        for path in (ROOT / "src" / "rungwise").iterdir()
        if path.is_dir() or path.suffix == ".py"
    } - {"__pycache__/", "__init__.py", "__main__.py", "_version.py"}
    assert real <= named, f"not in the layout: {sorted(real - named)}"
    inside = {path.name + ("/" if path.is_dir() else "") for path in (ROOT / "src").rglob("*")}
    assert named <= inside, f"in the layout only: {sorted(named - inside)}"


# -- sizes ------------------------------------------------------------------------------------

LONGEST_FILE, LONGEST_BODY = 450, 60
"""In lines. The rule is about 400 for a file; what is longer than this is split before it lands."""


def list_bodies(tree):
    """(lines, name) of every function, without its signature and docstring."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            yield body[-1].end_lineno - body[0].lineno + 1, node.name


def test_files_and_functions_are_not_too_long():
    shipped = [
        path
        for place in ("src", "perf", "recording", "scripts", "examples", "docs")
        for path in (ROOT / place).rglob("*.py")
    ]
    assert len(shipped) > 300
    found = []
    for path in shipped:
        text = path.read_text(encoding="utf-8")
        where = path.relative_to(ROOT)
        if text.count("\n") > LONGEST_FILE:
            found.append(f"{where} has {text.count(chr(10))} lines")
        for lines, name in list_bodies(ast.parse(text)):
            if lines > LONGEST_BODY:
                found.append(f"{where}: {name}() has {lines} lines")
    assert not found


LITERARY = re.compile(
    r"\b(nobody|whoever|anew|doom\w*|heed\w*|furnish\w*|mend(s|ed)?|bury|buried|lest|perish\w*)\b",
    re.IGNORECASE,
)
"""Words for which plain English has another; readers may have another first language."""


def test_texts_use_plain_words():
    """Messages, help and docstrings: every text in the source, and every page of the manual."""
    texts = [
        (path, node.lineno, node.value)
        for path in sorted((ROOT / "src").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    texts += [
        (path, number, line)
        for path in pages
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    ]
    found = [
        f"{path.name}, line {line}: {text}" for path, line, text in texts if LITERARY.search(text)
    ]
    assert len(texts) > 5000
    assert not found

"""``rungwise benchmark list`` and ``info``."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import rungwise as rw
from rungwise.benchmarks import Card, catalog, store
from rungwise.cli import benchmark as commands
from rungwise.errors import TableError
from rungwise.lab import sources
from rungwise.space import Space

SPACE = Space.parse({"lr": rw.Float(1e-5, 10, log=True), "act": ["relu", "[red]tanh"]})


def put(folder, name, **fields):
    card = Card(name=name, **{"metric": "accuracy", "goal": "max", "licence": "MIT", **fields})
    values = (
        np.linspace(0.0, 1.0, 2 * 11 * 3).reshape(2, 11, 3) if len(card.seeds) == 2 else [[[1]]]
    )
    configs = [{"lr": 0.1, "act": "relu"}] * 11 if card.space else None
    final = None
    if len(card.seeds) == 2:
        final = [[*range(10), float("nan")], [*range(10, 21)]]
    store.write(folder, card, values=values, seconds=1, final=final, configs=configs)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    package, data = tmp_path / "package", tmp_path / "data"
    monkeypatch.setattr(catalog, "PACKAGED", package)
    monkeypatch.setenv("RUNGWISE_DATA", str(data))
    monkeypatch.setattr(sources, "KNOWN", ())
    put(
        package,
        "fashion",
        title="Cells on [bold]clothes",
        description="What was done.\nAnd how.",
        resource="epoch",
        final_metric="test accuracy",
        seeds=[777, 888],
        space=SPACE,
        citation="\x1b[31mA paper",
        created="2024-05-06",
        checks={"diverged": 0.25, "ranks": {"1": 0.5}},
        details={"commit": "abc123"},
    )
    put(data, "pd1", title="Other curves", licence="CC-BY-4.0", goal="min")
    return package, data


def run(*arguments):
    return CliRunner().invoke(commands.app, list(arguments), catch_exceptions=False)


def output(*arguments):
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_list_shows_what_is_at_hand(folders):
    text = output("list")
    shown = {row.split("|")[1].strip(): row for row in text.splitlines() if row.startswith("| ")}
    for words in ("Cells on [bold]clothes", "11 × 3 × 2", "accuracy (max)", "packaged", "MIT"):
        assert words in shown["fashion"]
    for words in ("Other curves", "1 × 1 × 1", "accuracy (min)", "CC-BY-4.0"):
        assert words in shown["pd1"]
    assert "packaged" not in shown["pd1"]
    assert str(folders[1]) in text.replace("\n", "")
    assert "not installed" not in text


def test_list_for_machines(folders):
    document = json.loads(output("list", "--json"))
    assert document["data_folder"] == str(folders[1])
    assert document["available"] == []
    first, second = document["benchmarks"]
    assert first == {
        "name": "fashion",
        "where": str(folders[0]),
        "packaged": True,
        "fault": None,
        "title": "Cells on [bold]clothes",
        "rows": 11,
        "resources": 3,
        "seeds": 2,
        "metric": "accuracy",
        "goal": "max",
        "resource": "epoch",
        "licence": "MIT",
    }
    assert (second["name"], second["packaged"], second["where"]) == ("pd1", False, str(folders[1]))


def test_list_names_what_can_be_had(folders, monkeypatch):
    """A source is at hand when it is installed, or any of its data sets is."""
    put(folders[1], "lcbench-adult")
    known = [
        SimpleNamespace(name="pd1", title="installed", size_note="1 GB", how="fetch"),
        SimpleNamespace(name="nats", title="Cells", size_note="9 GB", how="rungwise fetch [nats]"),
        SimpleNamespace(name="lcbench", title="installed", size_note="2 GB", how="fetch"),
        SimpleNamespace(name="fash", title="Not ours", size_note="3 GB", how="fetch"),
    ]
    monkeypatch.setattr(sources, "KNOWN", tuple(known))
    text = output("list")
    listed = text[text.index("not installed") :]
    assert "9 GB" in listed
    assert "rungwise fetch [nats]" in listed
    assert "1 GB" not in text
    assert "2 GB" not in text
    assert json.loads(output("list", "--json"))["available"] == [
        {"name": "nats", "title": "Cells", "size_note": "9 GB", "how": "rungwise fetch [nats]"},
        {"name": "fash", "title": "Not ours", "size_note": "3 GB", "how": "fetch"},
    ]


def test_list_survives_what_is_damaged(folders):
    _, data = folders
    put(data, "fashion")
    (data / "pd1.json").write_text("{", encoding="utf-8")
    text = output("list")
    assert "Cells" not in text  # which of the two would it be?
    found = {
        (entry["name"], entry["packaged"]): entry["fault"]
        for entry in json.loads(output("list", "--json"))["benchmarks"]
    }
    assert "two benchmarks have this name" in found["fashion", True]
    assert "two benchmarks have this name" in found["fashion", False]
    assert "pd1.json is not JSON" in found["pd1", False]


def test_list_of_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(catalog, "PACKAGED", tmp_path / "none")
    monkeypatch.setenv("RUNGWISE_DATA", str(tmp_path / "neither"))
    assert json.loads(output("list", "--json"))["benchmarks"] == []
    text = output("list")
    assert "No benchmark is installed." in text
    for known in sources.KNOWN:
        assert known.name in text
    assert f"The data folder is {tmp_path / 'neither'}." in text


def test_info_tells_the_card(folders):
    text = output("info", "fashion")
    for words in (
        "fashion: Cells on [bold]clothes",
        "accuracy (max), after every epoch",
        "test accuracy",
        "11 configurations × 3 × 2 seeds",
        "777, 888",
        "MIT",
        "2024-05-06",
        "packaged",
        "checks: diverged",
        "0.25",
        "1: 0.5",
        "abc123",
        "What was done.\nAnd how.",
        "Float(1e-05, 10.0, log=True)",
        "[red]tanh",
        "A paper",
    ):
        assert words in text
    assert "\x1b" not in text
    assert "source" not in text  # there is none to tell


def test_info_shows_how_final_values_are_spread(folders):
    """21 values from 0 to 20 but for one that is missing: 0 … 9 and 10 … 20."""
    rows = output("info", "fashion").splitlines()
    header = next(row for row in rows if "not finite" in row)
    figures = [figure.strip() for figure in rows[rows.index(header) + 2].strip("|").split("|")]
    assert [name.strip() for name in header.strip("|").split("|")] == [
        *("0 %", "5 %", "25 %", "50 %", "75 %", "95 %", "100 %"),
        "not finite",
    ]
    assert figures == ["0", "1", "5", "10", "15", "19", "20", "4.5%"]


def test_info_without_anything_finite(folders):
    store.write(folders[1], Card(name="lost"), values=[[[float("nan")]]], seconds=1)
    assert "100.0%" in output("info", "lost")
    assert json.loads(output("info", "lost", "--json"))["final"]["percentiles"]["50"] is None


def test_info_for_machines(folders):
    document = json.loads(output("info", "fashion", "--json"))
    assert document["card"] == store.read_card(folders[0], "fashion").to_json()
    assert document["final"]["percentiles"]["50"] == 10
    assert document["final"]["not_finite"] == pytest.approx(1 / 22)
    assert document["packaged"] is True
    assert document["where"] == str(folders[0])
    assert document["bytes"] == (folders[0] / "fashion.npz").stat().st_size


def test_info_checks_the_file(folders):
    path = folders[1] / "pd1.npz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(TableError, match=r"pd1\.npz is a file of .* SHA-256"):
        run("info", "pd1")


def test_info_of_an_unknown_name(folders):
    with pytest.raises(TableError, match=r"benchmark is 'x', but .*; installed: fashion, pd1"):
        run("info", "x")


def test_every_command_helps():
    text = output("--help")
    for name in ("list", "info", "convert", "fetch"):
        assert name in text


def test_a_family_of_many_data_sets_is_one_line(folders):
    _, data = folders
    names = [f"lcbench-{letter}" for letter in "abcdef"]
    for name in names[:-1]:
        put(data, name, title=name)
    assert all(name in output("list") for name in names[:-1])  # five are not many
    put(data, names[-1], title=names[-1])
    shown = " ".join(output("list").split())
    assert "lcbench-…" in shown
    assert "6 data sets" in shown
    assert "lcbench-c" not in shown
    assert all(name in output("list", "--all") for name in names)
    listed = json.loads(output("list", "--json"))["benchmarks"]
    assert set(names) <= {entry["name"] for entry in listed}


def test_a_faulty_member_of_a_family_is_not_hidden(folders):
    _, data = folders
    for letter in "abcdefg":
        put(data, f"lcbench-{letter}")
    (data / "lcbench-c.json").write_text("nonsense")
    shown = output("list")
    assert "lcbench-c" in shown
    assert "6 data sets" in " ".join(shown.split())

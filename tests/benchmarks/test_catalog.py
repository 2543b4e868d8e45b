"""Which benchmarks are at hand, and where they lie."""

import sys
from pathlib import Path

import numpy as np
import pytest

import rungwise
from rungwise.benchmarks import Card, cards, catalog, data_folder, load, names, store
from rungwise.errors import TableError


def put(folder, name, value=0.5):
    store.write(folder, Card(name=name), values=[[[value]]], seconds=1)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """A package and a data folder of our own."""
    package, data = tmp_path / "package", tmp_path / "data"
    monkeypatch.setattr(catalog, "PACKAGED", package)
    monkeypatch.setenv("RUNGWISE_DATA", str(data))
    return package, data


def test_nothing_is_at_hand_where_there_are_no_folders(folders):
    assert names() == ()
    assert cards() == {}
    with pytest.raises(
        TableError,
        match="benchmark is 'x', but there is no benchmark of this name; installed: none",
    ):
        load("x")


def test_both_folders_are_looked_into(folders):
    package, data = folders
    put(package, "b", 0.25)
    put(data, "c", 0.75)
    put(data, "a")
    assert names() == ("a", "b", "c")
    assert load("b").values() == 0.25
    assert load("c").values() == 0.75
    assert list(cards()) == ["a", "b", "c"]
    assert cards()["c"].name == "c"
    found = {place.name: (place.folder, place.packaged) for place in catalog.places()}
    assert found == {"a": (data, False), "b": (package, True), "c": (data, False)}


def test_an_unknown_name_says_what_there_is_and_how_to_get_more(folders):
    package, data = folders
    put(package, "fashion-nas")
    put(data, "pd1")
    with pytest.raises(TableError, match="installed: fashion-nas, pd1") as caught:
        load("fashion")
    for words in ("rungwise benchmark fetch", "rungwise benchmark convert", "RUNGWISE_DATA", data):
        assert str(words) in str(caught.value)


def test_a_copy_shadows_nothing(folders):
    package, data = folders
    put(package, "same")
    put(package, "other")
    put(data, "same")
    assert names() == ("other", "same")
    assert load("other").rows == 1
    for ask in (lambda: load("same"), cards):
        with pytest.raises(TableError, match="'same', but two benchmarks have this name") as caught:
            ask()
        assert str(data) in str(caught.value)


def test_half_a_pair_and_other_files_are_no_benchmarks(folders):
    _, data = folders
    put(data, "whole")
    (data / "alone.json").write_text("{}", encoding="utf-8")
    (data / "alone.npz").mkdir()
    (data / "lonely.npz").write_bytes(b"")
    (data / "notes.txt").write_text("", encoding="utf-8")
    (data / "sub").mkdir()
    put(data / "sub", "below")
    assert names() == ("whole",)


def test_a_damaged_one_does_not_hide_the_others(folders):
    _, data = folders
    put(data, "good")
    put(data, "bad")
    (data / "bad.json").write_text("{", encoding="utf-8")
    assert names() == ("bad", "good")
    assert load("good").rows == 1
    with pytest.raises(TableError, match=r"bad\.json is not JSON"):
        load("bad")


def test_a_name_is_not_a_path(folders):
    _, data = folders
    put(data, "inner")
    with pytest.raises(TableError, match="benchmark is"):
        load("../data/inner")


def test_the_data_folder_is_the_users_choice(monkeypatch):
    monkeypatch.setenv("RUNGWISE_DATA", "/some/where")
    assert data_folder() == Path("/some/where")
    monkeypatch.setenv("RUNGWISE_DATA", "~/tables")
    assert data_folder() == Path.home() / "tables"


@pytest.mark.parametrize("chosen", [None, ""])
def test_the_data_folder_of_the_platform(monkeypatch, chosen):
    monkeypatch.delenv("RUNGWISE_DATA", raising=False)
    if chosen is not None:
        monkeypatch.setenv("RUNGWISE_DATA", chosen)
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert data_folder() == Path("/home/ada/.local/share/rungwise")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert data_folder() == Path("/data/rungwise")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert data_folder() == Path("/home/ada/.local/share/rungwise")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert data_folder() == Path("/home/ada/Library/Application Support/rungwise")


def test_the_folder_of_the_package():
    assert Path(rungwise.__file__).parent / "benchmarks" / "recorded" == catalog.PACKAGED


RECORDED = sorted(path.stem for path in catalog.PACKAGED.glob("*.json"))


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_tables_are_what_their_cards_say(name):
    benchmark = store.read(catalog.PACKAGED, name)  # checks checksum and shapes
    card = benchmark.card
    for field in ("title", "description", "metric", "final_metric", "licence", "source", "created"):
        assert getattr(card, field), f"{name} has no {field}"
    assert benchmark.configs is not None
    assert benchmark.space is not None
    for seed in range(benchmark.seeds):
        table = benchmark.table(seed, nearest=True)
        assert table.find_row(table.configs[-1]) == table.configs.index(table.configs[-1])
        assert np.isfinite(benchmark.final(seed)).any()


def test_without_a_home_there_is_still_the_package(folders, monkeypatch):
    package, _ = folders
    put(package, "b")
    monkeypatch.setenv("RUNGWISE_DATA", "~no-such-user-here/data")
    with pytest.raises(TableError, match="RUNGWISE_DATA is '~no-such-user-here/data'"):
        data_folder()
    assert names() == ("b",)
    assert load("b").values() == 0.5

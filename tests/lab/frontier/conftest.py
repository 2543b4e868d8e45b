"""A data folder of the test's own, without the tables that come with the package."""

import pytest

from rungwise.benchmarks import catalog


@pytest.fixture
def folder(tmp_path, monkeypatch):
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv(catalog.VARIABLE, str(data))
    monkeypatch.setattr(catalog, "PACKAGED", tmp_path / "nothing")
    return data

"""The recorded tables that come with the package are what their data cards say."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from extras import needs

import rungwise as rw
from rungwise import benchmarks

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "benchmarks"
LEAST = {
    "fashion-nas": (1024, 200, 3),
    "fashion-hpo": (2000, 251, 1),
    "text-hpo": (1000, 1400, 1),
    "mlp-hpo": (2000, 400, 1),
}


@pytest.fixture(scope="module", params=sorted(LEAST))
def recorded(request):
    return benchmarks.load(request.param)  # which checks the checksum and the shapes


def test_it_is_as_large_as_promised(recorded):
    rows, resources, seeds = LEAST[recorded.name]
    assert recorded.rows >= rows
    assert recorded.resources >= resources
    assert recorded.seeds == len(recorded.card.seeds) == seeds
    assert recorded.values(0).shape == (recorded.rows, recorded.resources)


def test_values_are_accuracies_and_runs_once_lost_stay_lost(recorded):
    for seed in range(recorded.seeds):
        values, final = recorded.values(seed), recorded.final(seed)
        assert np.nanmin(values) >= 0
        assert np.nanmax(values) <= 1
        assert np.nanmax(final) <= 1
        lost = np.isnan(values)
        assert (lost[:, 1:] >= lost[:, :-1]).all()
        np.testing.assert_array_equal(np.isnan(final), lost[:, -1])


def test_curves_climb_and_seeds_differ(recorded):
    values = np.nan_to_num(recorded.values(0))
    assert np.quantile(values[:, -1], 0.9) > np.quantile(values[:, 0], 0.9) + 0.02
    for seed in range(1, recorded.seeds):
        assert (recorded.values(seed) != recorded.values(0)).mean() > 0.9


def test_configurations_are_of_the_space_and_different(recorded):
    keys = {recorded.space.key(config) for config in recorded.configs}
    assert len(keys) == recorded.rows


def test_architectures_have_the_names_of_nas_bench_201():
    table = benchmarks.load("fashion-nas")
    config = table.configs[0]
    node3 = "|".join(f"{config[f'edge_{s}_to_3']}~{s}" for s in range(3))
    assert table.names[0].endswith(f"+|{node3}|")
    assert table.names[0].startswith(f"|{config['edge_0_to_1']}~0|+")


def test_the_page_tells_the_checksum_and_the_sizes(recorded):
    page = (PAGES / f"{recorded.name}.md").read_text(encoding="utf-8")
    assert recorded.card.sha256 in page
    assert f"{recorded.rows:,} configurations × {recorded.resources:,}" in page
    assert (PAGES / f"{recorded.name}.svg").stat().st_size > 10_000
    for said in (recorded.card.licence, recorded.card.created, recorded.card.details["commit"]):
        assert said in page


def test_costs_are_seconds(recorded):
    seconds = recorded.seconds(0)
    assert (seconds > 0).all()
    assert seconds.shape == (recorded.rows,)


def test_a_study_on_it_is_the_same_every_time(recorded):
    table = recorded.table()
    first, second = (rw.simulate(table, rw.PASHA(), trials=64, seed=3).to_json() for _ in range(2))
    assert first == second
    assert first["best"]["value"] > np.nanmedian(recorded.values(0)[:, 0])


@pytest.mark.no_cover
def test_the_checks_on_the_card_are_those_of_the_data():
    needs("recording")
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "import assemble\n"
        "from rungwise import benchmarks\n"
        "import numpy as np\n"
        "for source in assemble.sources():\n"
        "    if source.name not in benchmarks.names(): continue\n"
        "    made = benchmarks.load(source.name)\n"
        "    values = np.stack([made.values(s) for s in range(made.seeds)])\n"
        "    final = np.stack([made.final(s) for s in range(made.seeds)])\n"
        "    assert [dict(c) for c in made.configs] == source.configs, source.name\n"
        "    assert assemble.collapses(values) == [], source.name\n"
        "    print(json.dumps([source.name, assemble.checks(source, values, final)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, ROOT / "recording"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        name, found = json.loads(line)
        told = json.loads(json.dumps(dict(benchmarks.load(name).card.checks)))
        assert found == told
    assert len(done.stdout.splitlines()) == len(LEAST)

"""The engine against a brute-force oracle, job by job."""

import math

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rungwise as rw
from rungwise import rankings

CRITERIA = {
    ("exact",): rankings.Exact(),
    ("soft", 0.125): rankings.Soft(0.125),
    ("sigma", 1): rankings.SoftSigma(1),
    ("sigma", 2): rankings.SoftSigma(2),
    ("mean",): rankings.SoftMean(),
    ("median",): rankings.SoftMedian(),
    ("noise", 90): rankings.Noise(),
    ("noise", 100): rankings.Noise(100),
    ("noise", 50): rankings.Noise(50),
    ("leader", 90): rankings.Leader(),
    ("rbo", 1.0, 0.5): rankings.RBO(1.0, 0.5),
    ("rbo", 0.5, 0.5): rankings.RBO(0.5, 0.5),
    ("rbo", 0.9, 0.8): rankings.RBO(0.9, 0.8),
    ("rrr", 1.0, 0.05): rankings.RRR(1.0, 0.05),
    ("rrr", 0.5, 0.05): rankings.RRR(0.5, 0.05),
    ("arrr", 1.0, 0.05): rankings.ARRR(1.0, 0.05),
    ("arrr", 0.5, 0.25): rankings.ARRR(0.5, 0.25),
}


def random_table(rng, rows, resources, style):
    """Curves whose sums are exact in floats (multiples of 1/1024), so that no reading of a
    criterion differs by rounding; "ties" has few distinct values, "diverged" ends in NaN."""
    final = rng.uniform(0.1, 0.9, rows)
    slope = rng.uniform(0.0, 1.0, rows)
    epochs = np.arange(1, resources + 1)
    curves = (
        final[:, None]
        + slope[:, None] / epochs
        + rng.choice([0.0, 0.02, 0.1]) * rng.standard_normal((rows, resources))
    )
    grain = 8 if style == "ties" else 1024
    curves = np.round(curves * grain) / grain
    if style == "diverged":
        for row in np.flatnonzero(rng.random(rows) < 0.3):
            curves[row, rng.integers(resources) :] = rng.choice([math.nan, math.inf, -math.inf])
        for row in np.flatnonzero(rng.random(rows) < 0.2):
            curves[row, rng.integers(resources)] = math.nan
        curves[0, 0] = 0.5
    return curves


def same(result, expected, *, epsilons=False):
    assert result.jobs == expected.jobs
    assert result.ceilings == expected.ceilings
    best = (
        None if result.best is None else (result.best.row, result.best.value, result.best.resource)
    )
    assert best == expected.best
    assert result.seconds == expected.seconds
    assert result.max_resource == expected.max_resource
    assert result.resource_spent == expected.resource_spent
    assert result.reports == expected.reports


@st.composite
def studies(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    eta = draw(st.sampled_from([2, 3, 4]))
    rows = draw(st.integers(1, 45))
    low = draw(st.sampled_from([1, 1, 1, 2, 3]))
    high = draw(st.integers(low, 30))
    style = draw(st.sampled_from(["plain", "ties", "diverged"]))
    values = random_table(rng, rows, high, style)
    seconds = draw(st.sampled_from(["one", "row", "all"]))
    timing = {
        "one": 1.0,
        "row": rng.integers(1, 4, rows).astype(float),
        "all": rng.integers(0, 4, (rows, high)).astype(float),
    }[seconds]
    return {
        "values": values,
        "rows": rng.permutation(rows).tolist(),
        "seconds": timing,
        "goal": draw(st.sampled_from(["min", "max"])),
        "workers": draw(st.sampled_from([1, 2, 3, 4, 8, 64])),
        "finish": draw(st.sampled_from(["drain", "drain", "paper"])),
        "min_resource": low,
        "max_resource": high,
        "eta": eta,
        "promote": draw(st.sampled_from(["floor", "quantile"])),
        "variant": draw(st.sampled_from(["promotion", "stopping"])),
    }


def run_both(case, kind, recipe, **extra):
    shared = {key: case[key] for key in ("workers", "finish")}
    table = rw.Table(case["values"], case["seconds"], case["goal"])
    result = rw.simulate(table, recipe, trials=case["rows"], **shared)
    ladder = {key: case[key] for key in ("min_resource", "max_resource", "eta")}
    expected = oracle.run(
        case["values"].tolist(),
        case["rows"],
        kind=kind,
        seconds=case["seconds"] if np.isscalar(case["seconds"]) else case["seconds"].tolist(),
        goal=case["goal"],
        **ladder,
        **shared,
        **extra,
    )
    same(result, expected)


def ladder_of(case):
    return {key: case[key] for key in ("min_resource", "max_resource", "eta")}


@pytest.mark.no_cover
@given(studies())
@settings(deadline=None, max_examples=150)
def test_asha_takes_the_same_jobs(case):
    family = {"promote": case["promote"], "variant": case["variant"]}
    run_both(case, "asha", rw.ASHA(**ladder_of(case), **family), **family)


@pytest.mark.no_cover
@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
@given(case=studies(), check=st.sampled_from(["rung", "report"]))
@settings(deadline=None, max_examples=40)
def test_pasha_takes_the_same_jobs(criterion, case, check):
    family = {"promote": case["promote"], "variant": case["variant"], "check": check}
    recipe = rw.PASHA(**ladder_of(case), ranking=CRITERIA[criterion], **family)
    run_both(case, "pasha", recipe, criterion=criterion, **family)


@given(studies())
@settings(deadline=None, max_examples=60)
def test_successive_halving_takes_the_same_jobs(case):
    run_both(case, "sh", rw.SuccessiveHalving(**ladder_of(case)))


@given(studies())
@settings(deadline=None, max_examples=40)
def test_fixed_resource_takes_the_same_jobs(case):
    run_both(case, "fixed", rw.FixedResource(case["max_resource"]))

"""A trial in two legs, the second resumed from where the first ended; and one without a break."""

import math

from test_run import Study, make_run


def run_legs(folder, train, config, *, break_at=2, end=4, **changes):
    """(resource, value) of what a training function reports in two legs, and in one.

    The first leg is answered that enough is known at its end, and the second starts there.
    """
    legs = []
    for start, until in ((0, break_at), (break_at, end)):
        study = Study(enough_at=until)
        run = make_run(folder / "trial-1", study, start=start, until=until, job=start, **changes)
        assert run.start == start, "the checkpoint is there"
        train(config, run)
        run.close()
        assert run.enough
        legs.append(study.reports)
    study = Study(enough_at=end)
    run = make_run(folder / "trial-2", study, until=end, **changes)
    train(config, run)
    run.close()
    return legs[0] + legs[1], study.reports


def assert_without_a_gap(reports, whole, tolerance=1e-6):
    """Resources 1, 2, 3, … each once, and the same values as without a break."""
    assert [resource for resource, *_ in reports] == [resource for resource, *_ in whole]
    assert [resource for resource, *_ in reports] == list(range(1, len(reports) + 1))
    for (_, value, metrics), (_, expected, others) in zip(reports, whole, strict=True):
        assert math.isclose(value, expected, rel_tol=tolerance), (reports, whole)
        assert set(metrics) == set(others)

"""Which checkpoint a result names, and keeping that of the best report."""

import json

import pytest
from command_line import run_here

import rungwise as rw
from rungwise.display import QuietDisplay
from rungwise.storage.study_file import StudyFile

LOSSES = [5, 3, 1, 2, 4, 6, 7, 8, 9]
"""The best is after three epochs of nine."""


def train(config, run):
    start = int((run.latest / "epoch").read_text()) if run.latest else 0
    for epoch in range(start + 1, 10):
        with run.checkpoint(epoch) as folder:
            (folder / "epoch").write_text(str(epoch))
        run.report(epoch, loss=LOSSES[epoch - 1] + config["x"])


def tune(path, **changes):
    return rw.tune(
        train,
        {"x": rw.Float(0, 1)},
        metric="loss",
        goal="min",
        scheduler="asha",
        max_resource=9,
        trials=6,
        backend="threads:2",
        study=path,
        show="quiet",
        **changes,
    )


def epochs_kept(result, trial):
    folder = result.path.with_name("s.db.files") / f"trial-{trial:05d}" / "checkpoints"
    return sorted(int((each / "epoch").read_text()) for each in folder.iterdir())


def test_the_best_checkpoint_is_kept_besides_the_last(tmp_path):
    result = tune(tmp_path / "s.db", keep_best=True)
    best = result.best
    assert (best.resource, best.checkpoint_resource) == (3, 3)
    assert (best.checkpoint / "epoch").read_text() == "3"
    furthest = max(result.leaderboard(None), key=lambda row: (row.reached, -row.rank))
    assert furthest.reached == 9
    assert epochs_kept(result, furthest.trial) == [3, 9]
    shown = run_here(["show", str(tmp_path / "s.db")]).stdout
    assert "checkpoint (at resource 3):" in shown
    document = rw.load(tmp_path / "s.db").to_json()["best"]
    assert (document["resource"], document["checkpoint_resource"]) == (3, 3)


def test_without_it_the_result_says_which_resource_the_checkpoint_is_of(tmp_path):
    result = tune(tmp_path / "s.db", keep="all")
    best = result.best
    reached = result.view.trial(best.trial).resource
    assert (best.resource, best.checkpoint_resource) == (3, reached)
    if reached != 3:
        shown = run_here(["show", str(tmp_path / "s.db")]).stdout
        text = f"checkpoint (at resource {reached:g}; --keep-best keeps the one at resource 3 too)"
        assert text in " ".join(shown.split())


def test_both_count_towards_the_quota(tmp_path):
    notices = []

    class Notes(QuietDisplay):
        def notice(self, text):
            notices.append(text)

    result = rw.tune(
        train,
        {"x": rw.Float(0, 1)},
        metric="loss",
        goal="min",
        scheduler="random",
        max_resource=9,
        trials=4,
        backend="threads:1",
        study=tmp_path / "s.db",
        keep_best=True,
        keep="all",
        checkpoint_quota=5,  # each takes one byte, and a trial two
        show=Notes(),
    )
    assert any("checkpoint quota: removed" in text for text in notices)
    kept = [
        trial
        for trial in range(4)
        if (result.path.with_name("s.db.files") / f"trial-{trial:05d}" / "checkpoints").exists()
    ]
    assert len(kept) <= 2


def test_the_key_and_the_flag(tmp_path):
    (tmp_path / "study.yaml").write_text(
        json.dumps(
            {
                "train": f"{__file__}:train",
                "metric": "loss",
                "max_resource": 9,
                "trials": 2,
                "keep_best": True,
                "backend": "threads:1",
                "space": {"x": {"type": "float", "low": 0, "high": 1}},
            }
        )
    )
    study = tmp_path / "s.db"
    command = ["tune", str(tmp_path / "study.yaml"), "--study", str(study), "--show", "quiet"]
    done = run_here(command)
    assert done.returncode == 0, done.stderr
    with StudyFile(study, mode="read") as file:
        assert file.about.run["keep_best"] is True
    command = ["resume", str(study), "--train", f"{__file__}:train", "--no-keep-best"]
    done = run_here([*command, "--trials", "3", "--show", "quiet"])
    assert done.returncode == 0, done.stderr
    with StudyFile(study, mode="read") as file:
        assert file.about.run["keep_best"] is False
    with pytest.raises(rw.InvalidArgumentError, match="keep_best is 'yes', but it must be True"):
        tune(tmp_path / "t.db", keep_best="yes")

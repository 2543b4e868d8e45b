"""The HParams tab and steps, as TensorBoard itself reads them."""

import importlib

import pytest
from extras import needs

import rungwise as rw
from rungwise.callbacks import TensorBoard
from rungwise.testing.callbacks import Notices

needs("tensorboard")


def train(config, run):
    if run.trial == 3:
        raise RuntimeError("no")
    for epoch in run.resources(step=config["step"]):
        run.report(epoch, loss=config["x"] + 1 / epoch, speed=epoch)


def tune(folder, **changes):
    space = {"x": rw.Float(0, 1), "kind": ["a", "b"], "step": changes.pop("step", 1)}
    return rw.tune(
        train,
        space,
        metric="loss",
        goal="min",
        max_resource=3,
        trials=5,
        retries=0,
        backend="threads:1",
        scheduler="asha",
        callbacks=[TensorBoard(folder / "runs", **changes.pop("options", {}))],
        **{"show": "quiet", **changes},
    )


def read_session(folder):
    """(configuration, status) of a trial from what the HParams tab reads."""
    accumulate = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")
    metadata = importlib.import_module("tensorboard.plugins.hparams.metadata")
    found = accumulate.EventAccumulator(str(folder))
    found.Reload()
    tags = found.PluginTagToContent("hparams")
    start = metadata.parse_session_start_info_plugin_data(tags["_hparams_/session_start_info"])
    config = {
        name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()
    }
    if "_hparams_/session_end_info" not in tags:
        return config, None
    end = metadata.parse_session_end_info_plugin_data(tags["_hparams_/session_end_info"])
    return config, end.status


def test_the_hparams_tab_has_every_configuration_and_its_status(tmp_path):
    result = tune(tmp_path)
    (root,) = (tmp_path / "runs").iterdir()
    api = importlib.import_module("tensorboard.plugins.hparams.api_pb2")
    for trial in range(5):
        folder = root / f"trial-{trial:05d}"
        config, status = read_session(folder)
        assert config == pytest.approx(dict(result.view.trial(trial).config))
        word = "STATUS_FAILURE" if trial == 3 else "STATUS_SUCCESS"  # it reported nothing
        assert status == api.Status.Value(word)


def test_fractions_are_rounded_with_a_notice_or_scaled(tmp_path):
    shown = Notices()
    tune(tmp_path / "one", step=0.5, show=shown)
    assert sum("resource 0.5 becomes step 0: give scale=1000" in text for text in shown.texts) == 1
    shown = Notices()
    tune(tmp_path / "two", step=0.5, show=shown, options={"scale": 10})
    assert not [text for text in shown.texts if "scale" in text]

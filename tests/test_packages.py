"""Optional packages: what is missing, or too old, is said with the extra that brings it."""

import importlib.metadata
import sys

import pytest

from rungwise.callbacks import MLflow, TensorBoard, WandB
from rungwise.errors import InvalidArgumentError, MissingExtraError
from rungwise.packages import check_package


def test_a_package_that_is_missing_is_named_by_its_extra():
    with pytest.raises(MissingExtraError, match=r"^the callback X needs .*'rungwise\[tracking\]'"):
        check_package("the callback X", "no_such_package", extra="tracking", at_least="1")


@pytest.mark.parametrize("version", ["2.9.3", "2.9", "2", "2.9rc1", "1.99.0+cpu"])
def test_a_version_that_is_too_old_is_refused(monkeypatch, version):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    with pytest.raises(InvalidArgumentError, match=r"needs numpy 2\.10 or newer: pip install"):
        check_package("this", "numpy", extra="plots", at_least="2.10")


@pytest.mark.parametrize("version", ["2.10", "2.10.0rc1", "2.11", "3", "3.0.dev1", "10.1"])
def test_a_version_that_is_new_enough_passes(monkeypatch, version):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    check_package("this", "numpy", extra="plots", at_least="2.10")


@pytest.mark.parametrize(
    ("callback", "module"),
    [(TensorBoard(), "tensorboard"), (MLflow(), "mlflow"), (WandB(), "wandb")],
)
def test_trackers_name_their_extra(monkeypatch, callback, module):
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    with pytest.raises(MissingExtraError, match=rf"rungwise\[{module}\]"):
        callback.check()


@pytest.mark.parametrize(
    "name", ["lightgbm", "xgboost", "torch", "lightning", "transformers", "keras"]
)
def test_reporters_name_their_extra(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"rungwise.integrations.{name}", raising=False)
    with pytest.raises(MissingExtraError, match=rf"rungwise\[{name}\]"):
        importlib.import_module(f"rungwise.integrations.{name}")

"""Optional packages: what is missing, or too old, is said with the extra that brings it."""

import importlib.metadata
import importlib.util
import sys

import pytest

from rungwise.backends.ray_cluster import load_ray
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


PACKAGES = {
    "optuna": "3.9",
    "scikit-learn": "1.3.2",
    "lightgbm": "3.2",
    "xgboost": "1.5",
    "torch": "1.13",
    "lightning": "1.9",
    "transformers": "4.40",
    "keras": "2.15",
    "ray": "2.39",
}
"""Versions that are too old, by the names of what is installed."""

MODULES = {"scikit-learn": "sklearn", "ray": "ray_tune"}
"""Of rungwise.integrations, where they have other names."""


@pytest.mark.parametrize("package", PACKAGES)
def test_a_host_that_is_too_old_is_refused_on_import(monkeypatch, package):
    name = MODULES.get(package, package)
    extra = {"ray": "ray-tune"}.get(package, name)
    real = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda n: PACKAGES[n] if n == package else real(n)
    )
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: "there is one")
    monkeypatch.delitem(sys.modules, f"rungwise.integrations.{name}", raising=False)
    words = rf"the version of {package} is '{PACKAGES[package]}'.*or newer.*rungwise\[{extra}\]"
    with pytest.raises(InvalidArgumentError, match=words):
        importlib.import_module(f"rungwise.integrations.{name}")


@pytest.mark.parametrize(
    ("use", "package", "version"),
    [
        (TensorBoard().check, "tensorboard", "2.11"),
        (MLflow().check, "mlflow", "2.8"),
        (WandB().check, "wandb", "0.18.7"),
        (load_ray, "ray", "2.39"),
    ],
)
def test_a_tracker_or_a_cluster_that_is_too_old_is_refused_before_it_is_used(
    monkeypatch, use, package, version
):
    monkeypatch.setattr(importlib.metadata, "version", lambda _: version)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: "there is one")
    with pytest.raises(InvalidArgumentError, match=f"the version of {package} is '{version}'"):
        use()

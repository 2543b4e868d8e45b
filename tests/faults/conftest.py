"""Real tuners in processes of their own."""

import pytest
from faults.scenarios import Launcher, Scene


@pytest.fixture(scope="session")
def launcher():
    launcher = Launcher()
    yield launcher
    launcher.close()


@pytest.fixture
def scene(launcher, tmp_path):
    """A folder with a study in it, and tuners for it."""
    scene = Scene(launcher, tmp_path)
    yield scene
    scene.close()


@pytest.fixture(scope="session")
def reference(launcher, tmp_path_factory):
    """The same study without any interruption: one worker, so that there is one course only."""
    known = {}

    def uninterrupted(**options):
        key = tuple(sorted(options.items()))
        if key not in known:
            known[key] = Scene(launcher, tmp_path_factory.mktemp("uninterrupted"))
            known[key].finish("steady", **options)
        return known[key]

    return uninterrupted

"""What is not about processes is tested on every backend, through one fixture.

A module asks for it with ``pytestmark = pytest.mark.usefixtures("backend")``. Tests that only make
sense where every worker is a process of its own are marked ``processes``.
"""

import backend_kinds
import pytest


@pytest.fixture(scope="module", params=list(backend_kinds.KINDS))
def backend(request):
    """Run the tests of a module on one backend after the other."""
    backend_kinds.use(request.param)
    yield request.param
    backend_kinds.use("local")


def pytest_collection_modifyitems(config, items):
    """Leave out what is about processes where there are none."""

    def fits(item):
        kind = getattr(item, "callspec", None) and item.callspec.params.get("backend")
        return kind in (None, "local") or item.get_closest_marker("processes") is None

    left_out = [item for item in items if not fits(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if fits(item)]

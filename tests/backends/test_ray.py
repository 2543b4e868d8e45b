"""Real studies on a real Ray, with several nodes on this machine."""

import pytest
from extras import needs
from ray_clusters import KeptActors, running_cluster

import rungwise as rw
from rungwise.backends import ray_launcher
from rungwise.testing import ProcessBackendConformance

ray = needs("ray", "ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.no_cover,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of Ray itself
]


@pytest.fixture(scope="module")
def cluster():
    with running_cluster({"resources": {"slot": 8}}) as started:
        ray.init(address=started.address, log_to_driver=False, logging_level="ERROR")
        started.wait_for_nodes()
        yield started
        KeptActors.kept.clear()
        ray.shutdown()


@pytest.fixture(autouse=True)
def _kept_actors(cluster, monkeypatch):
    monkeypatch.setattr(ray_launcher, "Actors", KeptActors)


class TestRay(ProcessBackendConformance):
    """What every backend promises, and every one with processes."""

    def make_recipe(self, workers):
        return rw.Ray(workers, resources={"slot": 1})

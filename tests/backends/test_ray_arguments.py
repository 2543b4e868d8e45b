"""What can be said of rw.Ray without a cluster: its arguments, and what fits on which nodes."""

import re
import sys
from types import SimpleNamespace

import pytest
from extras import needs

import rungwise as rw
from rungwise.backends import ray_cluster
from rungwise.backends.ray_cluster import Cluster, Node, Share, check_fits, count_workers
from rungwise.errors import InvalidArgumentError, MissingExtraError, WorkerStartError
from rungwise.options.registry import BACKENDS

NODES = [
    Node("a", "head", {"CPU": 2}),
    Node("b", "one", {"CPU": 8, "GPU": 4, "tpu": 1}),
    Node("c", "two", {"CPU": 8, "GPU": 4}),
]


def train(config, run):
    run.report(1, loss=config["x"])


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"workers": 0}, "workers is 0"),
        ({"gpus_per_worker": 1.5}, "a whole number, or a fraction below 1"),
        ({"cpus_per_worker": -1}, "at least 0"),
        ({"cpus_per_worker": 0}, "it must be a number"),
        ({"resources": "tpu"}, "mapping of names to amounts"),
        ({"resources": {"GPU": 1}}, "give GPU as gpus_per_worker"),
        ({"resources": {"tpu": -1}}, r"resources\['tpu'\] is -1"),
        ({"address": "ray://head:10001"}, "ray job submit"),
        ({"address": "head"}, "HOST:PORT"),
        ({"address": ""}, "HOST:PORT"),
        ({"runtime_env": "."}, "working_dir"),
        ({"autoscale": 1}, "true or false"),
        ({"autoscale": True}, "workers is 'auto', but with autoscale=True it must be a number"),
        ({"nodes_per_worker": 0}, "nodes_per_worker is 0"),
        ({"start_timeout": 0}, "above 0"),
    ],
)
def test_what_is_wrong_is_refused_with_its_rule(options, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        rw.Ray(**options)


def test_it_has_a_name_and_is_kept_like_other_backends():
    assert BACKENDS.build("ray:64", "backend") == rw.Ray(64)
    built = BACKENDS.build("ray:workers=64,gpus_per_worker=0.5,address=head:6379", "backend")
    assert built == rw.Ray(64, gpus_per_worker=0.5, address="head:6379")
    assert built.single().workers == 1


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"rungwise\[ray\]"):
        rw.Ray(1).prepare(train)


@pytest.mark.parametrize(
    ("share", "number"),
    [
        (Share(), 18),
        (Share(cpus=4), 4),
        (Share(gpus=1), 8),
        (Share(cpus=0, gpus=0.25), 32),
        (Share(cpus=3, gpus=1), 4),
        (Share(resources={"tpu": 0.1}), 8),
        (Share(nodes=2), 9),
        (Share(nodes=3), 2),
        (Share(gpus=4, nodes=2), 1),
    ],
)
def test_how_many_workers_fit(share, number):
    assert count_workers(NODES, share) == number
    check_fits(NODES, share)


@pytest.mark.parametrize(
    ("share", "rule"),
    [
        (Share(cpus=9), r"cpus_per_worker is 9.*has is 8: ask for less, or give autoscale"),
        (Share(gpus=5), r"gpus_per_worker is 5.*has is 4"),
        (Share(resources={"slot": 1}), r"resources\['slot'\] is 1.*no node .* has any slot"),
        (Share(gpus=1, nodes=3), r"nodes_per_worker is 3, but only 2 of the 3 nodes"),
        (Share(cpus=8, resources={"tpu": 1}, nodes=2), "nodes_per_worker is 2, but only 1 of"),
    ],
)
def test_what_no_node_has_is_refused_by_its_name(share, rule):
    with pytest.raises(InvalidArgumentError, match=rule):
        check_fits(NODES, share)


def test_what_one_node_has_only_in_part_is_refused():
    nodes = [Node("a", "a", {"CPU": 8}), Node("b", "b", {"GPU": 4})]
    with pytest.raises(InvalidArgumentError, match="no node of the cluster has all of it"):
        check_fits(nodes, Share(cpus=8, gpus=4))


def test_an_address_where_nothing_listens_is_refused_at_once():
    needs("ray")
    with pytest.raises(
        InvalidArgumentError, match=r"no Ray cluster can be reached there .*refused"
    ):
        rw.Ray(1, address="127.0.0.1:1").prepare(train)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (
            ConnectionError("Could not find any running Ray instance."),
            InvalidArgumentError,
            "address is 'auto', but no Ray cluster was found there: Could not find any",
        ),
        (
            RuntimeError(
                "Version mismatch: The cluster was started with:\n  Ray: 2.1\n  Python: 3.9"
            ),
            WorkerStartError,
            "runs other versions: Version mismatch: .* Ray: 2.1 Python: 3.9",
        ),
        (OSError("no space left"), WorkerStartError, "cannot be used at auto: OSError: no space"),
    ],
)
def test_what_ray_says_of_an_address_is_explained(error, kind, text):
    explained = ray_cluster.explain("auto", error)
    assert type(explained) is kind
    assert re.search(text, str(explained))


def test_a_submitted_job_starts_no_ray_of_its_own(monkeypatch):
    needs("ray")
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    with pytest.raises(InvalidArgumentError, match="give address='auto'"):
        ray_cluster.join_cluster("local", None)


@pytest.mark.parametrize("broken", [False, True])
def test_what_ray_keeps_private_may_be_missing(monkeypatch, broken):
    """Without an autoscaler, and without word of nodes that leave, tuning goes on."""
    asked = []

    def fake(name):
        if broken:
            raise ImportError(name)
        return SimpleNamespace(
            request_resources=lambda *, bundles: asked.append(bundles),
            state=SimpleNamespace(get_draining_nodes=lambda: {"n1": 5}),
        )

    monkeypatch.setattr(ray_cluster.importlib, "import_module", fake)
    cluster = Cluster(SimpleNamespace(), ours=False)
    cluster.request([Share(gpus=1).bundle] * 2)
    cluster.request([])
    assert asked == ([] if broken else [[{"CPU": 1, "GPU": 1}] * 2, []])
    assert cluster.draining() == (frozenset() if broken else {"n1"})

"""Workers on a Ray cluster.

Ray places workers and watches their nodes; reports go by rungwise's own sockets, straight from the
worker to the tuner. The study file stays with the tuner, and so do all decisions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rungwise.backends.base import PreparedBackend, Workplace, workers_option
from rungwise.backends.processes import Watchdog
from rungwise.backends.ray_check import check_nodes
from rungwise.backends.ray_cluster import (
    Cluster,
    Share,
    check_fits,
    count_workers,
    is_joined_elsewhere,
    join_cluster,
    load_ray,
    this_machine,
)
from rungwise.backends.ray_launcher import RayLauncher
from rungwise.backends.shipping import check_function, pack
from rungwise.backends.workers import START_LIMIT, WorkerBackend
from rungwise.errors import InvalidArgumentError
from rungwise.options import (
    check_modules,
    check_not_negative,
    check_options,
    check_positive,
    make_count_check,
    option,
)
from rungwise.validation import real


def check_address(name: str, value: Any) -> str:
    """An address of a cluster that the tuner can be part of."""
    rule = "it must be 'local', 'auto' or 'HOST:PORT' of the cluster's head node"
    if not isinstance(value, str) or not value:
        raise InvalidArgumentError(name, value, rule)
    if "://" in value:
        rule = (
            "through Ray Client the tuner stays outside the cluster, where workers cannot reach "
            "it: run it inside, with `ray job submit -- python tune.py` and address='auto'"
        )
        raise InvalidArgumentError(name, value, rule)
    if value not in ("local", "auto") and not value.rpartition(":")[2].isdecimal():
        raise InvalidArgumentError(name, value, rule)
    return value


def check_resources(name: str, value: Any) -> dict[str, float]:
    """Amounts of resources that the cluster has besides CPU and GPU, by their names."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        rule = "it must be a mapping of names to amounts, such as {'tpu': 1}"
        raise InvalidArgumentError(name, value, rule)
    for key, option_name in (("CPU", "cpus_per_worker"), ("GPU", "gpus_per_worker")):
        if key in value:
            raise InvalidArgumentError(name, value, f"give {key} as {option_name}")
    return {key: real(f"{name}[{key!r}]", amount, at_least=0) for key, amount in value.items()}


def check_mapping(name: str, value: Any) -> dict[str, Any]:
    """A mapping, which Ray itself checks."""
    if not isinstance(value, Mapping):
        rule = "it must be a mapping, such as {'working_dir': '.'}"
        raise InvalidArgumentError(name, value, rule)
    return dict(value)


def check_flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise InvalidArgumentError(name, value, "it must be true or false")
    return value


@dataclass(frozen=True, slots=True)
class Ray:
    """Workers on a Ray cluster, or on a Ray of its own on this machine.

    Args:
        workers: number of configurations trained at the same time; "auto": as many as the nodes can
            hold.
        gpus_per_worker: GPUs for each worker; a fraction lets several workers share one GPU.
        cpus_per_worker: processors for each worker.
        resources: what else each worker takes of the cluster, by Ray's names for it.
        address: "local" starts Ray on this machine, "auto" joins the cluster that this machine is
            part of, "HOST:PORT" the one with that head node.
        nodes_per_worker: nodes that each worker takes.
        preload: modules that workers import before their first job.
        runtime_env: what workers need, as ray.init takes it.
        start_timeout: seconds after which a worker that has not started is reported.
        autoscale: whether the cluster starts nodes by itself when it is asked for them.

    Example:
        >>> Ray(workers=64, gpus_per_worker=1, address="auto").single().workers
        1
    """

    workers: int | Literal["auto"] = workers_option("as many as the nodes can hold")
    gpus_per_worker: float = option(
        0.0,
        text="GPUs for each worker; a fraction lets several workers share one GPU.",
        check=check_not_negative,
        kind=float,
    )
    cpus_per_worker: float = option(
        1.0, text="processors for each worker.", check=check_not_negative, kind=float
    )
    resources: Mapping[str, float] | None = option(
        None,
        text="what else each worker takes of the cluster, by Ray's names for it.",
        check=check_resources,
        flag=False,
    )
    address: str = option(
        "local",
        text='"local" starts Ray on this machine, "auto" joins the cluster that this machine is '
        'part of, "HOST:PORT" the one with that head node.',
        check=check_address,
    )
    nodes_per_worker: int = option(
        1, text="nodes that each worker takes.", check=make_count_check(1), kind=int
    )
    preload: Sequence[str] = option(
        (),
        text="modules that workers import before their first job.",
        check=check_modules,
        repeatable=True,
        metavar="MODULE",
    )
    runtime_env: Mapping[str, Any] | None = option(
        None,
        text="what workers need, as ray.init takes it.",
        check=check_mapping,
        flag=False,
    )
    start_timeout: float = option(
        START_LIMIT,
        text="seconds after which a worker that has not started is reported.",
        check=check_positive,
        kind=float,
    )
    autoscale: bool = option(
        False,
        text="whether the cluster starts nodes by itself when it is asked for them.",
        check=check_flag,
    )

    def __post_init__(self) -> None:
        check_options(self)
        gpus = self.gpus_per_worker
        if gpus > 1 and not gpus.is_integer():
            rule = (
                "it must be a whole number, or a fraction below 1 (several workers share one GPU)"
            )
            raise InvalidArgumentError("gpus_per_worker", gpus, rule)
        if self.workers == "auto" and not self.share.bundle:
            rule = "without any resource per worker it must be a number"
            raise InvalidArgumentError("workers", self.workers, rule)
        if self.workers == "auto" and self.autoscale:
            rule = "with autoscale=True it must be a number: for how many nodes are started"
            raise InvalidArgumentError("workers", self.workers, rule)

    @property
    def share(self) -> Share:
        """What one worker takes of the cluster."""
        return Share(
            self.cpus_per_worker, self.gpus_per_worker, self.resources, self.nodes_per_worker
        )

    def prepare(self, train: Any) -> PreparedBackend:
        """Refuse what the cluster can never give."""
        load_ray()
        check_function(train)
        function = pack(train)
        # A Ray of its own is started with the study: one that has ended needs none.
        fresh = self.address == "local" and not is_joined_elsewhere()
        nodes = this_machine() if fresh else self._join().nodes()
        if not self.autoscale:
            check_fits(nodes, self.share)
        auto = self.workers == "auto"
        number = max(1, count_workers(nodes, self.share)) if auto else int(self.workers)
        return PreparedBackend(number, partial(self._open, function, number))

    def _join(self) -> Cluster:
        return join_cluster(self.address, self.runtime_env)

    def single(self) -> Ray:
        """One worker, with what each of several had."""
        return replace(self, workers=1)

    def _open(self, function: bytes, number: int, workplace: Workplace) -> WorkerBackend:
        notices: list[str] = []
        cluster = self._join()
        try:
            checks = check_nodes(cluster, self.share, workplace.store, notices.append)
        except BaseException:
            cluster.disconnect()
            raise
        fixed = None if self.workers == "auto" else number

        def launcher(on_notice: Callable[[str], None]) -> RayLauncher:
            for text in notices:
                on_notice(text)
            # Workers end by themselves when the tuner is killed; this removes what was temporary.
            guard = None
            if workplace.temporary:
                grace = max(1.0, workplace.grace)
                guard = Watchdog((), workplace.temporary, on_notice, grace)
            close = guard.close if guard is not None else lambda: None
            return RayLauncher(
                cluster,
                self.share,
                fixed,
                function,
                checks,
                autoscale=self.autoscale,
                close=close,
            )

        return WorkerBackend(
            launcher,
            number,
            setup={
                "cwd": os.getcwd(),  # noqa: PTH109 - as text
                "path": [str(Path(place).absolute()) for place in sys.path],
                "preload": list(self.preload),
            },
            function=b"",  # Ray has it
            workplace=workplace,
            start_limit=self.start_timeout,
        )

"""Files in the formats of the public benchmarks."""

import bz2
import io
import json
import pickle
import tarfile
import time
from collections import OrderedDict

import numpy as np
import pytest

from rungwise.errors import TableError
from rungwise.lab.sources import convert, unpickling

DATASETS = ("cifar10-valid", "cifar10", "cifar100", "ImageNet16-120")
OPS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")


def refused(source, tmp_path, *words):
    """A source that is not converted: what is said, which has all these words."""
    with pytest.raises(TableError) as caught:
        convert(source, into=tmp_path / "out")
    for word in words:
        assert word in str(caught.value)
    assert not (tmp_path / "out").exists()  # nothing was written
    return str(caught.value)


# -- NATS-Bench --------------------------------------------------------------------------------


def arch_text(index):
    a, b, c, d, e, f = (OPS[index // 5**place % 5] for place in range(6))
    return f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"


def arch_result(index, seed, epochs=200, images=10_000):
    """A run in the benchmark's format; its figures can be computed by hand."""
    rng = np.random.default_rng([index, seed])
    counts = np.sort(rng.integers(images // 10, images, epochs))
    evals = {f"ori-test@{e}": float(c) * 100 / images for e, c in enumerate(counts)}
    return {
        "name": "x",
        "train_acc1es": dict.fromkeys(range(epochs), 50.0),
        "train_times": OrderedDict((e, 10.0 + index) for e in range(epochs)),
        "eval_acc1es": {"x-valid@0": 1.0, **evals},
        "eval_times": dict.fromkeys(evals, 1.0 + seed / 1000),
        "params": np.float64(0.1),
        "latency": [np.float64(0.01)],
        "seed": seed,
        "net_state_dict": None,
    }


def arch_record(index, seeds=(777, 888, 999), datasets=DATASETS, text=None):
    def part(names, epochs, own):
        return {
            "arch_index": index,
            "arch_str": arch_text(index) if text is None else text,
            "all_results": OrderedDict(
                (
                    (name, seed),
                    arch_result(index, seed, epochs, 6000 if name[0] == "I" else 10_000),
                )
                for name in names
                for seed in own
            ),
            "dataset_seed": {name: list(own) for name in names},
            "clear_net_done": True,
        }

    return OrderedDict([("12", part(datasets, 12, (111,))), ("200", part(datasets, 200, seeds))])


def pickled(value, protocol=4):
    return bz2.compress(pickle.dumps(value, protocol=protocol), 1)


def spend(_name, seconds):
    """Processor time, for a child process."""
    begin = time.process_time()
    while time.process_time() < begin + seconds:
        pass
    return seconds


def unpickle(name, content):
    """For a child process, which needs a function of a module."""
    return unpickling.load(io.BytesIO(content), name)


# -- PD1 ---------------------------------------------------------------------------------------


def pd1_run(lr, errors=(0.9, 0.5, 0.4), **more):
    """A run as a line of PD1."""
    points = 0 if errors is None else len(errors)
    return {
        "dataset": "translate_wmt",
        "model": "xformer_translate",
        "hps.batch_size": 64,
        "hps.activation_fn": None,
        "hps.lr_hparams.initial_value": lr,
        "hps.lr_hparams.power": 1.5,
        "hps.lr_hparams.decay_steps_factor": 0.25,
        "hps.opt_hparams.momentum": 0.01,
        "valid/error_rate": None if errors is None else list(errors),
        "valid/ce_loss": None if errors is None else [2.0] * points,
        "epoch": None if errors is None else list(range(points)),
        "global_step": None if errors is None else [100 * (p + 1) for p in range(points)],
        "eval_time": None if errors is None else [5.0] * points,
        "status": "done",
        "hparams": '{"a": 1}',
        **more,
    }


def json_lines(runs):
    return b"".join(json.dumps(run).encode() + b"\n" for run in runs)


PD1_NAMES = ("pd1_matched_phase1_results.jsonl.gz", "pd1_unmatched_phase1_results.jsonl.gz")


def tar_of(members, path, mode="w:gz"):
    with tarfile.open(path, mode) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


# -- LCBench -----------------------------------------------------------------------------------


def lcbench_config(number):
    return {
        "batch_size": 16 + number,
        "learning_rate": 0.01,
        "momentum": 0.5,
        "weight_decay": 0.05,
        "num_layers": 1 + number % 4,
        "max_units": 64 + number,
        "max_dropout": 0.25,
        "optimizer": "sgd",
        "cosine_annealing_T_max": 50,
    }


def lcbench_run(number, start=50.0, **log):
    """A run in LCBench's format: 52 entries, the accuracy grows by 0.5 per epoch."""
    return {
        "config": lcbench_config(number),
        "results": {
            "final_val_accuracy": 75.5,
            "final_test_accuracy": 70.0 + number % 30,
            "OpenML_task_id": 1234,
            "instances": 690,
        },
        "log": {
            "Train/val_accuracy": [start + 0.5 * epoch for epoch in range(52)],
            "Train/val_cross_entropy": [1.0] * 52,
            "Train/loss": [1.0] * 52,
            "time": [3.0 + 2.0 * epoch for epoch in range(52)],
            "epoch": list(range(52)),
            **log,
        },
    }

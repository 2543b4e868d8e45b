"""PD1: archives and files made in its format, with holes, extra fields, and ill will."""

import gzip
import io
import json
import tarfile

import numpy as np
import pytest
from source_stories import PD1_NAMES, json_lines, pd1_run, refused, tar_of

from rungwise.benchmarks import store
from rungwise.lab.sources import convert, pd1, streams

WMT = "pd1-wmt-xformer-64"


def load(folder, name=WMT):
    return store.read(folder, name)


def folder_of(folder, matched, unmatched=None, compress=gzip.compress):
    folder.mkdir()
    for name, runs in zip(PD1_NAMES, (matched, unmatched), strict=True):
        if runs is not None:
            kind = name if compress is gzip.compress else name.removesuffix(".gz")
            (folder / kind).write_bytes(compress(json_lines(runs)))
    return folder


# -- what is read ------------------------------------------------------------------------------


def test_curves_seconds_and_configurations(pd1_tar, tmp_path):
    source = pd1_tar([pd1_run(0.1)], [pd1_run(1.0, [0.8, 0.3, 0.25], eval_time=[1.0, 2.0, 3.0])])
    told = []
    names = convert(source, into=tmp_path / "out", on_progress=lambda *a: told.append(a))
    assert names == [WMT]
    benchmark = load(tmp_path / "out")
    assert (benchmark.goal, benchmark.rows, benchmark.resources, benchmark.seeds) == (
        "max",
        2,
        3,
        1,
    )
    np.testing.assert_allclose(benchmark.values(), [[0.1, 0.5, 0.6], [0.2, 0.7, 0.75]], atol=1e-7)
    np.testing.assert_allclose(benchmark.seconds(), [[5, 5, 5], [1, 2, 3]])
    np.testing.assert_allclose(benchmark.final(), [0.6, 0.75], atol=1e-7)
    assert benchmark.configs[1] == {
        "learning_rate": 1.0,
        "decay_power": 1.5,
        "decay_fraction": 0.25,
        "one_minus_momentum": 0.01,
    }
    assert benchmark.card.details["batch_size"] == 64
    assert benchmark.card.details["steps"] == 300
    assert benchmark.card.details["notes"] == []
    assert benchmark.card.details["surrogate"] == "1-nn"
    assert benchmark.card.checks["best_final"] == pytest.approx(0.75)
    assert told
    assert all(done <= total for done, total in told)


def test_the_space_is_the_papers():
    space = {entry["name"]: entry for entry in pd1.SPACE.to_json()["parameters"]}
    limits = {name: (entry["low"], entry["high"], entry["log"]) for name, entry in space.items()}
    assert limits == {
        "learning_rate": (1e-5, 10, True),
        "decay_power": (0.1, 2, False),
        "decay_fraction": (0.01, 0.99, False),
        "one_minus_momentum": (1e-3, 1, True),
    }


def test_every_task_gets_its_own_benchmark(pd1_tar, tmp_path):
    tasks = [
        ("translate_wmt", "xformer_translate", None, 64),
        ("imagenet", "resnet", None, 512),
        ("imagenet", "resnet", None, 256.0),  # as pandas writes it
        ("mnist", "max_pooling_cnn", "relu", 256),
        ("mnist", "max_pooling_cnn", "tanh", 256),
        ("uniref50", "transformer", None, 128),
    ]
    runs = [
        pd1_run(
            0.1 + number,
            **{"dataset": d, "model": m, "hps.activation_fn": a, "hps.batch_size": b},
        )
        for number, (d, m, a, b) in enumerate(tasks)
    ]
    assert convert(pd1_tar(runs, []), into=tmp_path / "out") == [
        "pd1-imagenet-resnet-256",
        "pd1-imagenet-resnet-512",
        "pd1-mnist-max-pooling-cnn-relu-256",
        "pd1-mnist-max-pooling-cnn-tanh-256",
        "pd1-uniref50-transformer-128",
        WMT,
    ]
    card = load(tmp_path / "out", "pd1-mnist-max-pooling-cnn-tanh-256").card
    assert card.details["task"] == "mnist_max_pooling_cnn_tanh_batch_size_256"
    assert load(tmp_path / "out").card.details["task"] == (
        "translate_wmt_xformer_translate_batch_size_64"
    )
    assert load(tmp_path / "out", "pd1-imagenet-resnet-512").configs[0]["learning_rate"] == 1.1


def test_holes_become_nan_and_are_counted(pd1_tar, tmp_path):
    runs = [
        pd1_run(0.1, [0.9, 0.5, 0.4, 0.3]),
        pd1_run(0.2, None, status="diverged"),
        pd1_run(0.3, [0.9, None, 0.8], status="diverged"),
        pd1_run(0.4, [], status="diverged"),
        pd1_run(0.5, [0.7] * 4, eval_time=None),
        pd1_run(0.6, [0.7] * 4, eval_time=[2.0, None, 4.0]),
        pd1_run(0.7, [float("nan"), 0.5, 0.5, 0.5]),
    ]
    convert(pd1_tar(runs, []), into=tmp_path / "out")
    benchmark = load(tmp_path / "out")
    nan = np.nan
    np.testing.assert_allclose(
        benchmark.values(),
        [
            [0.1, 0.5, 0.6, 0.7],
            [nan] * 4,
            [0.1, nan, 0.2, nan],
            [nan] * 4,
            [0.3] * 4,
            [0.3] * 4,
            [nan, 0.5, 0.5, 0.5],
        ],
        atol=1e-7,
    )
    # What is unknown takes what the row usually takes, else what the table does.
    np.testing.assert_allclose(benchmark.seconds()[4], [5] * 4)
    np.testing.assert_allclose(benchmark.seconds()[5], [2, 3, 4, 3])
    checks = benchmark.card.checks
    assert checks["runs_without_a_value"] == 2
    assert checks["runs_that_ended_early"] == 1
    assert checks["finished"] == 4
    assert checks["units_with_usual_seconds"] == 4 + 2
    assert np.isnan(benchmark.final()[2])


def test_configurations_outside_of_the_space_are_left_out_and_counted(pd1_tar, tmp_path):
    key = "hps.opt_hparams.momentum"
    runs = [
        pd1_run(0.1),
        pd1_run(11.0),
        pd1_run(9e-6),
        pd1_run(None),
        pd1_run(0.2, **{key: 0.0}),
        pd1_run("0.1"),
        pd1_run(0.3, **{key: 1.0}),
    ]
    convert(pd1_tar(runs, []), into=tmp_path / "out")
    benchmark = load(tmp_path / "out")
    assert [config["learning_rate"] for config in benchmark.configs] == [0.1, 0.3]
    assert benchmark.card.checks["runs_outside_the_space"] == 5
    assert "5 runs outside of the space" in benchmark.card.details["notes"][0]


def test_of_two_runs_of_a_configuration_the_longer_stays(pd1_tar, tmp_path):
    matched = [pd1_run(0.1, [0.9, 0.8]), pd1_run(0.2, [0.5, 0.5, 0.5])]
    unmatched = [pd1_run(0.1, [0.7, 0.6, 0.5]), pd1_run(0.2, [0.1, 0.1, 0.1])]
    convert(pd1_tar(matched, unmatched), into=tmp_path / "out")
    benchmark = load(tmp_path / "out")
    np.testing.assert_allclose(benchmark.values(), [[0.3, 0.4, 0.5], [0.5] * 3], atol=1e-7)
    assert benchmark.card.checks["runs_that_repeat_a_configuration"] == 2


def test_a_task_without_any_value_is_not_made(pd1_tar, tmp_path):
    runs = [pd1_run(0.1), pd1_run(0.1, None, dataset="lm1b", model="transformer")]
    assert convert(pd1_tar(runs, []), into=tmp_path / "out") == [WMT]


# -- the forms ---------------------------------------------------------------------------------


def test_every_form_gives_the_same(pd1_tar, tmp_path):
    matched = [pd1_run(0.1 * n) for n in range(1, 9)]
    unmatched = [pd1_run(0.05 * n, [0.5, 0.4, 0.3]) for n in range(1, 9)]
    packed = folder_of(tmp_path / "packed", matched, unmatched)
    plain = folder_of(tmp_path / "plain", matched, unmatched, compress=bytes)
    nested = tmp_path / "nested"
    nested.mkdir()
    folder_of(nested / "pd1", matched, unmatched)
    gz = pd1_tar(matched, unmatched)
    uncompressed = tmp_path / "pd1.tar"
    uncompressed.write_bytes(gzip.decompress(gz.read_bytes()))
    anything = tmp_path / "download"  # the name does not matter
    anything.write_bytes(gz.read_bytes())
    # A file of one half brings its other half.
    sources = [packed, plain, nested, gz, uncompressed, anything, packed / PD1_NAMES[1]]
    sums = set()
    for number, source in enumerate(sources):
        into = tmp_path / f"out{number}"
        assert convert(source, into=into) == [WMT]
        benchmark = load(into)
        assert benchmark.card.details["parts"] == ["matched", "unmatched"]
        sums.add(benchmark.card.sha256)
    assert len(sums) == 1


def test_one_half_is_converted_and_says_so(tmp_path):
    source = folder_of(tmp_path / "half", None, [pd1_run(0.1)])
    convert(source, into=tmp_path / "out")
    assert "only the unmatched results" in load(tmp_path / "out").card.details["notes"][0]


def test_a_file_of_another_name_is_converted_alone(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(json_lines([pd1_run(0.1), pd1_run(0.2)]) + b"\n  \n")
    assert convert(path, into=tmp_path / "out") == [WMT]
    assert load(tmp_path / "out").rows == 2


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_archive_is_refused(pd1_tar, tmp_path, part):
    rng = np.random.default_rng(0)
    runs = [pd1_run(lr, rng.random(50).tolist()) for lr in rng.uniform(1e-3, 1, 40)]
    path = pd1_tar(runs, runs)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    refused(path, tmp_path, "pd1.tar.gz")


def test_cut_and_altered_files_are_refused(tmp_path):
    folder = folder_of(tmp_path / "pd1", [pd1_run(0.1 + n / 100) for n in range(50)])
    path = folder / PD1_NAMES[0]
    content = path.read_bytes()
    for damage in (content[:-1], content[:-9], content[: len(content) // 2], content[:5]):
        path.write_bytes(damage)
        refused(folder, tmp_path, PD1_NAMES[0])
    path.write_bytes(gzip.compress(json_lines([pd1_run(0.1)])[:-20]))
    refused(folder, tmp_path, PD1_NAMES[0])


BROKEN = {
    "no object": b"[1, 2]",
    "no JSON": b"{'a': 1}",
    "no task": b"{}",
    "a number as a data set": json_lines([pd1_run(0.1, dataset=5)]),
    "a text as batch size": json_lines([pd1_run(0.1, **{"hps.batch_size": "64"})]),
    "a broken batch size": json_lines([pd1_run(0.1, **{"hps.batch_size": 64.5})]),
    "an activation of numbers": json_lines([pd1_run(0.1, **{"hps.activation_fn": 1})]),
    "texts as errors": json_lines([pd1_run(0.1, ["0.5", "0.4"])]),
    "an object as errors": json_lines([pd1_run(0.1, **{"valid/error_rate": {"0": 1}})]),
    "booleans as seconds": json_lines([pd1_run(0.1, eval_time=[True, False, True])]),
    "an integer of many digits": b'{"dataset": "a", "model": "b", "n": ' + b"9" * 10_000 + b"}",
    "deep nesting": b'{"dataset": ' + b"[" * 200_000,
    "no UTF-8": b'{"dataset": "\xff\xfe"}',
    "a name that is a path": json_lines([pd1_run(0.1, dataset="../../etc")]),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_lines_are_refused(tmp_path, what):
    folder = folder_of(tmp_path / "pd1", [pd1_run(0.5)])
    whole = json_lines([pd1_run(0.5)]) + BROKEN[what] + b"\n"
    (folder / PD1_NAMES[0]).write_bytes(gzip.compress(whole))
    refused(folder, tmp_path)


def test_the_line_is_told(tmp_path):
    folder = folder_of(tmp_path / "pd1", [pd1_run(0.1), pd1_run(0.2, ["x"])])
    refused(folder, tmp_path, f"{PD1_NAMES[0]}, line 2, valid/error_rate", "numbers and nulls")


def test_a_line_that_never_ends_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(pd1, "LARGEST_PIECE", 2**16)
    folder = folder_of(tmp_path / "pd1", [])
    bomb = gzip.compress(b'{"dataset": "' + b"a" * 2**24)
    assert len(bomb) < 2**16
    (folder / PD1_NAMES[0]).write_bytes(bomb)
    refused(folder, tmp_path, "line 1 must have at most 65,536 bytes")


def test_lines_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(pd1, "MOST_RUNS", 100)
    folder = folder_of(tmp_path / "pd1", [pd1_run(0.1)] * 100)
    refused(folder, tmp_path, "at most 100 lines")
    (folder / PD1_NAMES[0]).write_bytes(gzip.compress(b"{\n" + b"\n" * 1000))
    refused(folder, tmp_path)


def test_paths_that_lead_elsewhere_are_not_followed(tmp_path):
    content = gzip.compress(json_lines([pd1_run(0.1)]))
    names = [
        f"../{PD1_NAMES[0]}",
        f"pd1/../../{PD1_NAMES[0]}",
        f"/etc/{PD1_NAMES[0]}",
        f"pd1/deeper/{PD1_NAMES[0]}",
    ]
    path = tar_of([(name, content) for name in names], tmp_path / "pd1.tar.gz")
    refused(path, tmp_path, "without runs of PD1")
    assert sorted(child.name for child in tmp_path.iterdir()) == ["pd1.tar.gz"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_in_an_archive_are_refused(tmp_path, kind):
    path = tmp_path / "pd1.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo(f"pd1/{PD1_NAMES[0]}")
        info.type, info.linkname = kind, "/etc/passwd"
        tar.addfile(info)
    refused(path, tmp_path, "a suspicious archive", "as a plain file")


def test_a_file_that_is_there_twice_is_refused(pd1_tar, tmp_path):
    again = (PD1_NAMES[0], gzip.compress(json_lines([pd1_run(0.3)])))
    refused(pd1_tar([pd1_run(0.1)], [pd1_run(0.2)], [again]), tmp_path, "must be in it once")


def test_a_header_that_declares_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "LARGEST_PIECE", 2**16)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("x")
        info.pax_headers = {"comment": "a" * 2**22}
        tar.addfile(info)
    path = tmp_path / "pd1.tar.gz"
    path.write_bytes(file.getvalue())
    refused(path, tmp_path, "a header declares 4,19")


def test_another_archive_is_refused(tmp_path):
    refused(tar_of([("a.txt", b"a")], tmp_path / "a.tar.gz"), tmp_path, "without runs of PD1")
    refused(tar_of([], tmp_path / "b.tar.gz"), tmp_path, "b.tar.gz")


def test_tasks_of_one_name_are_refused(tmp_path):
    folder = folder_of(tmp_path / "pd1", [pd1_run(0.1), pd1_run(0.1, model="xformer")])
    refused(folder, tmp_path, "names of its 2 tasks must differ")


def test_extra_fields_do_not_matter(tmp_path):
    run = pd1_run(0.1, **{"hps.new": {"a": [1, {"b": None}]}, "test/error_rate": [None] * 3})
    text = json.dumps(run, indent=None).encode()
    folder = folder_of(tmp_path / "pd1", [])
    (folder / PD1_NAMES[0]).write_bytes(gzip.compress(text))  # and no end of line
    convert(folder, into=tmp_path / "out")
    assert load(tmp_path / "out").rows == 1

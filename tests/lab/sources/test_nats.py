"""NAS-Bench-201: the real sample, and files made in its format, whole and broken."""

import bz2
import os
import pickle
import shutil
import tracemalloc
from collections import OrderedDict

import numpy as np
import pytest
from source_stories import arch_record, arch_result, arch_text, pickled, refused, tar_of

from rungwise.benchmarks import store
from rungwise.errors import TableError
from rungwise.lab.sources import convert, nats

NAMES = ["nasbench201-cifar10", "nasbench201-cifar100", "nasbench201-imagenet16-120"]
ARRAYS = dict(zip(NAMES, ("cifar10", "cifar100", "imagenet16-120"), strict=True))


def load(folder, name=NAMES[0]):
    return store.read(folder, name)


# -- the real thing ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(shared, tmp_path_factory):
    into = tmp_path_factory.mktemp("real")
    source = shared / "nasbench201" / "NATS-tss-v1_0-3ffb9-simple"
    assert convert(source, into=into) == NAMES
    with np.load(shared / "nasbench201" / "curves200_3archs.npz") as arrays:
        return into, dict(arrays)


@pytest.mark.parametrize("name", NAMES)
def test_the_real_architectures_are_those_of_the_arrays(real, name):
    into, arrays = real
    benchmark = load(into, name)
    assert (benchmark.rows, benchmark.resources, benchmark.goal) == (3, 200, "max")
    assert list(benchmark.card.seeds) == arrays["seeds_200"].tolist()
    key = ARRAYS[name]
    for seed in range(3):
        # The arrays are single floats, and [architectures, seeds, epochs].
        accuracies = arrays[f"{key}/heldout_acc"][:, seed].astype(float) / 100
        np.testing.assert_allclose(benchmark.values(seed), accuracies, atol=1e-7)
        seconds = arrays[f"{key}/train_s"] + arrays[f"{key}/heldout_s"]
        epochs = np.broadcast_to(benchmark.seconds(seed)[:, None], (3, 200))
        np.testing.assert_allclose(epochs, seconds[:, seed], rtol=1e-6)
        np.testing.assert_array_equal(benchmark.final(seed), benchmark.values(seed)[:, -1])


def test_the_real_accuracies_are_exact(real):
    values = load(real[0]).values(0)
    assert values[0, -1] == 0.8562
    np.testing.assert_array_equal(values, np.rint(values * 10_000) / 10_000)


def test_the_real_configurations_are_those_of_the_arrays(real):
    into, arrays = real
    benchmark = load(into)
    coded = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
    for config, codes in zip(benchmark.configs, arrays["arch_ops"], strict=True):
        assert [config[edge] for edge in nats.EDGES] == [coded[code] for code in codes]
    assert benchmark.names[1].startswith("|nor_conv_3x3~0|+|nor_conv_3x3~0|avg_pool_3x3~1|")
    assert benchmark.configs[1]["edge_1_to_2"] == "avg_pool_3x3"
    assert benchmark.configs[1]["edge_0_to_3"] == "none"


def test_a_part_is_converted_and_says_so(real):
    card = load(real[0]).card
    assert card.details["architectures"] == 3
    assert "3 of 15,625 architectures" in card.details["notes"][0]
    assert card.checks["architectures_by_runs"] == {"1": 0, "2": 0, "3": 3}


def test_the_real_folder_is_found_in_the_one_around_it(real, shared, tmp_path):
    (found,) = (shared / "nasbench201").glob("NATS-*")
    around, into = tmp_path / "around", tmp_path / "into"
    shutil.copytree(found, around / found.name)
    assert convert(around, into=into) == NAMES
    assert load(into).card.sha256 == load(real[0]).card.sha256


# -- the two forms -----------------------------------------------------------------------------


def test_folder_and_tar_give_the_same(nats_folder, tmp_path):
    records = {index: arch_record(index) for index in (0, 7, 15_624)}
    folder = nats_folder(records)
    members = [(f"{folder.name}/{path.name}", path.read_bytes()) for path in folder.iterdir()]
    told = []
    sums = set()
    for number, source in enumerate([folder, tar_of(members, tmp_path / "x.tar", "w")]):
        into = tmp_path / f"out{number}"
        assert convert(source, into=into, on_progress=lambda *a: told.append(a)) == NAMES
        sums.add(tuple(load(into, name).card.sha256 for name in NAMES))
        assert all(done <= total for done, total in told), told
        assert told
        told.clear()
    assert len(sums) == 1
    assert load(into).names == tuple(arch_text(index) for index in (0, 7, 15_624))
    expected = list(arch_result(7, 888)["eval_acc1es"].values())[1:]
    np.testing.assert_allclose(load(into).values(1)[1], np.array(expected) / 100, atol=1e-9)
    assert load(into).seconds(1)[1] == pytest.approx(10 + 7 + 1.888, rel=1e-6)


def test_two_processes_read_the_same(nats_folder, tmp_path, fresh_processes):
    folder = nats_folder({index: arch_record(index) for index in range(12)})
    one, two = tmp_path / "one", tmp_path / "two"
    told = []
    convert(folder, into=one)
    convert(folder, into=two, workers=2, on_progress=lambda *a: told.append(a))
    assert load(one).card.sha256 == load(two).card.sha256
    assert told == [(n, 12) for n in range(1, 13)]
    members = sorted((path.name, path.read_bytes()) for path in folder.iterdir())
    tar = tar_of(members, tmp_path / "x.tar", "w")
    assert convert(tar, into=tmp_path / "three", workers=2) == NAMES
    assert load(tmp_path / "three").card.sha256 == load(one).card.sha256


def test_an_error_in_another_process_is_told(nats_folder, tmp_path):
    folder = nats_folder({index: arch_record(index) for index in range(4)})
    (folder / "000002.pickle.pbz2").write_bytes(b"BZh9 not really")
    with pytest.raises(TableError, match=r"000002\.pickle\.pbz2 is damaged"):
        convert(folder, into=tmp_path / "out", workers=2)


def test_the_reader_stays_small(nats_folder):
    """One architecture at a time: what is kept of each has 14 kB, what is read 0.6 MB."""
    folder = nats_folder({index: arch_record(index) for index in range(40)})
    tracemalloc.start()
    try:
        found = list(nats.read_folder(folder))
        assert tracemalloc.get_traced_memory()[1] < 40 * 30e3 + 1e6
    finally:
        tracemalloc.stop()
    assert len(found) == 40


# -- holes -------------------------------------------------------------------------------------


def test_missing_seeds_are_the_mean_of_the_others(nats_folder, tmp_path):
    records = {
        0: arch_record(0),
        1: arch_record(1, seeds=(777, 999)),
        2: arch_record(2, seeds=(888,)),
    }
    convert(nats_folder(records), into=tmp_path / "out")
    for name, images in zip(NAMES, (10_000, 10_000, 6_000), strict=True):
        benchmark = load(tmp_path / "out", name)

        def curve(index, seed, images=images):
            found = arch_result(index, seed, images=images)["eval_acc1es"]
            return np.array([found[f"ori-test@{e}"] for e in range(200)]) / 100

        half = (curve(1, 777) + curve(1, 999)) / 2
        np.testing.assert_allclose(benchmark.values(1)[1], half, atol=1e-9)
        np.testing.assert_allclose(benchmark.values(0)[1], curve(1, 777), atol=1e-9)
        for seed in range(3):
            np.testing.assert_allclose(benchmark.values(seed)[2], curve(2, 888), atol=1e-9)
        assert benchmark.seconds(1)[1] == pytest.approx(11 + 1 + (0.777 + 0.999) / 2, rel=1e-6)
        assert benchmark.card.checks["runs_imputed"] == 3
        assert benchmark.card.checks["architectures_by_runs"] == {"1": 1, "2": 1, "3": 1}
        assert any("3 missing seeds" in note for note in benchmark.card.details["notes"])


def test_a_run_with_a_missing_epoch_or_without_a_result_is_a_missing_one(nats_folder, tmp_path):
    record = arch_record(3)
    results = record["200"]["all_results"]
    del results["cifar10", 777]["eval_acc1es"]["ori-test@150"]
    del results["cifar100", 888]["train_times"][199]
    results["ImageNet16-120", 999]["eval_acc1es"]["ori-test@0"] = float("nan")
    convert(nats_folder({3: record}), into=tmp_path / "out")
    for name, seed in zip(NAMES, range(3), strict=True):
        benchmark = load(tmp_path / "out", name)
        assert benchmark.card.checks["runs_imputed"] == 1
        others = [benchmark.values(s)[0] for s in range(3) if s != seed]
        np.testing.assert_allclose(benchmark.values(seed)[0], np.mean(others, axis=0), atol=1e-9)


def test_an_architecture_without_a_data_set_is_left_out_of_it(nats_folder, tmp_path):
    records = {0: arch_record(0, datasets=("cifar10",)), 1: arch_record(1)}
    assert convert(nats_folder(records), into=tmp_path / "out") == NAMES
    assert load(tmp_path / "out", NAMES[0]).rows == 2
    assert load(tmp_path / "out", NAMES[1]).names == (arch_text(1),)


def test_a_data_set_that_no_one_has_is_not_made(nats_folder, tmp_path):
    folder = nats_folder({0: arch_record(0, datasets=("cifar100", "cifar10-valid"))})
    assert convert(folder, into=tmp_path / "out") == [NAMES[1]]


def test_times_that_differ_by_epoch_are_kept(nats_folder, tmp_path):
    record = arch_record(0)
    for result in record["200"]["all_results"].values():
        result["train_times"] = {epoch: float(epoch) for epoch in range(200)}
    convert(nats_folder({0: record}), into=tmp_path / "out")
    seconds = load(tmp_path / "out").seconds(0)
    np.testing.assert_allclose(seconds[0], np.arange(200) + 1.777, rtol=1e-6)


def test_accuracies_that_are_no_counts_are_kept_as_floats(nats_folder, tmp_path):
    record = arch_record(0)
    for result in record["200"]["all_results"].values():
        result["eval_acc1es"] = {f"ori-test@{e}": 10 + e / 7 for e in range(200)}
    convert(nats_folder({0: record}), into=tmp_path / "out")
    benchmark = load(tmp_path / "out")
    np.testing.assert_allclose(benchmark.values(0)[0], (10 + np.arange(200) / 7) / 100, rtol=1e-6)


# -- refusals ----------------------------------------------------------------------------------


def test_a_hostile_file_is_refused_by_name(nats_folder, tmp_path):
    class Command:
        def __reduce__(self):
            return os.system, (f"touch '{tmp_path / 'was here'}'",)

    record = arch_record(1)
    record["200"]["all_results"]["cifar10", 777]["net_state_dict"] = Command()
    folder = nats_folder({0: arch_record(0), 1: record})
    refused(folder, tmp_path, "000001.pickle.pbz2", f"{os.system.__module__}.system")
    assert not (tmp_path / "was here").exists()


USE_INSTEAD = "give the folder NATS-tss-v1_0-3ffb9-simple or its tar file"


def test_the_single_file_is_refused_with_what_to_use(nats_folder, tmp_path):
    around = tmp_path / "around"
    around.mkdir()
    path = around / "NATS-tss-v1_0-3ffb9.pickle.pbz2"
    path.write_bytes(pickled({"arch2infos": {0: arch_record(0)}}))
    refused(path, tmp_path, "3ffb9.pickle.pbz2 is all of NAS-Bench-201 in one pickle", USE_INSTEAD)
    refused(around, tmp_path, "3ffb9.pickle.pbz2", USE_INSTEAD)
    nats_folder({0: arch_record(0)}, name="around/NATS-tss-v1_0-3ffb9-simple")
    assert convert(around, into=tmp_path / "fine") == NAMES


@pytest.mark.parametrize("end", [0, 10, 1000, -100, -1])
def test_cut_files_are_refused(nats_folder, tmp_path, end):
    folder = nats_folder({0: arch_record(0)})
    path = folder / "000000.pickle.pbz2"
    content = path.read_bytes()
    path.write_bytes(content[:end])
    refused(folder, tmp_path, "000000.pickle.pbz2 is")
    members = [("x/000000.pickle.pbz2", content[:end])]
    refused(tar_of(members, tmp_path / "x.tar", "w"), tmp_path, "x.tar: x/000000.pickle.pbz2 is")


def test_a_cut_tar_is_refused(nats_folder, tmp_path):
    folder = nats_folder({0: arch_record(0), 1: arch_record(1)})
    members = sorted((f"x/{path.name}", path.read_bytes()) for path in folder.iterdir())
    path = tar_of(members, tmp_path / "x.tar", "w")
    path.write_bytes(path.read_bytes()[:4000])
    refused(path, tmp_path, "x.tar")


def test_a_tar_of_something_else_is_refused(tmp_path):
    refused(tar_of([("a.txt", b"a")], tmp_path / "x.tar", "w"), tmp_path, "must hold architectures")


def test_results_that_are_no_pickle_are_refused(tmp_path):
    path = tmp_path / "x.bz2"
    path.write_bytes(bz2.compress(b"hello"))
    refused(path, tmp_path, "in an unknown format")


def changed(change, index=0):
    record = arch_record(index)
    change(record)
    return record


def first(record):
    return record["200"]["all_results"]["cifar10", 777]


BROKEN = {
    "an accuracy of 101": lambda r: first(r)["eval_acc1es"].update({"ori-test@3": 101.0}),
    "a text as accuracy": lambda r: first(r)["eval_acc1es"].update({"ori-test@3": "9"}),
    "a negative time": lambda r: first(r)["train_times"].update({5: -1.0}),
    "an infinite time": lambda r: first(r)["train_times"].update({5: float("inf")}),
    "no curves": lambda r: first(r).update(eval_acc1es=None),
    "a curve as a list of lists": lambda r: first(r).update(train_times=[[1]] * 200),
    "results as a list": lambda r: r["200"].update(all_results=[1]),
    "another index": lambda r: r["200"].update(arch_index=5),
    "an index too large": lambda r: r["200"].update(arch_index=15_625),
    "an index that is true": lambda r: r["200"].update(arch_index=True),
    "an index of many digits": lambda r: r["200"].update(arch_index=10**5000),
    "no text": lambda r: r["200"].update(arch_str=None),
    "another text": lambda r: r["200"].update(arch_str="|conv_7x7~0|"),
    "no 200 epochs": lambda r: r.pop("200"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_records_are_refused(nats_folder, tmp_path, what):
    refused(nats_folder({0: changed(BROKEN[what])}), tmp_path, "000000.pickle.pbz2")


def test_a_file_under_the_name_of_another_architecture_is_refused(nats_folder, tmp_path):
    record = changed(BROKEN["another index"])
    found = "000000.pickle.pbz2 is a file that holds architecture 5"
    refused(nats_folder({0: record}), tmp_path, found, "its file name says 0")


def test_the_size_search_space_is_refused(nats_folder, tmp_path):
    record = OrderedDict([("90", arch_record(0)["200"])])
    refused(nats_folder({0: record}), tmp_path, "results of '200' epochs")


def test_one_architecture_is_no_benchmark(nats_folder, tmp_path):
    folder = nats_folder({0: arch_record(0)})
    refused(folder / "000000.pickle.pbz2", tmp_path, "give the folder")


def test_an_architecture_that_is_there_twice_is_refused(nats_folder, tmp_path):
    content = pickled(arch_record(4))
    members = [("a/000004.pickle.pbz2", content), ("b/000004.pickle.pbz2", content)]
    refused(
        tar_of(members, tmp_path / "x.tar", "w"),
        tmp_path,
        "architecture 4 occurs twice",
        "each may occur only once",
    )


def test_architectures_of_one_text_are_refused(nats_folder, tmp_path):
    records = {index: arch_record(index, text=arch_text(max(index, 2))) for index in (0, 1, 2, 3)}
    found = "architectures 0 and 1 have the same operations"
    refused(nats_folder(records), tmp_path, "NATS-tss-v1_0-3ffb9-simple is a source", found)


def test_a_bomb_is_refused(nats_folder, tmp_path):
    folder = nats_folder({0: arch_record(0)})
    bomb = (
        pickle.dumps({"200": {"all_results": {}}})[:-1]
        + 20 * (b"B\x00\x00\x10\x00" + bytes(2**20) + b"0")
        + b"."
    )
    (folder / "000001.pickle.pbz2").write_bytes(bz2.compress(bomb))
    refused(folder, tmp_path, "000001.pickle.pbz2", "more than 8,388,608 bytes")

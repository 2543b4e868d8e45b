"""``rungwise benchmark convert`` and ``fetch``, as a person calls them."""

import functools
import http.server
import json
import threading
import zipfile
from dataclasses import replace

import pytest
from source_stories import arch_record, lcbench_run, pd1_run, tar_of
from typer import Typer
from typer.testing import CliRunner

from rungwise.benchmarks import catalog
from rungwise.cli import benchmark_get
from rungwise.errors import InvalidArgumentError, TableError
from rungwise.lab import sources
from rungwise.lab.sources import KNOWN, convert, download

app = Typer()
app.command()(benchmark_get.convert)
app.command()(benchmark_get.fetch)


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    folder = tmp_path / "the data"
    monkeypatch.setenv(catalog.VARIABLE, str(folder))
    return folder


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_convert_says_what_was_made_and_what_comes_next(nats_folder, data):
    said = run("convert", nats_folder({0: arch_record(0), 1: arch_record(1)})).stdout
    assert "nasbench201-imagenet16-120" in said
    assert "2 × 200 × 3" in said
    assert "Note (all): 2 of 15,625 architectures" in said
    assert said.rstrip().endswith("Next: rungwise benchmark info nasbench201-cifar10")
    assert catalog.load("nasbench201-cifar10").rows == 2
    assert data.is_dir()


def test_convert_into_another_folder(pd1_tar, tmp_path, data):
    other = tmp_path / "other one"
    said = run("convert", pd1_tar([pd1_run(0.1)], []), "--into", other).stdout
    assert f"Next: RUNGWISE_DATA='{other}' rungwise benchmark info pd1-wmt-xformer-64" in said
    assert (other / "pd1-wmt-xformer-64.npz").is_file()
    assert not data.exists()


def test_a_note_of_some_benchmarks_names_them(pd1_tar):
    runs = [pd1_run(0.1), pd1_run(99.0), pd1_run(0.1, dataset="lm1b", model="transformer")]
    said = run("convert", pd1_tar(runs, [])).stdout
    assert "Note (pd1-wmt-xformer-64): 1 runs outside of the space are left out." in said


def test_a_strange_source_is_refused(tmp_path):
    strange = tmp_path / "strange.txt"
    strange.write_text("hello")
    error = run("convert", strange, code=1).exception
    assert isinstance(error, TableError)
    for known in ("NATS-tss-v1_0-3ffb9-simple", "pd1.tar.gz", "data_2k_lw.json"):
        assert known in str(error)


@pytest.mark.parametrize("what", ["missing", "empty folder", "empty file", "folder of others"])
def test_nothing_to_convert(tmp_path, what):
    path = tmp_path / "source"
    if what == "empty file":
        path.touch()
    elif what != "missing":
        path.mkdir()
    if what == "folder of others":
        (path / "a.json").write_text("{}")
        (path / "b").mkdir()
    assert isinstance(run("convert", path, code=1).exception, TableError)


def test_a_folder_of_several_sources(tmp_path, nats_folder, pd1_tar):
    nats_folder({0: arch_record(0)})
    pd1_tar([pd1_run(0.1)], [])
    assert sorted(convert(tmp_path)) == [
        "nasbench201-cifar10",
        "nasbench201-cifar100",
        "nasbench201-imagenet16-120",
        "pd1-wmt-xformer-64",
    ]


def test_the_original_is_preferred_to_its_arrays(tmp_path):
    (tmp_path / "data_2k.json").write_text(json.dumps({"adult": {"0": lcbench_run(0)}}))
    (tmp_path / "lcbench_val_cross_entropy_curves.npz").write_bytes(b"")
    assert convert(tmp_path) == ["lcbench-adult"]
    assert catalog.load("lcbench-adult").goal == "max"


def test_a_folder_that_cannot_be_written_to(tmp_path, pd1_tar):
    (tmp_path / "file").touch()
    with pytest.raises(TableError, match="not writable"):
        convert(pd1_tar([pd1_run(0.1)], []), into=tmp_path / "file" / "below")


def test_workers_are_counted_from_one(tmp_path):
    with pytest.raises(InvalidArgumentError, match="workers"):
        convert(tmp_path, workers=0)


def test_what_is_replaced_is_told(nats_folder, data):
    run("convert", nats_folder({0: arch_record(0), 1: arch_record(1)}, "two"))
    one = nats_folder({0: arch_record(0)}, "one")
    said = run("convert", one).stdout
    assert "Replaced: nasbench201-cifar10 was 2 × 200 × 3, accuracy (ori-test)." in said
    assert said.count("Replaced") == 3
    assert "Replaced" not in run("convert", one).stdout  # the same again


def test_another_metric_is_a_replacement(tmp_path, data):
    path = tmp_path / "data_2k.json"
    path.write_text(json.dumps({"adult": {"0": lcbench_run(0)}}))
    run("convert", path)
    card = json.loads((data / "lcbench-adult.json").read_text())
    (data / "lcbench-adult.json").write_text(json.dumps({**card, "metric": "cross-entropy"}))
    assert "Replaced: lcbench-adult was 1 × 50 × 1, cross-entropy." in run("convert", path).stdout


@pytest.mark.parametrize("card", ["", "{}", "[" * 100_000, "\x00"])
def test_a_damaged_card_is_replaced(pd1_tar, data, card):
    data.mkdir()
    (data / "pd1-wmt-xformer-64.json").write_text(card)
    (data / "no benchmark.json").write_text(card)
    said = run("convert", pd1_tar([pd1_run(0.1)], [])).stdout
    assert "Replaced: pd1-wmt-xformer-64, whose card could not be read." in said
    assert catalog.load("pd1-wmt-xformer-64").rows == 1


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_an_interrupted_conversion_says_so(pd1_tar, monkeypatch):
    monkeypatch.setattr(sources, "convert", interrupt)
    done = run("convert", pd1_tar([pd1_run(0.1)], []), code=130)
    told = (
        "rungwise: interrupted; files that were written are complete; "
        "run the command again for the rest\n"
    )
    assert (done.stdout, done.stderr) == ("", told)


# -- fetch -------------------------------------------------------------------------------------


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def public(tmp_path, monkeypatch):
    """A server with our own files under the names of the public ones."""
    folder = tmp_path / "public"
    folder.mkdir()
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        place = f"http://127.0.0.1:{server.server_port}"
        ours = tuple(
            replace(one, address=f"{place}/{one.file}", size=None, checksum=None) for one in KNOWN
        )
        monkeypatch.setattr(download, "KNOWN", ours)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield folder
        server.shutdown()
        thread.join()


def test_fetch_downloads_and_converts(public, data, pd1_tar):
    pd1_tar([pd1_run(0.1)], [pd1_run(0.2)]).replace(public / "pd1.tar.gz")
    said = run("fetch", "pd1").stdout
    assert "pd1.tar.gz is complete and was checked." in said
    assert "Next: rungwise benchmark info pd1-wmt-xformer-64" in said
    assert (data / "downloads" / "pd1.tar.gz.sha256").is_file()
    # The folder of downloads does not look like a benchmark.
    assert [place.name for place in catalog.places() if not place.packaged] == [
        "pd1-wmt-xformer-64"
    ]


def test_fetch_takes_the_name_of_a_benchmark(public, tmp_path, nats_folder):
    folder = nats_folder({0: arch_record(0)})
    members = [(f"{folder.name}/{path.name}", path.read_bytes()) for path in folder.iterdir()]
    tar_of(members, public / "NATS-tss-v1_0-3ffb9-simple.tar", "w")
    downloads = tmp_path / "downloads"
    run("fetch", "nasbench201-cifar10", "--downloads", downloads)
    assert catalog.load("nasbench201-cifar10").rows == 1
    assert (downloads / "NATS-tss-v1_0-3ffb9-simple.tar").is_file()


def test_fetch_of_a_missing_file_says_what_to_do_by_hand(public, data):
    error = run("fetch", "lcbench", code=1).exception
    assert "404" in str(error)
    assert "rungwise benchmark convert" in str(error)
    assert "the data/downloads/data_2k_lw.zip'" in str(error)  # quoted for a shell
    assert "https://figshare.com/projects/LCBench/74151" in str(error)


def test_fetch_of_an_unknown_name():
    error = run("fetch", "imagenet", code=1).exception
    assert isinstance(error, InvalidArgumentError)
    assert "nasbench201, pd1, lcbench" in str(error)


def test_a_fetched_file_that_is_no_benchmark_is_refused(public):
    (public / "data_2k_lw.zip").write_bytes(b"PK\x03\x04 and then nothing")
    assert isinstance(run("fetch", "lcbench", code=1).exception, TableError)


def test_an_interrupted_download_says_that_it_goes_on(monkeypatch):
    monkeypatch.setattr(sources, "fetch", interrupt)
    done = run("fetch", "pd1", code=130)
    told = "rungwise: interrupted; what was downloaded is kept; run the command again to continue\n"
    assert (done.stdout, done.stderr) == ("", told)


def test_a_data_folder_that_cannot_be_is_told_before_the_network(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(catalog.VARIABLE, str(tmp_path / "file"))
    monkeypatch.setattr("urllib.request.urlopen", interrupt)
    error = run("fetch", "pd1", code=1).exception
    assert isinstance(error, InvalidArgumentError)
    assert "--downloads or RUNGWISE_DATA names another" in str(error)


def test_an_lcbench_run_is_found(public, tmp_path):

    with zipfile.ZipFile(public / "data_2k_lw.zip", "w") as archive:
        archive.writestr("data_2k_lw.json", json.dumps({"adult": {"0": lcbench_run(0)}}))
    assert "lcbench-adult" in run("fetch", "lcbench").stdout

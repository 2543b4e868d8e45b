"""Downloads, from a real server on this machine that supports ranges, and misbehaves."""

import hashlib
import http.server
import socket
import threading
from dataclasses import replace

import pytest

from rungwise.benchmarks import catalog
from rungwise.errors import InvalidArgumentError, RungwiseError
from rungwise.lab.sources import KNOWN, FetchError, Known, fetch
from rungwise.lab.sources.download import known
from rungwise.locking import FileLock

CONTENT = bytes(range(256)) * 40_000  # ten megabytes
SHA = hashlib.sha256(CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT).hexdigest()  # noqa: S324 - as published


class Server(http.server.ThreadingHTTPServer):
    """What it serves, and how it misbehaves."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.tag = '"one"'
        self.modified = None
        self.ranges = True  # whether it knows about them
        self.cuts = []  # after so many bytes of an answer it hangs up
        self.codes = []  # what it answers instead
        self.kind = "application/octet-stream"
        self.length = True  # whether it tells it
        self.seen = []  # the Range of each request
        self.shift = 0  # by so much its parts begin too late

    def handle_error(self, request, client_address):
        pass  # who hangs up early has seen enough

    def address(self):
        return f"http://127.0.0.1:{self.server_port}/file"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.seen.append(asked)
        if server.codes:
            code = server.codes.pop(0)
            if code:
                self.send_error(code)
                return
        begin = 0
        same = self.headers.get("If-Range") in (server.tag, server.modified)
        if asked and server.ranges and same:
            begin = int(asked.removeprefix("bytes=").removesuffix("-")) + server.shift
            if begin >= len(server.content):
                self.send_error(416)
                return
            self.send_response(206)
            total = len(server.content)
            self.send_header("Content-Range", f"bytes {begin}-{total - 1}/{total}")
        else:
            self.send_response(200)
        part = server.content[begin:]
        self.send_header("Content-Type", server.kind)
        if server.length:
            self.send_header("Content-Length", str(len(part)))
        for name, value in (("ETag", server.tag), ("Last-Modified", server.modified)):
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(part[: server.cuts.pop(0)] if server.cuts else part)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def entry(server):
    return Known(
        name="toy",
        title="A toy",
        size_note="10 MB",
        how="fetched",
        address=server.address(),
        page="http://127.0.0.1/about",
        file="toy.bin",
    )


def get(entry, tmp_path, **options):
    return fetch(entry, into=tmp_path, pause=0, **options)


def files(tmp_path):
    return sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".lock")


def failed(entry, tmp_path, *words, **options):
    with pytest.raises(FetchError) as caught:
        get(entry, tmp_path, **options)
    for word in words:
        assert word in str(caught.value)
    return str(caught.value)


# -- good days ---------------------------------------------------------------------------------


def test_a_file_is_downloaded_and_its_sum_noted(server, entry, tmp_path):
    told = []
    path = get(entry, tmp_path / "new" / "folder", on_progress=lambda *a: told.append(a))
    assert path == tmp_path / "new" / "folder" / "toy.bin"
    assert path.read_bytes() == CONTENT
    assert (path.parent / "toy.bin.sha256").read_text() == f"{SHA}  toy.bin\n"
    assert files(path.parent) == ["toy.bin", "toy.bin.sha256"]
    assert told[-1] == (9, 9)
    assert server.seen == [None]


def test_what_is_there_is_not_downloaded_again(server, entry, tmp_path):
    get(entry, tmp_path)
    assert get(entry, tmp_path).read_bytes() == CONTENT
    assert len(server.seen) == 1


def test_a_file_put_there_by_hand_is_taken(server, entry, tmp_path):
    (tmp_path / "toy.bin").write_bytes(CONTENT)
    get(replace(entry, checksum=f"md5:{MD5}"), tmp_path)
    assert server.seen == []
    assert "toy.bin.sha256" in files(tmp_path)


@pytest.mark.parametrize("algorithm", [f"md5:{MD5}", f"sha256:{SHA}"])
def test_a_published_sum_is_checked(entry, tmp_path, algorithm):
    path = get(replace(entry, checksum=algorithm, size=len(CONTENT)), tmp_path)
    assert path.read_bytes() == CONTENT


def test_a_server_that_tells_no_length(server, entry, tmp_path):
    server.length = False
    assert get(entry, tmp_path).read_bytes() == CONTENT


# -- interruptions -----------------------------------------------------------------------------


def test_an_interrupted_download_goes_on_where_it_ended(server, entry, tmp_path):
    server.cuts = [3_000_000, 1_000_000]
    assert get(entry, tmp_path).read_bytes() == CONTENT
    assert server.seen == [None, "bytes=3000000-", "bytes=4000000-"]
    assert files(tmp_path) == ["toy.bin", "toy.bin.sha256"]


def test_it_goes_on_in_a_later_attempt(server, entry, tmp_path):
    server.cuts = [3_000_000] + [0] * 3
    said = failed(entry, tmp_path, "3,000,000 of 10,240,000 bytes arrived", attempts=3)
    assert "3,000,000 bytes are kept" in said
    assert files(tmp_path) == ["toy.bin.part", "toy.bin.part.json"]
    assert get(entry, tmp_path).read_bytes() == CONTENT
    assert server.seen[-1] == "bytes=3000000-"


def test_attempts_are_counted_while_nothing_comes(server, entry, tmp_path):
    server.cuts = [100, 0, 0, 100, 0, 0, 100]
    assert get(entry, tmp_path, attempts=3).read_bytes() == CONTENT


def test_another_file_on_the_server_is_begun_anew(server, entry, tmp_path):
    server.cuts = [3_000_000, 0]
    failed(entry, tmp_path, attempts=1)
    server.content, server.tag = b"other" * 10, '"two"'
    assert get(entry, tmp_path).read_bytes() == b"other" * 10


def test_a_date_serves_where_there_is_no_strong_tag(server, entry, tmp_path):
    server.tag, server.modified = 'W/"weak"', "Mon, 02 Nov 2026 10:00:00 GMT"
    server.cuts = [3_000_000]
    assert get(entry, tmp_path).read_bytes() == CONTENT
    assert server.seen == [None, "bytes=3000000-"]


def test_without_either_a_download_begins_anew(server, entry, tmp_path):
    server.tag = None
    server.cuts = [3_000_000]
    assert get(entry, tmp_path).read_bytes() == CONTENT
    assert server.seen == [None, None]


def test_a_server_without_ranges_is_asked_for_all(server, entry, tmp_path):
    server.ranges = False
    server.cuts = [3_000_000]
    assert get(entry, tmp_path).read_bytes() == CONTENT
    assert server.seen == [None, "bytes=3000000-"]


def test_a_part_of_another_address_is_not_used(server, entry, tmp_path):
    server.cuts = [3_000_000, 0]
    failed(entry, tmp_path, attempts=1)
    other = replace(entry, address=server.address() + "?other")
    assert get(other, tmp_path).read_bytes() == CONTENT
    assert server.seen[-1] is None


def test_a_part_that_is_longer_than_the_file_is_begun_anew(server, entry, tmp_path):
    server.cuts = [3_000_000, 0]
    failed(entry, tmp_path, attempts=1)
    (tmp_path / "toy.bin.part").write_bytes(CONTENT + b"more")
    assert get(entry, tmp_path).read_bytes() == CONTENT


def test_a_part_that_is_all_there_is_not_asked_for_again(server, entry, tmp_path):
    server.cuts = [3_000_000, 0]
    failed(entry, tmp_path, attempts=1)
    (tmp_path / "toy.bin.part").write_bytes(CONTENT)
    asked = len(server.seen)
    assert get(entry, tmp_path).read_bytes() == CONTENT
    assert len(server.seen) == asked


def test_a_server_that_answers_with_another_part_is_not_believed(server, entry, tmp_path):
    server.cuts = [3_000_000]
    server.shift = 7
    assert get(entry, tmp_path).read_bytes() == CONTENT
    assert server.seen == [None, "bytes=3000000-", None]


def test_a_broken_note_is_no_obstacle(server, entry, tmp_path):
    (tmp_path / "toy.bin.part").write_bytes(b"x")
    (tmp_path / "toy.bin.part.json").write_text("{")
    assert get(entry, tmp_path).read_bytes() == CONTENT


def test_a_server_in_trouble_is_asked_again(server, entry, tmp_path):
    server.codes = [503, 500]
    assert get(entry, tmp_path).read_bytes() == CONTENT
    assert len(server.seen) == 3


# -- failures ----------------------------------------------------------------------------------


def by_hand(said, entry, tmp_path):
    """The message says what to download, where to put it, and what to run."""
    assert entry.address in said
    assert entry.page in said
    assert "10 MB" in said
    assert said.endswith(f"rungwise benchmark convert {tmp_path / 'toy.bin'}")


def test_without_a_network_it_says_what_to_do_by_hand(entry, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = replace(entry, address=f"http://127.0.0.1:{free.getsockname()[1]}/file")
    said = failed(closed, tmp_path, "toy.bin could not be fetched", "refused", attempts=2)
    by_hand(said, closed, tmp_path)
    assert files(tmp_path) == []


def test_an_unknown_host(entry, tmp_path):
    lost = replace(entry, address="http://nowhere.invalid/file")
    # A name that nobody knows is asked for once: the next attempt would be made after an hour.
    with pytest.raises(FetchError) as caught:
        fetch(lost, into=tmp_path, attempts=3, pause=3600.0)
    by_hand(str(caught.value), lost, tmp_path)


@pytest.mark.parametrize("code", [403, 404, 410])
def test_a_refusal_is_not_repeated(server, entry, tmp_path, code):
    server.codes = [code]
    by_hand(failed(entry, tmp_path, f"answers {code}"), entry, tmp_path)
    assert len(server.seen) == 1


def test_a_web_page_is_no_file(server, entry, tmp_path):
    server.kind, server.content = "text/html; charset=utf-8", b"<html>Quota exceeded</html>"
    by_hand(failed(entry, tmp_path, "a web page instead of the file"), entry, tmp_path)
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"checksum": "md5:" + "0" * 32}, f"its md5 is {MD5}"),
        ({"checksum": "sha256:" + "0" * 64}, f"its sha256 is {SHA}"),
        ({"size": 5}, "it has 10,240,000 bytes, and 5 are expected"),
    ],
)
def test_a_wrong_file_is_put_aside(server, entry, tmp_path, changes, words):
    failed(replace(entry, **changes), tmp_path, words, "is kept as")
    assert "toy.bin.mismatch" in files(tmp_path)
    assert "toy.bin" not in files(tmp_path)
    assert "toy.bin.sha256" not in files(tmp_path)


def test_the_first_download_is_trusted_and_another_one_is_not(server, entry, tmp_path):
    get(entry, tmp_path).unlink()
    server.content, server.tag = b"altered", '"two"'
    failed(entry, tmp_path, f"{SHA} was noted before")
    assert (tmp_path / "toy.bin.sha256").read_text().startswith(SHA)


def test_a_file_that_was_altered_on_disk_is_refused(entry, tmp_path):
    path = get(entry, tmp_path)
    path.write_bytes(CONTENT[:-1])
    failed(entry, tmp_path, f"{SHA} was noted before")


def test_a_full_disk_is_told_before_the_download(server, entry, tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    failed(entry, tmp_path, "it needs 10,240,000 bytes more, and 1,000 are free")
    assert files(tmp_path) == []


def test_two_do_not_download_the_same_file(server, entry, tmp_path):
    lock = FileLock(tmp_path / "toy.bin.lock")
    assert lock.take()
    failed(entry, tmp_path, "process", "is downloading it")
    lock.release()
    assert server.seen == []
    assert get(entry, tmp_path).read_bytes() == CONTENT


def test_a_folder_that_cannot_be_made_is_told(server, entry, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgumentError) as caught:
        get(entry, tmp_path / "file" / "folder")
    for word in (str(tmp_path / "file" / "folder"), "cannot be written to", "--downloads"):
        assert word in str(caught.value)
    assert "by hand" not in str(caught.value)  # that would fail in the same way
    assert server.seen == []


# -- what is known -----------------------------------------------------------------------------


def test_the_public_benchmarks():
    assert [one.name for one in KNOWN] == ["nasbench201", "pd1", "lcbench"]
    for one in KNOWN:
        assert one.address.startswith("https://")
        assert one.page.startswith("https://")
        assert one.title
        assert one.size_note
        assert one.how
        algorithm, digits = one.checksum.split(":")
        assert len(digits) == 2 * hashlib.new(algorithm).digest_size
        assert "/" not in one.file


def test_a_benchmark_is_found_by_its_own_name_too():
    assert known("pd1").file == "pd1.tar.gz"
    assert known("pd1-wmt-xformer-64").name == "pd1"
    assert known("nasbench201-cifar100").name == "nasbench201"
    with pytest.raises(InvalidArgumentError, match="nasbench201, pd1, lcbench"):
        known("pd2")
    with pytest.raises(InvalidArgumentError):
        known("pd1x")


def test_downloads_go_into_the_data_folder(entry, tmp_path, monkeypatch):
    monkeypatch.setenv(catalog.VARIABLE, str(tmp_path / "data"))
    assert fetch(entry) == tmp_path / "data" / "downloads" / "toy.bin"


def test_a_failure_is_an_error_of_ours():
    assert issubclass(FetchError, RungwiseError)

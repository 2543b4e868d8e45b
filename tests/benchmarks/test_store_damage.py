"""Benchmarks on disk: what is damaged or forged is refused, and the file is named."""

import hashlib
import io
import json
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest

from rungwise.benchmarks import Benchmark, Card, json_arrays, npz, store
from rungwise.errors import TableError

NAN = float("nan")


def forge(folder, content=None, **fields):
    """Change a benchmark and its card, so that the checksum is right and the content is not."""
    path, card = folder / "tiny.npz", folder / "tiny.json"
    if content is not None:
        path.write_bytes(content)
    document = json.loads(card.read_text(encoding="utf-8"))
    document.update(fields, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    card.write_text(json.dumps(document), encoding="utf-8")


def refused(folder, told, name="tiny.npz"):
    with pytest.raises(TableError, match=told) as caught:
        store.read(folder, "tiny")
    assert str(folder / name) in str(caught.value)


@pytest.fixture
def tiny(tmp_path):
    store.write(
        tmp_path,
        Card(name="tiny"),
        values=[[[0.5, 0.25], [0.75, NAN]]],
        seconds=1.0,
        final=[[1, 2]],
        configs=[{"a": "x"}, {"a": "y"}],
        names=["one", "two"],
    )
    return tmp_path


def arrays_of(folder):
    return npz.unpack_arrays(folder / "tiny.npz", (folder / "tiny.npz").read_bytes())


def test_a_changed_byte_is_refused(tiny):
    path = tiny / "tiny.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    refused(tiny, "SHA-256 .*tiny.json says")


def test_a_truncated_file_is_refused(tiny):
    path = tiny / "tiny.npz"
    path.write_bytes(path.read_bytes()[:-20])
    refused(tiny, "SHA-256")
    for size in (0, 10, 200):
        forge(tiny, path.read_bytes()[:size])
        refused(tiny, "cannot be read")


@pytest.mark.parametrize("end", ["npz", "json"])
def test_a_missing_file_is_named(tiny, end):
    (tiny / f"tiny.{end}").unlink()
    refused(tiny, "is missing, but the file must exist", f"tiny.{end}")


def test_a_folder_in_place_of_a_file(tiny):
    (tiny / "tiny.npz").unlink()
    (tiny / "tiny.npz").mkdir()
    refused(tiny, "is unreadable")


def packed(member, content, method=zipfile.ZIP_DEFLATED):
    """A zip file with one member more than it should have, or another."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as forged:
        forged.writestr(member, content)
    return file.getvalue()


class Boom:
    def __reduce__(self):
        return (pytest.fail, ("it was unpickled",))


def test_pickled_objects_are_refused(tiny):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([Boom()], dtype=object), allow_pickle=True)
    forge(tiny, packed("values.npy", file.getvalue()))
    refused(tiny, "values.npy is an array of object")
    forge(tiny, packed("values.npy", pickle.dumps(Boom())))
    refused(tiny, "cannot be read")
    forge(tiny, pickle.dumps(Boom()))
    refused(tiny, "cannot be read")


def header(shape, dtype="|u1", *, order=False):
    text = f"{{'descr': {dtype!r}, 'fortran_order': {order}, 'shape': {shape!r}, }}\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (header((10**13,)), "declares the shape .10000000000000,. of uint8, but has 0 bytes"),
        (header((2,)) + b"abc", "but has 3 bytes"),
        (header((1,), order=True) + b"a", "an array of"),
        (header((4,), "<M8[s]") + bytes(32), "an array of"),
        (header((1,), "<U4") + bytes(16), "an array of"),
        (b"\x93NUMPY\x02\x00" + bytes(8), "version"),
        (b"no array at all", "cannot be read"),
        (b"", "cannot be read"),
    ],
)
def test_broken_arrays_are_refused(tiny, content, told):
    forge(tiny, packed("values.npy", content))
    refused(tiny, told)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_bombs_are_refused_before_they_unfold(tiny, method):
    """A member that promises a little and holds a lot; and one that promises too much.

    LZMA, which would unfold all at once, is refused whatever it promises.
    """
    bomb = bytearray(packed("values.npy", bytes(2**28), method))
    forge(tiny, bytes(bomb).replace((2**28).to_bytes(4, "little"), (200).to_bytes(4, "little")))
    tracemalloc.start()
    refused(tiny, "cannot be read")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**27
    forge(tiny, bytes(bomb).replace((2**28).to_bytes(4, "little"), (2**31).to_bytes(4, "little")))
    refused(tiny, "declares 2,147,483,648 bytes")


def test_two_arrays_of_one_name_are_refused(tiny):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as forged:
        forged.writestr("values.npy", header((1,)) + b"a")
        with pytest.warns(UserWarning, match="Duplicate"):
            forged.writestr("values.npy", header((1,)) + b"b")
    forge(tiny, file.getvalue())
    refused(tiny, "two arrays have one name")


@pytest.mark.parametrize("name", ["values", "seconds"])
def test_missing_arrays_are_named(tiny, name):
    arrays = arrays_of(tiny)
    del arrays[name]
    forge(tiny, npz.pack_arrays(arrays))
    refused(tiny, f"it must have '{name}'")


def replaced(folder, **changes):
    arrays = {**arrays_of(folder), **{name.replace("__", "/"): a for name, a in changes.items()}}
    forge(folder, npz.pack_arrays(arrays))


def document(text):
    return np.frombuffer(text, np.uint8)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"values": np.zeros((1, 2, 3), np.uint8)},
            r"dtype of values is uint8, but the card says float32",
        ),
        (
            {"values": np.zeros((1, 2, 2))},
            "tiny.npz: dtype of values is float64, but the card says float32",
        ),
        ({"values": np.zeros((1, 2), np.float32)}, r"values is of shape \(1, 2\)"),
        ({"values": np.zeros((1, 0, 2), np.float32)}, r"values is of shape \(1, 0, 2\)"),
        (
            {"final": np.zeros((1, 2), np.uint8)},
            "dtype of final is uint8, but the card says float32",
        ),
        ({"final": np.zeros((2, 2), np.float32)}, r"final is of shape \(2, 2\)"),
        ({"seconds": np.full((), -1, np.float32)}, "seconds is -1"),
        ({"strange": np.zeros(1)}, "array is 'strange', but a benchmark has no array of this name"),
        ({"configs": document(b'[{"a":1}]')}, "configs is of length 1"),
        ({"configs": document(b'{"a":1}')}, "configs is not a list"),
        ({"configs": document(b'[{"a":[1]},{}]')}, r"configs\[0\]\['a'\] is \[1\]"),
        ({"configs": document(b'[{},{"a":NaN}]')}, r"configs\[1\]\['a'\] is nan"),
        ({"configs": document(b'[{},{"":1}]')}, "a parameter's name must be"),
        ({"configs": document(b"[{},3]")}, "a configuration must be a dict"),
        ({"configs": document(b"[1,")}, "configs is not valid JSON"),
        ({"configs": document(b"[" * 100_000)}, "configs is not valid JSON"),
        ({"configs": np.zeros(3)}, "1-D uint8 array with JSON text"),
        ({"names": json_arrays.pack_json("names", ["one"])}, "names is of length 1"),
        ({"names": json_arrays.pack_json("names", ["one", 2])}, "list of texts"),
        ({"names": json_arrays.pack_json("names", "ab")}, "list of texts"),
        ({"names": np.frombuffer(b"\xff\xfe", np.uint8)}, "names is not valid JSON"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tiny, changes, told):
    replaced(tiny, **changes)
    refused(tiny, told)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"rows": 3}, "rows of the card is 3, but the curves have 2"),
        ({"rows": 10**12}, "rows of the card"),
        ({"resources": 1}, "resources of the card is 1, but the curves have 2"),
        ({"seeds": [1, 2]}, "number of seeds of the card is 2, but the curves have 1 seed"),
        ({"encoding": {}}, "encoding of values is None"),
    ],
)
def test_cards_that_do_not_fit_are_refused(tiny, fields, told):
    forge(tiny, **fields)
    refused(tiny, told)


SOUND = {"dtype": "uint16", "scale": 0.1, "offset": 0, "missing": 65535}


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"dtype": "object"}, "dtype must be"),
        ({"dtype": None}, "dtype must be"),
        ({**SOUND, "scale": 0}, "scale must be positive"),
        ({**SOUND, "scale": "1"}, "scale in the encoding of values is '1'"),
        ({**SOUND, "offset": 0.5}, "offset"),
        ({**SOUND, "offset": 10**400}, "offset"),
        ({**SOUND, "missing": 0}, "missing = 65535"),
        (SOUND, "but the card says uint16"),
    ],
)
def test_encodings_are_not_trusted(tiny, form, told):
    card = json.loads((tiny / "tiny.json").read_text(encoding="utf-8"))
    forms = card["encoding"]
    forge(tiny, encoding={**forms, "values": {**forms["values"], **form}})
    refused(tiny, told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "not JSON, but a data card must be JSON"),
        (b"{", "not JSON, but a data card must be JSON"),
        (b"\xff\xfe", "not JSON, but a data card must be JSON"),
        (b"[" * 100_000, "not JSON, but a data card must be JSON"),
        (b"[]", "JSON object"),
        (b"{}", "tiny.json: format of the card is None"),
        (b'{"format": 3}', "tiny.json: format of the card is 3, .* reads format 2: update it"),
        (b'{"format": 1}', "format of the card is 1, .* format 2: convert the source again, or"),
        (b'{"format": 2}', "must also have name"),
    ],
)
def test_cards_that_are_none_are_refused(tiny, text, told):
    (tiny / "tiny.json").write_bytes(text)
    refused(tiny, told, "tiny.json")


def test_enormous_cards_are_refused(tiny):
    with (tiny / "tiny.json").open("r+b") as file:
        file.truncate(store.CARD_LIMIT + 1)
    refused(tiny, "bytes, but at most", "tiny.json")


def test_a_card_under_another_name_is_refused(tiny):
    for end in ("npz", "json"):
        (tiny / f"tiny.{end}").rename(tiny / f"other.{end}")
    with pytest.raises(TableError, match=r"other\.json is the card of 'tiny'"):
        store.read(tiny, "other")


def test_names_that_are_paths_are_refused(tiny):
    with pytest.raises(TableError, match="name of the benchmark"):
        store.read(tiny / "sub", "../tiny")


def test_only_benchmarks_are_read(tiny):
    assert isinstance(store.read(tiny, "tiny"), Benchmark)


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_devices_and_pipes_are_not_read(tiny, suffix):
    path = tiny / f"tiny{suffix}"
    path.unlink()
    path.symlink_to("/dev/zero")
    refused(tiny, "a device or pipe", path.name)


def test_bzip2_is_refused_whatever_it_promises(tiny):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("values.npy", b"\0" * 2**20)
    forge(tiny, file.getvalue())
    refused(tiny, "not compressed otherwise")


def test_more_than_can_be_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "LIMIT", npz.HEADERS + 4 * 30 + 4)
    curves = np.ones((1, 3, 10))
    store.write(tmp_path, Card(name="fits"), values=curves, seconds=1.0)
    store.read(tmp_path, "fits")
    with pytest.raises(TableError, match="at most 124 are written"):
        store.write(tmp_path, Card(name="no"), values=curves, seconds=np.ones(3))


def test_what_a_killed_process_left_is_removed_in_time(tmp_path):
    stale, fresh = (tmp_path / f".a.npz.0123456{n}.part" for n in (7, 8))
    for path in (stale, fresh):
        path.write_bytes(b"half")
    os.utime(stale, (0, 0))
    store.write(tmp_path, Card(name="a"), values=np.ones((1, 1, 1)), seconds=1.0)
    assert sorted(path.name for path in tmp_path.iterdir()) == [fresh.name, "a.json", "a.npz"]


def test_documents_are_limited(tiny, monkeypatch):
    """A JSON text becomes up to thirty times as large."""
    monkeypatch.setattr(json_arrays, "LIMIT", 20)
    refused(tiny, "1-D uint8 array with JSON text, at most 20")
    with pytest.raises(TableError, match="at most 20 are written"):
        store.write(
            tiny, Card(name="no"), values=np.ones((1, 2, 1)), seconds=1.0, names=["x" * 9, "y" * 9]
        )


@pytest.mark.parametrize("place", [-30, 200])
def test_a_changed_byte_behind_a_right_checksum_of_the_file_is_refused(tiny, place):
    """The archive has a checksum of each array."""
    path = tiny / "tiny.npz"
    names = zipfile.ZipFile(path).infolist()
    content = bytearray(path.read_bytes())
    begin = names[0].header_offset + 30 + len(names[0].filename)
    content[begin + 60 if place > 0 else content.rindex(b"PK\x01\x02") + 16] ^= 1
    forge(tiny, bytes(content))
    refused(tiny, "cannot be read")

"""The reader of pickles: plain data comes through, nothing else does, and nothing is run."""

import bz2
import io
import os
import pickle
import pickletools
import struct
import tracemalloc
from collections import OrderedDict, defaultdict
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rungwise.errors import TableError
from rungwise.lab.sources.unpickling import DEEPEST, LIMIT, load

NAME = "some/000011.pickle.pbz2"


def read(content, **options):
    return load(io.BytesIO(content), NAME, **options)


def refused(content, *words, **options):
    with pytest.raises(TableError) as caught:
        read(content, **options)
    assert NAME in str(caught.value)
    for word in words:
        assert word in str(caught.value)
    return str(caught.value)


# -- what comes through ------------------------------------------------------------------------

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
)
KEYS = SCALARS | st.tuples(SCALARS, SCALARS)
PLAIN = st.recursive(
    SCALARS | st.binary(max_size=300) | st.tuples(SCALARS) | st.frozensets(SCALARS, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(KEYS, inner, max_size=5)
        | st.tuples(SCALARS, st.tuples(SCALARS), st.lists(inner, max_size=3))
        | st.sets(KEYS, max_size=5)
    ),
    max_leaves=20,
)


@given(PLAIN, st.sampled_from([4, 5]))
def test_plain_data_comes_through(value, protocol):
    content = pickle.dumps(value, protocol=protocol)
    found = read(content)
    assert found == value
    # 1, 1.0 and True are equal, and not the same; sets have an order of their own.
    assert repr(found) == repr(pickle.loads(content))  # noqa: S301 - our own


@given(st.lists(SCALARS | st.lists(SCALARS) | st.dictionaries(SCALARS, SCALARS)))
def test_older_protocols_are_read_too(value):
    for protocol in (2, 3):
        assert repr(read(pickle.dumps(value, protocol=protocol))) == repr(value)


@given(PLAIN)
def test_it_agrees_on_optimised_pickles_and_those_of_pure_python(value):
    for content in (pickletools.optimize(pickle.dumps(value, 4)), pickle._dumps(value, 4)):
        assert repr(read(content)) == repr(pickle.loads(content))  # noqa: S301 - our own


def test_long_containers_and_long_texts_come_through():
    value = {i: ["x" * i, b"y" * i, i * 10**30] for i in range(3000)} | {"n": "z" * 70_000}
    assert read(pickle.dumps(value), limit=2**30) == value


def test_shared_and_recursive_objects_stay_shared():
    inner = ["a text"]
    inner.append(inner)
    found = read(pickle.dumps([inner, inner]))
    assert found[0] is found[1]
    assert found[0][1] is found[0]


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize("dtype", ["f8", ">f4", "i8", "<u2", "?", "c16", "U5", "S3", "i1"], ids=str)
def test_arrays_and_scalars_come_through(dtype, protocol):
    flat = np.array([0, 1, 2, 3, 4, 5]).astype(dtype)
    for array in (flat, flat.reshape(2, 3), np.asfortranarray(flat.reshape(2, 3)), flat[:0]):
        found = read(pickle.dumps({"a": array, "b": array}, protocol))
        np.testing.assert_array_equal(found["a"], array)
        assert found["a"].dtype == array.dtype
        assert found["b"] is found["a"]
    scalar = read(pickle.dumps([flat[3], flat[3]], protocol))[0]
    assert scalar == flat[3]
    assert type(scalar) is type(flat[3])


@given(st.sets(KEYS))
def test_sets_of_older_protocols_come_through(value):
    assert read(pickle.dumps(value, 3)) == value


def test_an_ordered_dict_becomes_a_dict():
    found = read(pickle.dumps(OrderedDict([("b", 1), ("a", 2)])))
    assert type(found) is dict
    assert list(found.items()) == [("b", 1), ("a", 2)]


# -- what does not -----------------------------------------------------------------------------


class Command:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_command_is_refused_by_name_and_not_run(protocol, tmp_path):
    marker = tmp_path / "was here"
    content = pickle.dumps([1, Command(os.system, f"touch '{marker}'")], protocol)
    refused(content, f"{os.system.__module__}.system", "only plain containers")
    assert not marker.exists()


@pytest.mark.parametrize(
    "value",
    [
        Command(eval, "1"),
        Command(getattr, {}, "clear"),
        Command(Path, "x"),
        defaultdict(list),
        date(2026, 1, 1),
        Fraction(1, 2),
        1 + 2j,
        np.random.default_rng(0),
        np.ma.array([1.0]),
    ],
    ids=lambda value: repr(value).split(" at 0x")[0],  # the same in every process
)
def test_other_objects_are_refused(value):
    refused(pickle.dumps(value, 4), "a pickle that asks for")


def test_a_bare_name_is_no_data():
    refused(pickle.dumps(np.ndarray, 4), "must be data")
    refused(pickle.dumps(np.dtype("f8"), 4), "must be data")


def test_arrays_of_objects_are_refused():
    refused(pickle.dumps(np.array([{}, []], dtype=object), 4), "plain numbers or texts")
    refused(pickle.dumps(np.zeros(2, dtype=[("a", "f8")]), 4), "plain numbers or texts")
    refused(pickle.dumps(np.array(["2020"], dtype="M8[D]"), 4), "plain numbers or texts")


def test_admitted_names_call_nothing_when_misused():
    ordered = b"\x80\x04\x8c\x0bcollections\x8c\x0bOrderedDict\x93"
    refused(ordered + b"]\x85R.", "begin empty")
    refused(b"\x80\x04\x8c\x08builtins\x8c\x03set\x93N\x85R.", "made of a list")
    refused(b"\x80\x04\x8c\x08builtins\x8c\x03set\x93]]a\x85R.", "a list as a key")
    refused(ordered + b"}b.", "state of an object")
    refused(b"\x80\x04]]\x85R.", "calls what is no function")
    refused(b"\x80\x04\x8c\x05numpy\x8c\x07ndarray\x93)R.", "NumPy's functions")
    refused(b"\x80\x04}}b.", "state of an object")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"(ios\nsystem\n.", "INST"),
        (b"\x80\x02(cos\nsystem\n)o.", "os.system"),
        (b"\x80\x04]o.", "OBJ"),
        (b"\x80\x04])\x81.", "NEWOBJ"),
        (b"\x80\x04]Q.", "BINPERSID"),
        (b"\x80\x04\x82\x01.", "EXT1"),
        (b"I5\n.", "INT"),
        (b"\x80\x05\x97.", "NEXT_BUFFER"),
        (b"\x80\x04\xff.", "0xff"),
        (b"\x80\x09N.", "protocol 9"),
        (b"\x80\x00N.", "protocol 0"),
    ],
)
def test_opcodes_that_plain_data_does_not_need_are_refused(content, name):
    refused(content, name)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80",
        b"\x80\x04.",  # nothing is left
        b"\x80\x04NN.",  # two things are left
        b"\x80\x04(N.",  # a mark is left
        b"\x80\x04N.N",  # something behind it
        b"\x80\x04a.",
        b"\x80\x04u.",
        b"\x80\x04Na.",
        b"\x80\x04}(Nu.",  # a key without a value
        b"\x80\x04](NNu.",  # a list filled like a dict
        b"\x80\x04}}Ns.",  # a dict as a key
        b"\x80\x04\x8f(]\x90.",  # a list in a set
        b"\x80\x04(]\x91.",  # a list in a frozenset
        b"\x80\x04h\x00.",  # nothing has this number
        b"\x80\x04h.",
        b"\x80\x04N\x94h\x05.",
        b"\x80\x04\x8c\x02\xff\xfe.",  # no UTF-8
        b"\x80\x04\x85.",
        b"\x80\x04NN\x93.",
        b"no pickle at all",
        b"\x80\x04" + b"(" * 10,
        b"\x80\x04c" + b"x" * 1000,
    ],
    ids=range(23),
)
def test_malformed_pickles_are_refused(content):
    refused(content)


def number(value, width):
    return value.to_bytes(width, "little")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x80\x04\x8e" + number(2**62, 8), "an item of 4,611,686,018,427,387,904 bytes"),
        (b"\x80\x04\x8d" + number(2**40, 8), "an item of 1,099,511,627,776 bytes"),
        (b"\x80\x04X" + number(2**31, 4), "an item of 2,147,483,648 bytes"),
        (b"\x80\x05\x96" + number(2**40, 8), "an item of"),
        (b"\x80\x04Nr" + number(2**31, 4) + b".", "numbers an object 2,147,483,648"),
        (b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b".", "open items"),
        (b"\x80\x04" + b"(" * 100_000, f"over {DEEPEST} levels"),
        (b"\x80\x04)" + b"\x85" * 100_000 + b".", "deeply nested tuples"),
        (b"\x80\x04)" + b"\x942h\x00\x86" * 60 + b".", ""),
        (b"\x80\x04}" + b")" + b"\x85" * 3 + b"Ns.", ""),
    ],
)
def test_bombs_are_refused_before_they_go_off(content, words):
    tracemalloc.start()
    try:
        refused(content, words)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_the_size_of_a_frame_is_not_believed():
    assert read(b"\x80\x04\x95" + number(2**62, 8) + b"N.") is None


def array_pickle(shape, raw, kind="f8"):
    """An array that may lie about itself."""

    class Liar:
        def __reduce__(self):
            function, arguments, _ = np.empty(1).__reduce__()
            return function, arguments, (1, shape, np.dtype(kind), False, raw)

    return pickle.dumps(Liar(), 4)


def test_arrays_that_lie_are_refused():
    assert read(array_pickle((2,), bytes(16))).tolist() == [0, 0]
    refused(array_pickle((10**12,), bytes(16)), "promises 8,000,000,000,000 bytes and has 16")
    refused(array_pickle((-2,), bytes(16)), "whole numbers")
    refused(array_pickle((True, 2), bytes(16)), "whole numbers")
    refused(array_pickle([2], bytes(16)), "whole numbers")
    refused(array_pickle((1,) * 40, bytes(8)), "whole numbers")
    refused(array_pickle((2,), [0.0, 0.0]), "plain numbers")


def call(name, *parts):
    """A pickle that calls a global with some arguments, each a pickle of its own or opcodes."""
    module, _, last = name.rpartition(".")
    return b"\x80\x04" + text(module) + text(last) + b"\x93(" + b"".join(parts) + b"tR"


def text(word):
    return b"\x8c" + bytes([len(word)]) + word.encode()


F8 = call("numpy.dtype", text("f8"))[2:]


@pytest.mark.parametrize(
    "content",
    [
        call("numpy.dtype", text("O8")) + b".",
        call("numpy.dtype", text("f7")) + b".",
        call("numpy.dtype", text("f8, f8")) + b".",
        call("numpy.dtype", b"K\x05") + b".",
        call("numpy.dtype") + b".",
        call("numpy.core.multiarray.scalar", F8) + b".",
        call("numpy.core.multiarray.scalar", b"N", b"C\x08" + bytes(8)) + b".",
        call("numpy.core.multiarray.scalar", F8, b"C\x07" + bytes(7)) + b".",
        call("numpy.core.multiarray._reconstruct", b"N") + b".",
        call("numpy.core.multiarray._reconstruct") + b".",
        call("numpy._core.numeric._frombuffer", b"C\x00", F8, b"K\x00\x85", b"N") + b".",
        call("numpy._core.numeric._frombuffer", b"C\x00", F8, b"K\x00\x85", b"]") + b".",
        call("numpy.dtype", text("f8")) + b"Nb.",
        call("numpy.dtype", text("f8")) + b"(K\x03]NNNt" + b"b.",
        call("numpy.dtype", text("f8")) + b"(K\x03" + text("<") + b"]NNt" + b"b.",
        call("numpy.core.multiarray._reconstruct", b"cnumpy\nndarray\n") + b"Nb.",
    ],
    ids=range(16),
)
def test_parts_of_numpy_that_do_not_fit_are_refused(content):
    refused(content, "a malformed pickle" if b"C\x07" not in content else "promises 8 bytes")


def test_no_more_than_the_limit_is_read():
    class Endless(io.RawIOBase):
        count = 0

        def read(self, size=-1):
            self.count += size
            return (
                b"\x80\x04" + b"N0" * (size // 2 - 1) if self.count == size else b"N0" * (size // 2)
            )

    stream = Endless()
    with pytest.raises(TableError, match="more than 1,048,576 bytes"):
        load(stream, NAME, limit=2**20)
    assert stream.count < 2**21


def test_a_bomb_of_zeros_ends_early():
    bomb = bz2.compress(b"\x80\x04\x8e" + number(LIMIT, 8) + bytes(3 * LIMIT))
    assert len(bomb) < 10_000
    with bz2.open(io.BytesIO(bomb)) as stream, pytest.raises(TableError, match="more than"):
        load(stream, NAME)


# -- damage ------------------------------------------------------------------------------------

SAMPLE = {
    "200": {
        "all_results": {("cifar10", 777): {"a": {f"ori-test@{e}": e / 7 for e in range(30)}}},
        "params": np.float64(1.5),
        "array": np.arange(6.0).reshape(2, 3),
        "more": [None, True, -5, 10**30, b"bytes", (1, (2, 3)), {1, 2}],
    }
}


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_a_pickle_cut_anywhere_is_refused(protocol):
    content = pickle.dumps(SAMPLE, protocol)
    for end in range(len(content)):
        refused(content[:end])


def test_a_compressed_file_cut_anywhere_is_refused():
    content = bz2.compress(pickle.dumps(SAMPLE, 4))
    for end in range(0, len(content), 3):
        with bz2.open(io.BytesIO(content[:end])) as stream, pytest.raises(TableError) as caught:
            load(stream, NAME)
        assert NAME in str(caught.value)


def test_a_compressed_file_with_a_wrong_sum_is_refused():
    content = bytearray(bz2.compress(pickle.dumps(list(range(1000)), 4)))
    content[-3] ^= 0xFF  # in the sum of the whole stream, behind all data
    with bz2.open(io.BytesIO(content)) as stream, pytest.raises(TableError, match="damaged"):
        load(stream, NAME)


@given(st.data())
def test_whatever_is_changed_it_is_read_or_refused(data):
    content = bytearray(pickle.dumps(SAMPLE, data.draw(st.sampled_from([3, 4, 5]))))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        read(bytes(content))
    except TableError as error:
        assert NAME in str(error)  # noqa: PT017 - it need not be raised


@given(st.binary(max_size=200))
def test_noise_is_refused(noise):
    refused(b"\x80\x04" + noise + b"\x00")


# -- pickles larger than the memory ------------------------------------------------------------


def digest(found):
    return sum(found["curve"].values()) if "curve" in found else None


def part(number, key):
    return {"curve": {f"{key}@{i}": float(number) for i in range(100)}, "key": key}


def test_a_digest_replaces_a_dict_as_soon_as_it_is_full():
    whole = {"parts": {n: part(n, "a key") for n in range(2500)}, "last": {"x": 1}}
    found = read(pickle.dumps(whole), limit=2**18, digest=digest)
    assert found == {"parts": {n: 100.0 * n for n in range(2500)}, "last": {"x": 1}}


@pytest.mark.parametrize("protocol", [2, 4])
def test_texts_and_globals_of_digested_parts_can_be_referred_to(protocol):
    texts = ["".join(["shared ", str(n)]) for n in range(50)]
    whole = [
        {"curve": {text: np.float64(n) if protocol == 4 else n for text in texts}, "k": texts[n]}
        for n in range(5)
    ]
    seen = []

    def keep(found):
        if "curve" not in found:
            return None
        seen.append(found["k"])
        return digest(found)

    found = read(pickle.dumps([*whole, texts], protocol), digest=keep)
    assert found == [50.0 * n for n in range(5)] + [texts]
    assert seen == texts[:5]


def test_what_was_digested_is_gone():
    inner = {"a": 1.0}
    content = pickle.dumps([{"curve": inner}, {"other": inner}], 4)
    assert read(content)[1]["other"] == inner
    refused(content, "belongs to a part already read", digest=digest)


def test_the_memory_does_not_grow_with_the_number_of_parts():
    def peak(parts, **options):
        content = pickle.dumps({n: part(n, f"key {n % 10}") for n in range(parts)})
        tracemalloc.start()
        try:
            read(content, limit=2**30, **options)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(600) > 5e6
    # What remains: four bytes for each text, and the sum.
    assert peak(600, digest=digest) < 1e6


def test_floats_are_big_endian():
    assert read(b"\x80\x04G" + struct.pack(">d", 0.1) + b".") == 0.1

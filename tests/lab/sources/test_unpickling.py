"""The restricted unpickler: plain data comes through, nothing else does, and nothing is run."""

import bz2
import io
import os
import pickle
import pickletools
from collections import OrderedDict, defaultdict
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_stories import unpickle

from rungwise.errors import TableError
from rungwise.lab.sources import limited_processes
from rungwise.lab.sources.unpickling import LIMIT, load

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
@pytest.mark.parametrize("dtype", ["f8", ">f4", "f2", "i8", "<u2", "?", "i1"], ids=str)
def test_scalars_come_through(dtype, protocol):
    scalar = np.array([3]).astype(dtype)[0]
    found = read(pickle.dumps([scalar, scalar], protocol))[0]
    assert found == scalar
    assert type(found) is type(scalar)


@pytest.mark.parametrize("module", ["numpy.core", "numpy._core"])
def test_both_of_numpys_names_are_known(module):
    raw = b"C\x08" + np.float64(0.1).tobytes()
    assert read(call(f"{module}.multiarray.scalar", F8, raw) + b".") == 0.1


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
    refused(pickle.dumps(OrderedDict, 4), "must hold data")
    refused(pickle.dumps(np.dtype("f8"), 4), "must hold data")


@pytest.mark.parametrize(
    "value",
    [
        np.arange(3.0),
        np.array([{}, []], dtype=object),
        np.zeros(2, dtype=[("a", "f8")])[0],
        np.array(["2020"], dtype="M8[D]")[0],
        np.str_("x"),
        np.bytes_(b"x"),
        np.complex128(1j),
        np.longdouble(1),
    ],
    ids=lambda value: f"{type(value).__name__} {value.dtype}",
)
@pytest.mark.parametrize("protocol", [4, 5])
def test_other_things_of_numpy_are_refused(value, protocol):
    content = pickle.dumps(value, protocol)
    arrays = isinstance(value, np.ndarray)
    refused(content, "a pickle that asks for 'numpy" if arrays else "a dtype must be of plain numb")


def test_sets_of_older_protocols_are_refused():
    """They need a global; the files of NATS-Bench are of protocol 4."""
    refused(pickle.dumps({1, 2}, 3), "asks for 'builtins.set'")


ORDERED = b"\x80\x04\x8c\x0bcollections\x8c\x0bOrderedDict\x93"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (ORDERED + b"]\x85R.", "begin empty"),
        (ORDERED + b"}b.", "sets the state of a function"),
        (ORDERED + b"N}X\x05\x00\x00\x00_makeNs\x86b.", "sets the state of a function"),
        (ORDERED + b")\x81.", ""),  # NEWOBJ
        (ORDERED + b")}\x92.", ""),  # NEWOBJ_EX
        (b"\x80\x04\x8c\x08builtins\x8c\x03set\x93]\x85R.", "asks for 'builtins.set'"),
        (b"\x80\x04\x8c\x05numpy\x8c\x07ndarray\x93)R.", "asks for 'numpy.ndarray'"),
        (b"\x80\x04\x8c\x05numpy\x8c\x0edtype.__call__\x93.", "asks for 'numpy.dtype.__call__'"),
        (b"\x80\x04]]\x85R.", ""),
        (b"\x80\x04}}b.", ""),
        (b"\x80\x04]N}X\x06\x00\x00\x00appendNs\x86b.", ""),
    ],
    ids=range(11),
)
def test_allowed_names_do_nothing_when_misused(content, words):
    refused(content, words)
    assert read(pickle.dumps(OrderedDict(a=np.float64(1)), 4)) == {"a": 1.0}  # as before


def test_the_dtypes_of_the_process_stay_as_they_are():
    """NumPy shares them: a pickle that changed one would change all of its arrays."""
    turned = call("numpy.dtype", text("f8")) + b"(K\x03" + text(">") + b"NNNJ\xff\xff\xff\xff"
    turned += b"J\xff\xff\xff\xffK\x00tb."
    refused(turned, "must hold data")
    assert np.dtype("f8").isnative
    assert np.arange(3.0).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"(ios\nsystem\n.", "os.system"),
        (b"\x80\x02(cos\nsystem\n)o.", "os.system"),
        (b"\x80\x04]o.", ""),
        (b"\x80\x04])\x81.", ""),
        (b"\x80\x04]Q.", "persistent"),
        (b"Pname\n.", "persistent"),
        (b"\x80\x04\x82\x01.", "extension"),
        (b"\x80\x04\x83\x01\x01.", "extension"),
        (b"\x80\x04\x84\x01\x01\x01\x01.", "extension"),
        (b"\x80\x05\x97.", ""),
        (b"\x80\x04\xff.", ""),
        (b"\x80\x09N.", "protocol: 9"),
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
    ids=range(21),
)
def test_malformed_pickles_are_refused(content):
    refused(content)


def number(value, width):
    return value.to_bytes(width, "little")


def test_the_size_of_a_frame_is_not_believed():
    refused(b"\x80\x04\x95" + number(2**62, 8) + b"N.", "truncated")


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
        call("numpy.dtype", text("f8")) + b"Nb.",
        call("numpy.dtype", text("f8")) + b"(K\x03]NNNt" + b"b.",
        call("numpy.dtype", text("f8")) + b"(K\x03" + text("<") + b"]NNt" + b"b.",
    ],
    ids=range(11),
)
def test_parts_of_numpy_that_do_not_fit_are_refused(content):
    refused(content)


def test_no_more_than_the_limit_is_read():
    class Endless(io.RawIOBase):
        count = 0

        def read(self, size=-1):
            self.count += size
            return b"\x80\x04" + b"N0" * (size // 2 - 1) + b"."

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
        "more": [None, True, -5, 10**30, b"bytes", (1, (2, 3)), {1, 2}],
    }
}


@pytest.mark.parametrize("protocol", [4, 5])
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


def read_in_child(content):
    """In a process with limits: a changed byte may ask for gigabytes."""
    (found,) = limited_processes.map_limited(unpickle, [(NAME, content)], 1)
    return found


@given(st.data())
def test_whatever_is_changed_it_is_read_or_refused(data):
    content = bytearray(pickle.dumps(SAMPLE, data.draw(st.sampled_from([4, 5]))))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        read_in_child(bytes(content))
    except TableError as error:
        assert NAME in str(error)  # noqa: PT017 - it need not be raised


@given(st.binary(max_size=200))
def test_noise_is_refused(noise):
    with pytest.raises(TableError, match=NAME):
        read_in_child(b"\x80\x04" + noise + b"\x00")


def test_floats_are_big_endian():
    assert read(b"\x80\x04G?\xb9\x99\x99\x99\x99\x99\x9a.") == 0.1

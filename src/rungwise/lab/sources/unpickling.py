"""Pickles from strangers: a reader that can build plain data and nothing else.

A pickle is a program for a small stack machine, and Python's own machine may be told to call
anything. This one is our own. It knows the binary opcodes of protocols 2 to 5 that build None,
booleans, numbers, texts, bytes, tuples, lists, dicts and sets. It imports nothing: a global is a
name, and the few names that it admits (``collections.OrderedDict``, which becomes a dict, ``set``,
and what NumPy arrays and scalars are made of) stand for functions of ``admitted.py``. So a file
can do no harm by what it says; it can only be too large, and there are limits for that:

- bytes read before something is finished (``limit``), so that a bomb of zeros ends early,
- declared sizes, which are never believed beyond that limit,
- what is built, where that is more than the bytes that ask for it,
- keys that could be made to collide, which would make a dict of them slow,
- the depth of nesting, and the numbers of the memo, which must count up.

A pickle that is larger than the memory is read with ``digest``: it is shown every dict as soon as
it is filled, and may put something smaller in its place. Whatever was remembered for that dict is
forgotten then, but for texts and globals, which later parts may refer to.
"""

from __future__ import annotations

import pickletools
import struct
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rungwise.errors import TableError, Words
from rungwise.lab.sources.bounded_reader import Readable, Supply
from rungwise.lab.sources.pickle_allowlist import (
    ADMITTED,
    SETS,
    Kind,
    Pending,
    Reference,
    Refused,
    hashable,
    odd_keys,
)
from rungwise.lab.sources.source_errors import DAMAGE, damaged

LIMIT = 8 * 2**20
"""The most bytes of one pickle, or of one of its dicts; a real architecture has a third of a MB."""

DEEPEST = 100
"""So many containers may be open at a time."""

LONGEST_PART = 4096
"""So many items may wait on the stack; picklers hand them over by the thousand."""

MOST_TEXTS = 200_000
"""So many different texts are remembered for later parts of a long pickle."""

LONGEST_TEXT = 1000
"""So many letters may a text have to be remembered."""

MOST_NAMES = 1000
"""So many globals may be remembered; a pickler numbers each of them once."""

MOST_ODD = 2000
"""So many keys may there be whose hashes their author can choose."""

CONTAINER = 32
"""What a container counts in bytes: an empty set takes 200 and is asked for by one."""

_FLOAT = struct.Struct(">d").unpack_from
_KEPT = frozenset({Reference, Kind})

Digest = Callable[[dict[Any, Any]], Any]


def load(
    stream: Readable, name: str | Path, *, limit: int = LIMIT, digest: Digest | None = None
) -> Any:
    """What a pickle holds.

    Args:
        stream: the pickle, uncompressed as it is read.
        name: which file it is, for errors.
        limit: the most bytes; with a digest, the most between two of its successes.
        digest: is shown every dict once it is filled; what it gives, if not None, stands in for
            the dict.
    """
    machine = _Machine(stream, limit, digest)
    try:
        return machine.run()
    except Refused as refused:
        raise TableError(str(name), Words(refused.found), refused.rule) from None
    except (IndexError, struct.error) as error:
        cause = "it ends too early, or is no pickle of protocol 2 to 5"
        raise damaged(name, cause) from error
    except DAMAGE as error:
        raise damaged(name, error) from error


class _Machine(Supply):
    """The stack machine.

    ``stack`` holds what was built since the last mark, ``marks`` the stacks below; ``memo`` holds
    what may be referred to again, by number.
    """

    def __init__(self, stream: Readable, limit: int, digest: Digest | None) -> None:
        super().__init__(stream, limit)
        self.digest = digest
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.count = self.odd = 0
        # Texts of parts already digested: their number in the memo → 1 + their number in a list.
        self.texts: dict[str, int] = {}
        self.listed: list[str] = []
        self.index = array("I")

    def run(self) -> Any:
        """Execute the program."""
        stack, memo = self.stack, self.memo
        buffer, here, safe = self.buffer, self.here, self.safe
        while True:
            if here > safe:
                self.buffer, self.here = buffer, here
                self.fill()
                buffer, here, safe = self.buffer, self.here, self.safe
            code = buffer[here]
            # Nine of ten opcodes are one of these four.
            if code == 0x8C:  # SHORT_BINUNICODE
                begin = here + 2
                here = begin + buffer[here + 1]
                stack.append(str(buffer[begin:here], "utf-8"))
            elif code == 0x94:  # MEMOIZE
                memo[self.count] = stack[-1]
                self.count += 1
                here += 1
            elif code == 0x47:  # BINFLOAT
                stack.append(_FLOAT(buffer, here + 1)[0])
                here += 9
            elif code == 0x4B:  # BININT1
                stack.append(buffer[here + 1])
                here += 2
            elif code == 0x2E:  # STOP
                self.buffer, self.here = buffer, here + 1
                return self.finish()
            else:
                handler = _HANDLERS.get(code)
                if handler is None:
                    raise _unknown(code)
                self.buffer, self.here = buffer, here + 1
                handler(self)
                buffer, here, safe, stack = self.buffer, self.here, self.safe, self.stack

    def finish(self) -> Any:
        """The one thing that is left, and nothing behind it."""
        # Reading on also lets a compressed stream check its sum.
        if self.here != len(self.buffer) or self.stream.read(1):
            raise Refused("a pickle with something behind its end", "it must be one pickle")
        if self.marks or len(self.stack) != 1:
            raise Refused("a malformed pickle", "one thing must be left at its end")
        if type(self.stack[0]) in _KEPT:
            raise Refused("a pickle of a name", "what it holds must be data")
        return self.stack[0]

    # -- parts ---------------------------------------------------------------------------------

    def open(self, container: Any) -> None:
        """Begin a container."""
        if len(self.stack) > LONGEST_PART:
            found = f"a pickle with over {LONGEST_PART} open items"
            raise Refused(found, "such data is neither nested nor long enough for that")
        self.charge(CONTAINER)
        self.stack.append(container)

    def mark(self) -> None:
        if len(self.marks) >= DEEPEST:
            found = f"a pickle nested over {DEEPEST} levels deep"
            raise Refused(found, "plain data is not")
        self.marks.append(self.stack)
        self.stack = []

    def since_mark(self) -> list[Any]:
        """What was built since the last mark, which is taken away."""
        items = self.stack
        self.stack = self.marks.pop()
        return items

    def remember(self, number: int) -> None:
        if number > self.count + 1:  # Python 2 counted from 1
            found = f"a pickle that numbers an object {number:,} after {self.count:,} others"
            raise Refused(found, "the numbers of a memo count up")
        self.memo[number] = self.stack[-1]
        self.count = max(self.count, number + 1)

    def recall(self, number: int) -> None:
        value = self.memo.get(number)
        if value is None:
            place = self.index[number] if number < len(self.index) else 0
            if not place:
                found = f"a pickle that refers to its object {number:,}"
                raise Refused(found, "there is none, or it belongs to a part already read")
            value = self.listed[place - 1]
        self.stack.append(value.array if type(value) is Pending else value)

    def pack(self, items: list[Any]) -> None:
        """A tuple; tuples in it must be short and flat, so that it can be compared and hashed."""
        for item in items:
            if type(item) is tuple and (
                len(item) > 64 or any(type(part) is tuple for part in item)
            ):
                raise Refused("a pickle with deeply nested tuples", "plain data has none")
        self.open(tuple(items))

    def last(self, size: int) -> list[Any]:
        """So many items from the top of the stack, which are taken away."""
        if len(self.stack) < size:
            raise IndexError
        items = self.stack[-size:]
        del self.stack[-size:]
        return items

    def extend(self, items: list[Any]) -> None:
        self.target(list).extend(items)

    def keys(self, items: list[Any]) -> list[Any]:
        """Items that may be hashed, and cannot all have one hash."""
        found = hashable(items)
        self.odd += odd_keys(found)
        if self.odd > MOST_ODD:
            rule = f"at most {MOST_ODD:,} keys may be of several numbers, or of more than 64 bits"
            raise Refused("a pickle with strange keys", rule)
        return found

    def add(self, items: list[Any]) -> None:
        self.target(set).update(self.keys(items))

    def freeze(self, items: list[Any]) -> None:
        self.open(frozenset(self.keys(items)))

    def put(self, items: list[Any]) -> None:
        """Fill a dict with keys and values in turn."""
        target = self.target(dict)
        if len(items) % 2:
            raise Refused("a malformed pickle", "every key must have a value")
        target.update(zip(self.keys(items[::2]), items[1::2], strict=True))
        if self.digest is not None:
            made = self.digest(target)
            if made is not None:
                self.stack[-1] = made
                self.forget()

    def target(self, kind: type) -> Any:
        if type(self.stack[-1]) is not kind:
            raise Refused("a malformed pickle", f"there must be a {kind.__name__} to fill")
        return self.stack[-1]

    def forget(self) -> None:
        """Let go of what a digested part was made of."""
        self.left = self.limit
        kept = {number: value for number, value in self.memo.items() if type(value) in _KEPT}
        if len(kept) > MOST_NAMES:
            rule = f"at most {MOST_NAMES:,} are needed"
            raise Refused("a pickle with too many globals", rule)
        self.index.extend([0] * (self.count - len(self.index)))
        for number, value in self.memo.items():
            if type(value) is str:
                place = self.texts.get(value)
                short = len(value) <= LONGEST_TEXT and len(self.listed) < MOST_TEXTS
                if place is None and short:
                    self.listed.append(value)
                    place = self.texts[value] = len(self.listed)
                self.index[number] = place or 0
        self.memo.clear()
        self.memo.update(kept)

    # -- globals -------------------------------------------------------------------------------

    def refer(self, module: Any, name: Any) -> None:
        """A global by its name; nothing is imported."""
        if type(module) is not str or type(name) is not str:
            raise Refused("a malformed pickle", "a global must have a name")
        maker = ADMITTED.get(f"{module}.{name}")
        if maker is None:
            rule = "only plain containers, numbers, texts and NumPy arrays are admitted"
            raise Refused(f"a pickle that asks for {f'{module}.{name}'[:200]!r}", rule)
        self.stack.append(Reference(f"{module}.{name}", maker))

    def call(self) -> None:
        function, given = self.last(2)
        if type(function) is not Reference or type(given) is not tuple:
            raise Refused("a pickle that calls what is no function", "nothing may be called")
        if function.name in SETS and given and type(given[0]) is list:
            # A list can be referred to again and again, each time for a new set.
            self.charge(CONTAINER * len(given[0]))
            self.keys(given[0])
        made = function.make(given)
        if isinstance(made, np.generic):
            self.charge(made.nbytes)
        self.open(made)

    def build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if type(target) not in {Kind, Pending}:
            raise Refused("a pickle that sets the state of an object", "only arrays have one")
        target.build(state)
        if type(target) is Pending:
            self.stack[-1] = target.array

    def protocol(self) -> None:
        version = self.number(1)
        if not 2 <= version <= 5:
            raise Refused(f"a pickle of protocol {version}", "protocols 2 to 5 are read")


def _unknown(code: int) -> Refused:
    names = [known.name for known in pickletools.opcodes if known.code == chr(code)]
    told = f"the opcode {names[0]}" if names else f"the byte 0x{code:02x}"
    return Refused(f"a pickle with {told}", "plain data needs no such opcode")


def _text(width: int) -> Callable[[_Machine], None]:
    return lambda m: m.stack.append(str(m.take(m.number(width)), "utf-8"))


def _bytes(width: int) -> Callable[[_Machine], None]:
    return lambda m: m.stack.append(m.take(m.number(width)))


def _signed(size: Callable[[_Machine], int]) -> Callable[[_Machine], None]:
    return lambda m: m.stack.append(int.from_bytes(m.take(size(m)), "little", signed=True))


_HANDLERS: dict[int, Callable[[_Machine], Any]] = {
    0x80: _Machine.protocol,
    0x95: lambda m: m.take(8),  # FRAME: how much could be read ahead; nothing to believe
    ord("("): _Machine.mark,
    ord("0"): lambda m: m.stack.pop(),
    ord("1"): _Machine.since_mark,
    ord("N"): lambda m: m.stack.append(None),
    0x88: lambda m: m.stack.append(True),
    0x89: lambda m: m.stack.append(False),
    ord("J"): _signed(lambda _: 4),
    ord("M"): lambda m: m.stack.append(m.number(2)),
    0x8A: _signed(lambda m: m.number(1)),  # LONG1
    ord("X"): _text(4),
    0x8D: _text(8),
    ord("C"): _bytes(1),
    ord("B"): _bytes(4),
    0x8E: _bytes(8),
    0x96: _bytes(8),  # BYTEARRAY8
    ord(")"): lambda m: m.open(()),
    0x85: lambda m: m.pack(m.last(1)),
    0x86: lambda m: m.pack(m.last(2)),
    0x87: lambda m: m.pack(m.last(3)),
    ord("t"): lambda m: m.pack(m.since_mark()),
    ord("]"): lambda m: m.open([]),
    ord("a"): lambda m: m.extend(m.last(1)),
    ord("e"): lambda m: m.extend(m.since_mark()),
    ord("}"): lambda m: m.open({}),
    ord("s"): lambda m: m.put(m.last(2)),
    ord("u"): lambda m: m.put(m.since_mark()),
    0x8F: lambda m: m.open(set()),
    0x90: lambda m: m.add(m.since_mark()),
    0x91: lambda m: m.freeze(m.since_mark()),
    ord("q"): lambda m: m.remember(m.number(1)),
    ord("r"): lambda m: m.remember(m.number(4)),
    ord("h"): lambda m: m.recall(m.number(1)),
    ord("j"): lambda m: m.recall(m.number(4)),
    ord("c"): lambda m: m.refer(m.line(), m.line()),
    0x93: lambda m: m.refer(*m.last(2)),
    ord("R"): _Machine.call,
    ord("b"): _Machine.build,
}

"""Where a JSON text is wrong: the line of a file of PD1, the entry and the character in LCBench."""

import io
import json

import pytest
from source_stories import json_lines, lcbench_run, pd1_run, refused

from rungwise.errors import TableError
from rungwise.lab.sources import json_stream

GOOD = json_lines([pd1_run(0.1), pd1_run(0.2)])

LINES = {
    b'{"dataset": "a",, "model": "b"}': "character 17",
    b'{"dataset": "\xff"}': "byte 14 is not UTF-8",
    b'{"dataset": ' + b"[" * 100_000: "nested that deeply",
    b'{"n": ' + b"9" * 10_000 + b"}": "an integer of that many digits",
    b'{"dataset"': "character 12",
}


@pytest.mark.parametrize("line", LINES, ids=LINES.get)
def test_the_line_of_a_run_of_pd1(tmp_path, line):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(GOOD + b"\n" + line + b"\n" + GOOD)
    said = refused(path, tmp_path, "mine.jsonl, line 4 is", LINES[line])
    assert "line 1 " not in said


def test_an_integer_beyond_all_floats_has_its_line(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(GOOD + json_lines([pd1_run(0.3, [10**400])]))
    refused(path, tmp_path, "mine.jsonl, line 3, valid/error_rate", "beyond ±1e+30")
    path.write_bytes(GOOD + json_lines([pd1_run(0.3, **{"hps.batch_size": 10**400})]))
    refused(path, tmp_path, "mine.jsonl")


ENTRIES = {
    "[1,, 2]": "character {+3}",
    '{"x" 5}': "character {+5}",
    "nothing": "character {+0}",
    '"\t"': "character {+1}",
    "[" * 100_000: "nested that deeply",
    "9" * 10_000: "an integer of that many digits",
    "5 6": "at character {+2}, '6",
    "5]": "at character {+1}, ']",
}


@pytest.mark.parametrize("chunk", [7, 1000, 2**20])
@pytest.mark.parametrize("wrong", ENTRIES, ids=lambda wrong: wrong[:8])
def test_the_entry_and_the_character_in_lcbench(wrong, chunk):
    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, chunk))

    begin = '{"ä": {"0": 1}, "b": {' + ", ".join(f'"{n}": [0.5, "é"]' for n in range(200))
    begin += ', "wrong": '
    text = begin + wrong + ', "next": ' + "[1, 2, 3], " * 50
    with pytest.raises(TableError) as caught:
        list(json_stream.iterate_entries(Slow(text.encode()), "x"))
    expected = ENTRIES[wrong]
    for more in range(6):
        expected = expected.replace(f"{{+{more}}}", f"{len(begin) + more + 1:,}")
    assert expected in str(caught.value)
    assert str(caught.value).startswith("x: 'b', 'wrong' is ")


@pytest.mark.parametrize("chunk", [7, 2**20])
def test_a_byte_that_is_no_utf8_is_told_in_its_entry(chunk):
    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, chunk))

    begin = '{"a": {"ä": 1, "1": "é'.encode()
    text = begin + b'\xff", "2": 2}, "b": {"0": 0}}'
    seen = []
    with pytest.raises(TableError) as caught:
        seen.extend(json_stream.iterate_entries(Slow(text), "x"))
    assert str(caught.value).startswith("x: 'a', '1' is damaged")
    assert f"byte {len(begin) + 1} is not UTF-8" in str(caught.value)


def test_the_end_of_a_text_is_called_so():
    with pytest.raises(
        TableError, match=r"x: 'a', '0' is .*\(at its end, a comma or a closing brace is expected"
    ):
        list(json_stream.iterate_entries(io.BytesIO(b'{"a": {"0": 1'), "x"))


def test_an_error_is_told_before_megabytes_behind_it_are_read():
    class Endless(io.RawIOBase):
        total = 0

        def read(self, size=-1):
            self.total += size
            return b'{"a": {"0": [1,, ' if self.total == size else b"1, " * (size // 3)

    stream = Endless()
    with pytest.raises(TableError, match=r"'a', '0' is .* character 16"):
        list(json_stream.iterate_entries(stream, "x"))
    assert stream.total <= 2**22


def test_the_place_is_told_to_who_converts(tmp_path):
    path = tmp_path / "data_2k.json"
    run = json.dumps(lcbench_run(0))
    path.write_text(f'{{"adult": {{"0": {run}, "1": [1,, 2]}}}}')
    refused(path, tmp_path, "data_2k.json: 'adult', '1' is damaged", f"character {len(run) + 27:,}")


@pytest.mark.parametrize("text", ["{}", " {\n}\n", "{ }"])
def test_an_empty_object_is_nothing_that_is_known(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    refused(path, tmp_path, "in an unknown format")

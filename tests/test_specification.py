"""Files that describe spaces and studies: what they mean, and what is refused, with its place."""

import json
import textwrap

import pytest

import rungwise as rw
from rungwise.errors import InvalidArgumentError, SpaceError
from rungwise.specification import files, read_space


def written(folder, name, text):
    path = folder / name
    content = text if isinstance(text, bytes) else textwrap.dedent(text).encode()
    path.write_bytes(content)
    return path


# -- texts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 0.0001),
        ("1E5", 100000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("+3", 3),
        ("-0.5", -0.5),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("true", True),
        ("False", False),
        ("~", None),
        ("NULL", None),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("1_000", "1_000"),
        ("1e", "1e"),
        ('"1e-4"', "1e-4"),
        ("'true'", "true"),
        ("|\n  text", "text"),
        (r'"\ud83d\ude00"', "\N{GRINNING FACE}"),
    ],
)
def test_values_follow_yaml_1_2(text, value):
    found = files.parse(f"key: {text}".encode(), "x.yaml").data["key"]
    assert (type(found), found) == (type(value), value)


def test_infinities_are_read_for_others_to_refuse():
    data = files.parse(b"a: [.inf, -.Inf, .nan]", "x.yaml").data
    assert str(data["a"]) == "[inf, -inf, nan]"


def test_aliases_stand_for_what_they_name():
    data = files.parse(b"a: &x {low: 1}\nb: *x\nc: [*x, &y 3, *y]", "x.yaml").data
    assert data == {"a": {"low": 1}, "b": {"low": 1}, "c": [{"low": 1}, 3, 3]}


BOMB = "a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("content", "place", "rule"),
    [
        (b"", "x.yaml is empty", "must hold something"),
        (b"# only a comment\n", "x.yaml is empty", ""),
        (b"---\n", "x.yaml is empty", ""),
        (b"a: 1\nb: \xff\n", "line 2 of x.yaml", "UTF-8"),
        (b"a: 1\nb: [1, 2\n", "line 3 of x.yaml", "must be YAML"),
        (b"a: 1\n b: 2\n", "line 2 of x.yaml is 'b: 2'", "must be YAML"),
        (b"a: 1\nb: \x07\n", "line 2 of x.yaml", "must be YAML"),
        (b"a: 1\nb: 2\na: 3\n", "line 3 of x.yaml is 'a: 3'", "the key 'a' is given twice"),
        (b"a: {b: 1, b: 1}", "line 1 of x.yaml", "the key 'b' is given twice"),
        (b"a: 1\n1: 2\n", "line 2 of x.yaml", "a key must be text (put it in quotes)"),
        (b"[1]: 2\n", "line 1 of x.yaml", "a key must be text"),
        (b"a: !!python/object:os.system x", "line 1 of x.yaml", "tags"),
        (b"a: !!set {x}", "line 1 of x.yaml", "tags"),
        (b"a: &x {b: 1}\nc:\n  <<: *x\n", "line 3 of x.yaml", "merge keys"),
        (b"a: &x [*x]", "line 1 of x.yaml", "*x refers to nothing"),
        (b"a: *x", "line 1 of x.yaml", "*x refers to nothing"),
        (b"a: 1\n---\nb: 1\n", "line 2 of x.yaml", "one document"),
        (BOMB.encode(), "line 6 of x.yaml", "at most 100000 values"),
        (b"[" * 500, "line 1 of x.yaml", "nest"),
        (b"a: " + b"9" * 5000, "line 1 of x.yaml", "too many digits"),
        (b'a: "\\U00110000"', "x.yaml is unreadable YAML", ""),
        (b'a: "\\ud800"', "x.yaml is '\\ud800'", "Unicode"),
    ],
)
def test_bad_yaml_is_refused_with_its_line(content, place, rule):
    with pytest.raises(InvalidArgumentError) as caught:
        files.parse(content, "x.yaml")
    assert place in str(caught.value)
    assert rule in str(caught.value)


@pytest.mark.parametrize(
    ("content", "place", "rule"),
    [
        (b" ", "x.json is empty", ""),
        (b'{"a": 1,\n "b": }', "line 2 of x.json", "must be JSON"),
        (b'{"a": 1,\n "a": 2}', """line 2 of x.json is '"a": 2}'""", "the key 'a' is given twice"),
        (b'{"a":\n {"\\u0061": 1,\n "b": {},\n "a": 2}}', "line 4 of x.json", "given twice"),
        (b'[\n"NaN: {", {"a":\nNaN}]', "line 3 of x.json", "NaN is not allowed"),
        (b"[1,\n-Infinity]", "line 2 of x.json", "-Infinity is not allowed"),
        (b"[1,\n-1e999]", "line 2 of x.json", "-1e999 is too large"),
        ('["\u2028 \\" {",\n NaN]'.encode(), "line 2 of x.json is 'NaN]'", "NaN is not allowed"),
        ('["\u2028",\n\n wrong]'.encode(), "line 3 of x.json is 'wrong]'", "must be JSON"),
        (b"[" * 100_000, "x.json is nested too deeply", ""),
        (b"[" * 40 + b"]" * 40, "x.json is nested too deeply", "32 levels"),
        (b"[1,\n" + b"9" * 5000 + b"]", "line 2 of x.json", "the number has too many digits"),
        (b'"\\ud800"', "x.json", "Unicode"),
    ],
)
def test_bad_json_is_refused(content, place, rule):
    with pytest.raises(InvalidArgumentError) as caught:
        files.parse(content, "x.json", is_json=True)
    assert place in str(caught.value)
    assert rule in str(caught.value)


def test_json_is_json_tabs_and_all(tmp_path):
    path = written(tmp_path, "space.json", b'{\n\t"lr": {"type":"float","low":1e-4,"high":1}\n}')
    assert read_space(path) == rw.Space.parse({"lr": rw.Float(1e-4, 1)})


def test_files_that_cannot_be_read_are_refused(tmp_path, monkeypatch):
    with pytest.raises(InvalidArgumentError, match=r"none\.yaml.*no such file"):
        read_space(tmp_path / "none.yaml")
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        read_space(tmp_path)
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        read_space("a\0b")
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    path = written(tmp_path, "big.yaml", "lr: [1, 2, 3, 4]")
    with pytest.raises(InvalidArgumentError, match=r"big\.yaml is too long, but 10 bytes"):
        read_space(path)


def test_a_byte_order_mark_is_no_part_of_the_first_key():
    assert files.parse(b"\xef\xbb\xbfa: 1", "x.yaml").data == {"a": 1}


# -- spaces ----------------------------------------------------------------------------------

SPACE = """
    lr: {type: float, low: 1e-4, high: 1, log: true}
    units: {type: int, low: 8, high: 256, log: true}
    act: [relu, tanh]
    size: {type: choice, options: [small, large], ordered: true}
    momentum: {type: float, low: 0, high: 1, when: {name: act, op: "==", value: relu}}
    batch: 32
    rates: [1e-3, 1, true, null, "1e-3", no]
    forbidden:
      - all: [{name: lr, op: ">", value: 5e-1}, {name: act, op: "==", value: tanh}]
      - any: [{left: lr, op: ">", right: units}]
"""


def test_every_form_of_a_parameter(tmp_path):
    space = read_space(written(tmp_path, "space.yaml", SPACE))
    domains = {known.name: known.domain for known in space.parameters}
    assert domains == {
        "lr": rw.Float(1e-4, 1, log=True),
        "units": rw.Int(8, 256, log=True),
        "act": rw.Choice(["relu", "tanh"]),
        "size": rw.Choice(["small", "large"], ordered=True),
        "momentum": rw.Float(0, 1),
        "batch": rw.Choice([32]),
        "rates": rw.Choice([1e-3, 1, True, None, "1e-3", "no"]),
    }
    conditions = {known.name: str(known.condition) for known in space.parameters if known.condition}
    assert conditions == {"momentum": "act == 'relu'"}
    assert sorted(map(str, space.forbidden)) == ["(lr > 0.5 and act == 'tanh')", "(lr > units)"]


def test_parameters_may_stand_under_a_key_of_their_own(tmp_path):
    lines = textwrap.dedent(SPACE).strip().splitlines()
    short = "\n".join(lines)
    nested = "parameters:\n" + textwrap.indent("\n".join(lines[:7]), "  ") + "\n"
    nested += "\n".join(lines[7:])
    one, other = (
        read_space(written(tmp_path, f"{name}.yaml", text))
        for name, text in (("a", short), ("b", nested))
    )
    assert one == other


def test_the_full_document_is_read_as_it_was_written(tmp_path):
    space = read_space(written(tmp_path, "space.yaml", SPACE))
    for name in ("a.yaml", "a.json"):
        assert read_space(written(tmp_path, name, json.dumps(space.to_json()))) == space
    assert read_space(space.to_json()) == space


def test_a_parameter_may_be_called_version_or_forbidden():
    assert read_space({"version": [1, 2, 3]}).names == ("version",)
    space = read_space({"parameters": {"forbidden": [1, 2, 3], "parameters": [3]}})
    assert space.names == ("forbidden", "parameters")


def test_numbers_that_another_reader_took_for_text():
    """PyYAML reads 1e-4 as text; bounds are numbers all the same, options are what they are."""
    space = read_space({"lr": {"type": "float", "low": "1e-4", "high": "1"}, "o": ["1e-4"]})
    assert space == rw.Space.parse({"lr": rw.Float(1e-4, 1), "o": ["1e-4"]})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- 1", "space.yaml is [1], but a space must be a mapping"),
        ("lr:", "lr (space.yaml, line 1) is None, but a parameter must be"),
        ("a: 1\nlr: {low: 0, high: 1}", "type of lr (space.yaml, line 2) is missing"),
        ("lr: {type: real}", "type of lr (space.yaml, line 1) is 'real'"),
        ("lr: {type: loguniform}", "did you mean {type: float, …, log: true}? it must be one of"),
        ("lr: {type: float, min: 0}", "is 'min', but did you mean 'low'?"),
        ("o: {type: choice, values: [1]}", "is 'values', but did you mean 'options'?"),
        ("lr: (0.1, 1)", "lr (space.yaml, line 1) is '(0.1, 1)', but YAML has no tuples"),
        ("lr: tune.uniform(0, 1)", "YAML has no tuples and no calls"),
        ("lr: [1e-3, 1, log]", "probably {type: float, low: 0.001, high: 1.0, log: true}"),
        ("lr: {type: [float]}", "it must be one of float, int, choice"),
        ("lr: {type: float, low: 0}", "must have 'high'"),
        ("lr:\n  type: float\n  low: x\n  high: 1", "low of lr (space.yaml, line 1) is 'x'"),
        ("lr: {type: float, low: 1, high: 0}", "less than high"),
        ("lr: {type: float, low: 0, high: 1, log: true}", "positive on a log scale"),
        ("lr: {type: float, low: 0, high: .inf}", "high of lr"),
        ("lr: {type: float, low: 0, high: 1, log: yes}", "log of lr (space.yaml, line 1) is 'yes'"),
        (
            "lr:\n  type: float\n  low: 0\n  hihg: 1",
            "a key of lr.hihg (space.yaml, line 4) is 'hihg', but did you mean 'high'?",
        ),
        ("n: {type: int, low: 0.5, high: 2}", "low of n"),
        ("n: {type: int, low: 0, high: 2, options: [1]}", "the keys here are type, low, high"),
        ("act: []", "at least one option"),
        ("act: [relu, relu]", "'relu' is listed twice"),
        ("act: [[1], [2]]", "options of act (space.yaml, line 1) is [1]"),
        ("act: {type: choice, options: relu}", "list or tuple"),
        ("act: {type: choice, options: [1], ordered: 1}", "ordered of act"),
        ("a: [1]\nforbidden: {name: a}", "forbidden (space.yaml, line 2) is"),
        ("a: [1]\nforbidden:\n- {name: a, op: '=='}", "forbidden[0] (space.yaml, line 3)"),
        ("a: [1]\nforbidden:\n- {name: a, op: [x], value: 1}", "forbidden[0].op"),
        ("a: [1]\nforbidden:\n- {name: a, op: '=', value: 1}", "op"),
        ("a: [1]\nforbidden:\n- {name: b, op: '==', value: 1}", "a rule may name only 'a'"),
        ("a: [1]\nforbidden:\n- {all: []}", "at least one rule"),
        ("a: [1]\nforbidden:\n- {all: [], any: []}", "a key of forbidden[0].any"),
        ("a: [1]\nforbidden: [5]", "a rule must be a mapping"),
        ("a: {type: choice, options: [1], when: 3}", "a.when (space.yaml, line 1)"),
        ("forbidden: []", "at least one parameter"),
        ("parameters: 3", "a mapping or a list of parameters"),
        ("parameters: {a: [1]}\nlr: [1]", "the keys here are version, parameters, forbidden"),
        ("parameters: {a: [1]}\nversion: 2", "version"),
        ("parameters: [{type: int}]", "name of parameters[0] (space.yaml, line 1) is None"),
        ("parameters: [3]", "parameters[0]"),
        (
            "parameters:\n- &x {name: a, type: choice, options: [1]}\n- *x",
            "two parameters have this name",
        ),
        ("parameters: [{name: a, type: choice, options: [1], prior: 3}]", "document"),
    ],
)
def test_bad_spaces_are_refused_with_their_place(tmp_path, text, told):
    with pytest.raises(InvalidArgumentError) as caught:
        read_space(written(tmp_path, "space.yaml", text))
    assert told in str(caught.value)


def test_conditions_without_end_are_refused():
    """A chain of conditions longer than Python can follow."""
    chain = {"p0": [1]} | {
        f"p{n}": {
            "type": "choice",
            "options": [1],
            "when": {"name": f"p{n - 1}", "op": "==", "value": 1},
        }
        for n in range(1, 3000)
    }
    with pytest.raises(InvalidArgumentError, match="nested too deeply"):
        read_space(dict(reversed(chain.items())))


def test_a_mapping_has_no_file_to_name():
    with pytest.raises(SpaceError, match=r"^high of lr is 'x', but"):
        read_space({"lr": {"type": "float", "low": 0, "high": "x"}})
    with pytest.raises(InvalidArgumentError, match="a key is 3"):
        read_space({3: [1]})
    with pytest.raises(InvalidArgumentError, match="must be a mapping"):
        read_space(3)


@pytest.mark.parametrize("number", ["0x" + "f" * 5000, "0o" + "7" * 5000, "9" * 5000])
def test_numbers_of_thousands_of_digits_are_refused(number):
    with pytest.raises(InvalidArgumentError, match="too many digits"):
        files.parse(f"a: {number}".encode(), "x.yaml")

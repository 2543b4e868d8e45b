"""Any input at all is read or refused; nothing else may happen."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rungwise as rw
from rungwise.errors import RungwiseError
from rungwise.options.build import StudyRequest, build_study, name_arguments
from rungwise.options.study_options import RunOptions
from rungwise.specification import files, load_function, read_space, read_study

pytestmark = pytest.mark.no_cover

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.integers(),
    st.floats(),
    st.sampled_from(
        [
            "float",
            "int",
            "choice",
            "a",
            "b",
            "==",
            "<",
            "in",
            "x.sh:f",
            "soft:1",
            "gp:1",
            "optuna",
            "",
        ]
    ),
    st.text(max_size=5),
)
WORDS = st.sampled_from(
    (  # noqa: SIM905 - a list of words is easier to read as such
        "a b type low high log options ordered when name op value left right all any forbidden "
        "parameters version prior weights train command space metric goal scheduler ranking eta "
        "epsilon trials flags environment initial max_resource min_resource searcher transfer "
        "leaders startup sampler options self"
    ).split()
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=20,
)
RULES = st.recursive(
    st.fixed_dictionaries({"name": WORDS, "op": SCALARS, "value": SCALARS}),
    lambda inner: st.fixed_dictionaries({"all": st.lists(inner, max_size=3)}),
    max_leaves=4,
)
PARAMETERS = st.one_of(
    TREES,
    st.lists(SCALARS, max_size=4),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["float", "int"]), "low": SCALARS, "high": SCALARS},
        optional={"log": st.booleans() | SCALARS, "when": RULES},
    ),
    st.fixed_dictionaries(
        {"type": st.just("choice"), "options": st.lists(SCALARS, max_size=4)},
        optional={"ordered": st.booleans(), "when": RULES},
    ),
)
SPACES = st.one_of(
    TREES,
    st.dictionaries(WORDS, PARAMETERS, min_size=1, max_size=4),
    st.fixed_dictionaries(
        {"parameters": st.dictionaries(WORDS, PARAMETERS, max_size=4)},
        optional={"forbidden": st.lists(RULES, max_size=3), "version": st.just(1)},
    ),
)


SEARCHERS = st.dictionaries(
    st.sampled_from(["startup", "points", "sampler", "options", "self", "seed"]), TREES, max_size=3
).flatmap(
    lambda options: st.sampled_from(["gp", "grid", "optuna"]).map(lambda t: {**options, "type": t})
)


BACKENDS = st.dictionaries(st.sampled_from(["workers", "preload", "self"]), TREES, max_size=2).map(
    lambda options: {**options, "type": "local"}
) | st.sampled_from(["threads", "local:2", "local:workers=", "local:preload=[1]"])


def read_or_refused(function, *arguments):
    """What a function returns, or None if it refuses; any other exception is a failure."""
    try:
        return function(*arguments)
    except RungwiseError:
        return None


def is_json(data):
    """Whether it is JSON without what Python adds to it: to YAML, Infinity is a word."""
    try:
        return bool(json.dumps(data, allow_nan=False))
    except ValueError:
        return False


def sound(space):
    """A space that was read can be used and written down."""
    assert rw.Space.from_json(json.loads(json.dumps(space.to_json()))) == space


@settings(max_examples=400)
@given(st.text() | st.text("[]{},:&*!|>'\"%@-#? \n\tab1e.<", max_size=40))
@example("a: &a [*a]")
@example("%YAML 9.9\n---\na: 1")
@example('"\\x')
@example("? a\n: b")
@example("a: !<tag:x> b")
@example("- - - -\n\t- x")
def test_any_text_is_yaml_or_refused(text):
    read_or_refused(files.parse, text.encode("utf-8", "surrogatepass"), "x.yaml")


@settings(max_examples=200)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content):
    for is_json in (False, True):
        read_or_refused(lambda: files.parse(content, "x", is_json=is_json))  # noqa: B023


@settings(max_examples=400)
@given(SPACES)
def test_any_mapping_is_a_space_or_refused(data):
    space = read_or_refused(read_space, data)
    if space is not None:
        sound(space)


@settings(max_examples=200)
@given(data=SPACES, suffix=st.sampled_from(["yaml", "json"]))
@example({"\N{GRINNING FACE}": "\N{GRINNING FACE}"}, "json")
@example({"\N{GRINNING FACE}": "\N{GRINNING FACE}"}, "yaml")
def test_any_file_is_a_space_or_refused(tmp_path_factory, data, suffix):
    path = tmp_path_factory.getbasetemp() / f"fuzzed.{suffix}"
    path.write_text(json.dumps(data), encoding="utf-8")
    space = read_or_refused(read_space, path)
    if space is None:
        return
    sound(space)
    if is_json(data):
        # JSON is YAML: the same text means the same, however it is called.
        other = path.with_suffix(".json" if suffix == "yaml" else ".yaml")
        other.write_bytes(path.read_bytes())
        assert read_space(other) == space


@settings(max_examples=300)
@given(
    data=st.fixed_dictionaries(
        {"train": st.just("train.sh"), "space": st.just({"a": [1, 2, 3]}) | SPACES},
        optional={
            **dict.fromkeys(("scheduler", "ranking", "initial", "study"), SCALARS | TREES),
            **dict.fromkeys(("searcher", "transfer", "leaders"), SCALARS | TREES | SEARCHERS),
            **dict.fromkeys(("flags", "environment", "trials", "eta", "keep"), SCALARS | TREES),
            **dict.fromkeys(("backend", "workers", "preload", "show"), SCALARS | TREES | BACKENDS),
            **dict.fromkeys(("checkpoints", "grace", "size", "promote"), SCALARS | TREES),
            "max_resource": st.integers(-1, 30),
            "checkpoint_quota": SCALARS,
        },
    ).map(lambda data: {"metric": "x", "goal": "min", **data})
    | st.dictionaries(WORDS, TREES)
)
def test_any_file_is_a_study_or_refused(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    (folder / "train.sh").touch()
    path = folder / "fuzzed_study.yaml"
    path.write_text(json.dumps(data), encoding="utf-8")
    found = read_or_refused(read_study, path)
    if found is None:
        return
    assert isinstance(found.space, rw.Space)

    def ask(written):
        with name_arguments(written.document.name_argument):
            RunOptions.take(written.options)
            return build_study(StudyRequest.take(written.space, written.options))

    read_or_refused(ask, found)


@settings(max_examples=200)
@given(st.text(max_size=20) | SCALARS)
def test_any_reference_is_loaded_or_refused(reference):
    if isinstance(reference, str) and reference.isascii() and ":" in reference:
        return  # it might name a module that does something when it is imported
    read_or_refused(load_function, reference)

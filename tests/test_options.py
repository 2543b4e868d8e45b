"""An option is written once: what follows from a field."""

import inspect
from dataclasses import dataclass, replace

import pytest
import typer
from typer.testing import CliRunner

import rungwise as rw
from rungwise.cli.commands import load_command
from rungwise.cli.options import describe, with_options
from rungwise.errors import InvalidArgumentError
from rungwise.options import (
    REQUIRED,
    check_options,
    check_positive,
    list_options,
    make_count_check,
    option,
    take,
)
from rungwise.options.backend_options import SHORT_FORMS
from rungwise.options.study_options import GROUPS, LadderOptions, OutputOptions, RunOptions
from rungwise.tuning.extending import EXTENDABLE

ALL = (*list_options(*GROUPS), *SHORT_FORMS)


@dataclass(frozen=True, slots=True)
class Sample:
    size: int = option(REQUIRED, text="how large.", check=make_count_check(1), kind=int)
    depth: object = option(
        "auto", text="how deep.", check=make_count_check(0, "auto"), kind=int, words=("auto",)
    )
    pace: float | None = option(None, text="how fast.", check=check_positive, kind=float)
    names: object = option(
        (), text="names.", check=lambda name, value: tuple(value), repeatable=True
    )
    hidden: object = option(None, text="Python only.", check=check_positive, flag=False)

    def __post_init__(self):
        check_options(self)


def test_values_are_checked_and_cleaned_by_their_fields():
    found = Sample(3, pace=2, names=["a"])
    assert (found.size, found.depth, found.pace, found.names) == (3, "auto", 2.0, ("a",))
    with pytest.raises(InvalidArgumentError, match=r"depth is -1.*at least 0, or 'auto'"):
        Sample(3, depth=-1)
    with pytest.raises(InvalidArgumentError, match="depth is None"):
        Sample(3, depth=None)  # None is a value only where it is the default
    with pytest.raises(InvalidArgumentError, match="pace is 0, but it must be above 0"):
        Sample(3, pace=0)
    with pytest.raises(TypeError, match="size"):
        Sample()


def test_one_check_serves_every_place():
    size, *_ = list_options(Sample)
    assert (size.name, size.required, size.flag_name) == ("size", True, "--size")
    assert size.check_written("size (s.yaml, line 3)", 1e3) == 1000
    with pytest.raises(InvalidArgumentError, match=r"size \(s.yaml, line 3\) is 2.5"):
        size.check_written("size (s.yaml, line 3)", 2.5)


def test_each_group_takes_its_own_of_many_arguments():
    assert take(Sample, {"size": 1, "other": 5, "pace": 3}) == Sample(1, pace=3)


def run_sample(*arguments):
    program, seen = typer.Typer(), {}

    @program.command()
    @with_options(list_options(Sample))
    def command(what: str, given: dict, loud: bool = False) -> None:  # noqa: FBT001, FBT002
        """A command."""
        seen.update(what=what, given=given, loud=loud)

    done = CliRunner().invoke(program, list(arguments))
    return done, seen


def test_flags_follow_from_fields():
    done, seen = run_sample(
        *("it", "--size", "3", "--depth", "7", "--names", "a", "--names", "b", "--loud")
    )
    assert done.exit_code == 0, done.output
    given = {"size": 3, "depth": 7, "names": ["a", "b"]}
    assert seen == {"what": "it", "given": given, "loud": True}
    assert run_sample("it", "--depth", "auto")[1]["given"] == {"depth": "auto"}
    assert run_sample("it", "--size", "0")[1]["given"] == {"size": 0}  # 0 is given, too
    assert run_sample("it")[1]["given"] == {}
    assert run_sample("it", "--size", "much")[0].exit_code == 2
    assert run_sample("it", "--hidden", "5")[0].exit_code == 2


def flags_of(command):
    return {one.name: one for one in load_command(command).params}


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.name)
def test_tune_has_a_flag_for_every_option_with_its_text(each):
    found = flags_of("tune")
    assert (each.name in found) == each.flag
    if each.flag:
        assert found[each.name].opts == [each.flag_name]
        assert found[each.name].help == describe(each)
        assert found[each.name].help.lower().startswith((each.flag_text or each.text).lower())


def test_resume_has_a_flag_for_every_option_that_may_change():
    changeable = [each.name for each in list_options(RunOptions) if not each.fixed]
    assert "durability" not in changeable
    own = {"dashboard", "study", "train", "trust", "quiet", "as_json", "show", "track"}
    shorts = {each.name for each in SHORT_FORMS}
    larger = {each.name for each in EXTENDABLE}
    assert larger == {"trials", "stall", "seconds", "resource_budget", "target", "max_resource"}
    assert set(flags_of("resume")) == {*changeable, *shorts, *own, *larger}


def test_texts_are_sentences():
    for each in ALL:
        assert each.text.endswith("."), each.name
        assert "[" not in each.text, f"{each.name}: the command line would take it for markup"


def test_names_are_given_once():
    names = [each.name for each in ALL]
    assert len(names) == len(set(names))


def test_the_options_of_the_scheduler_are_fields_of_schedulers():
    kinds = (rw.PASHA, rw.ASHA, rw.SuccessiveHalving, rw.Hyperband, rw.AsyncHyperband)
    known = {name for kind in kinds for name in kind.__dataclass_fields__}
    assert {each.name for each in list_options(LadderOptions)} <= known


def test_backends_are_values():
    assert rw.Local(4) == rw.Local(workers=4) != rw.Local()
    assert replace(rw.Local(preload=["json"]), workers=2) == rw.Local(2, preload=("json",))
    assert hash(rw.Threads(2)) == hash(rw.Threads(2))
    for wrong in ({"workers": 0}, {"workers": "many"}, {"workers": None}):
        for kind in (rw.Local, rw.Threads):
            with pytest.raises(InvalidArgumentError, match=r"workers is .*, or 'auto'"):
                kind(**wrong)
    with pytest.raises(InvalidArgumentError, match="gpus_per_worker is -1"):
        rw.Local(gpus_per_worker=-1)
    with pytest.raises(InvalidArgumentError, match="preload is 'json'"):
        rw.Local(preload="json")


def test_what_is_shown_is_an_option_of_the_output():
    assert OutputOptions().show == "auto"
    assert "show" in inspect.signature(rw.resume).parameters

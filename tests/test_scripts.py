"""Scripts as training functions: real processes, and a run that writes down what it is told."""

import os
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from script_stand_ins import FakeRun, Unwound, noted_pid, python, running, shell

from rungwise.backends.unwinding import UNWIND
from rungwise.errors import InvalidArgumentError, RungwiseError
from rungwise.scripts import Script, ScriptError, processes
from rungwise.scripts.reports import Reports, ScriptReport

# -- reports ---------------------------------------------------------------------------------


def test_reports_arrive_in_order_with_all_metrics(tmp_path):
    run = FakeRun(tmp_path, until=2)
    python("report(1, loss=0.5, acc=1)\nreport(2, loss=0.25)")({}, run)
    assert run.told == [("report", 1, {"loss": 0.5, "acc": 1}), ("report", 2, {"loss": 0.25})]


def test_reports_arrive_while_the_script_runs(tmp_path):
    run = FakeRun(tmp_path, until=2)
    run.on_report = lambda resource: (tmp_path / "go").touch()
    code = f"report(1, loss=1)\nwhile not os.path.exists({str(tmp_path / 'go')!r}):\n"
    python(code + "    time.sleep(0.01)\nreport(2, loss=2)")({}, run)
    assert run.reports() == [(1, {"loss": 1}), (2, {"loss": 2})]


def test_a_torn_line_is_waited_for(tmp_path):
    run = FakeRun(tmp_path, until=2)
    code = """
    printf '{"resource": 1, "lo' >>"$RUNGWISE_REPORTS"; sleep 0.2
    printf 'ss": 0.5}\\n\\n{"resource": 2, "loss": 0.4}' >>"$RUNGWISE_REPORTS"
    """
    shell(code)({}, run)
    assert run.reports() == [(1, {"loss": 0.5}), (2, {"loss": 0.4})]


def test_reading_in_any_pieces_gives_the_same_lines(tmp_path):
    content = b'{"resource": 1}\n\n{"resource": 2, "n": "\xc3\xa4"}\n{"resource": 3}'
    for cut in range(len(content) + 1):
        reports = Reports(tmp_path / f"{cut}")
        with reports.path.open("ab") as file:
            file.write(content[:cut])
            file.flush()
            found = reports.read(whole=False)
            file.write(content[cut:])
        found += reports.read(whole=False)
        assert len(found) == 2
        found += reports.read(whole=True)
        assert [ScriptReport.of(line).resource for line in found] == [1, 2, 3]
        assert reports.read(whole=True) == []


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("epoch 1", "must be JSON"),
        ("[1, 2]", "must be a JSON object"),
        ('{"loss": 1}', '"resource" must be a number'),
        ('{"resource": "1"}', '"resource" must be a number'),
        ('{"resource": true}', '"resource" must be a number'),
        ('{"resource": NaN}', '"resource" must be a number'),
        (f'{{"resource": 1{"0" * 400}}}', '"resource" must be a number'),
        ('{"resource": 1, "checkpoint": 5}', '"checkpoint" must be true or the name'),
        ("[" * 100_000, "must be JSON"),
    ],
)
def test_a_malformed_line_is_shown(line, rule):
    with pytest.raises(InvalidArgumentError, match=rule) as caught:
        ScriptReport.of(line.encode())
    assert line[:40] in str(caught.value)


def test_bytes_that_are_no_text_are_shown():
    with pytest.raises(InvalidArgumentError, match=r"xff"):
        ScriptReport.of(b'{"resource": \xff}')


def test_a_malformed_line_ends_the_script(tmp_path):
    run, pid = FakeRun(tmp_path), tmp_path / "pid"
    code = f"echo $$ >{pid}; echo oops >>$RUNGWISE_REPORTS; exec sleep 60"
    with pytest.raises(InvalidArgumentError, match="oops"):
        shell(code)({}, run)
    assert not running(noted_pid(pid))


def test_nan_is_passed_on_because_the_study_judges_it(tmp_path):
    run = FakeRun(tmp_path)
    python("report(3, loss=float('nan'))")({}, run)
    assert repr(run.reports()) == "[(3, {'loss': nan})]"


@pytest.mark.parametrize("resource", [2, 20])  # a file as long as before, and a longer one
def test_overwriting_the_report_file_is_told(tmp_path, resource):
    run, go = FakeRun(tmp_path, until=99), tmp_path / "go"
    run.on_report = lambda resource: go.touch()
    code = f"""
    echo '{{"resource": 1, "loss": 1}}' >"$RUNGWISE_REPORTS"
    while ! [ -e {go} ]; do sleep 0.01; done
    echo '{{"resource": {resource}, "loss": 1}}' >"$RUNGWISE_REPORTS"
    """
    with pytest.raises(ScriptError, match=r"overwritten.*>>"):
        shell(code)({}, run)


def test_removing_the_report_file_is_told(tmp_path):
    with pytest.raises(ScriptError, match="removed"):
        shell('rm "$RUNGWISE_REPORTS"; sleep 5')({}, FakeRun(tmp_path))


def test_a_line_without_end_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("rungwise.scripts.reports.LONGEST_LINE", 100)
    code = "head -c 200 /dev/zero >>$RUNGWISE_REPORTS; sleep 5"
    with pytest.raises(InvalidArgumentError, match="100 bytes"):
        shell(code)({}, FakeRun(tmp_path))


# -- the end ---------------------------------------------------------------------------------


def test_an_end_before_the_goal_is_an_end(tmp_path):
    run = FakeRun(tmp_path, until=9)
    python("report(1, loss=1)")({}, run)
    assert len(run.told) == 1


def test_no_report_at_all_is_an_error(tmp_path):
    with pytest.raises(ScriptError, match=r"without a report.*RUNGWISE_REPORTS"):
        shell("true")({}, FakeRun(tmp_path))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("exit 3", "exit code 3"),
        ("nosuchcommand", "exit code 127 .*not found"),
        ("kill -KILL $$", "SIGKILL .*memory"),
        ("kill -TERM $$", "SIGTERM"),
    ],
)
def test_a_failure_is_named_after_its_reports_are_in(tmp_path, code, told):
    run = FakeRun(tmp_path)
    line = """echo '{"resource": 1, "loss": 1}' >>$RUNGWISE_REPORTS; printf '{"reso' >>"""
    with pytest.raises(ScriptError, match=told):
        shell(f"{line}$RUNGWISE_REPORTS; touch $RUNGWISE_SAVE/half; {code}")({}, run)
    assert run.told == [("report", 1, {"loss": 1})]  # what is torn or half saved does not count


def test_a_program_that_cannot_start_is_told(tmp_path):
    with pytest.raises(ScriptError, match="cannot be started"):
        Script(("/nowhere/train",))({}, FakeRun(tmp_path))


def test_errors_of_the_run_end_the_script(tmp_path):
    run, pid = FakeRun(tmp_path), tmp_path / "pid"

    def refuse(resource):
        raise InvalidArgumentError("accuracy", "x", "it must be a number")

    run.on_report = refuse
    code = f"""echo $$ >{pid}; echo '{{"resource": 1}}' >>$RUNGWISE_REPORTS; exec sleep 60"""
    with pytest.raises(InvalidArgumentError, match="accuracy"):
        shell(code)({}, run)
    assert not running(noted_pid(pid))


def test_enough_before_the_goal_ends_the_script_and_what_it_started(tmp_path):
    run, pid = FakeRun(tmp_path, until=9, enough=1), tmp_path / "pid"
    code = f"""
    sleep 60 & echo $! >{pid}
    echo '{{"resource": 1, "loss": 1}}' >>$RUNGWISE_REPORTS; touch $RUNGWISE_SAVE/x; wait
    """
    began = time.monotonic()
    shell(code)({}, run)
    assert time.monotonic() - began < 10
    assert run.told == [("report", 1, {"loss": 1})]
    assert not running(noted_pid(pid))


def test_a_script_that_ignores_sigterm_is_killed_with_its_children(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "TERM_TIMEOUT", 1.0)
    run, pid = FakeRun(tmp_path, until=9, enough=1), tmp_path / "pid"
    code = f"""
    trap '' TERM; echo $$ >{pid}; sleep 60 & echo $! >{pid}2
    echo '{{"resource": 1, "loss": 1}}' >>$RUNGWISE_REPORTS; wait
    """
    shell(code)({}, run)
    assert not running(noted_pid(pid))
    assert not running(noted_pid(Path(f"{pid}2")))


def test_a_script_that_reached_its_goal_may_still_save(tmp_path):
    run = FakeRun(tmp_path, until=1)
    python("report(1, loss=1)\ntime.sleep(0.3)\n(save / 'model').write_text('x')")({}, run)
    assert run.told == [("report", 1, {"loss": 1}), ("checkpoint", 1, ["model"])]


def test_a_script_that_never_ends_at_its_goal_is_ended(tmp_path, caplog):
    run, pid = FakeRun(tmp_path, until=1), tmp_path / "pid"
    code = f"""echo $$ >{pid}; echo '{{"resource": 1}}' >>$RUNGWISE_REPORTS
    touch $RUNGWISE_SAVE/half; exec sleep 60"""
    shell(code, saving_time=0.1)({}, run)
    assert len(run.told) == 1
    assert "still running 0.1 s" in caplog.text
    assert not running(noted_pid(pid))


def test_a_script_that_trains_on_beyond_its_goal_is_ended_at_once(tmp_path):
    run = FakeRun(tmp_path, until=1)
    code = "for n in range(1, 1000):\n    report(n, loss=1)\n    (save / 'm').touch()\n"
    began = time.monotonic()
    python(code + "    time.sleep(0.05)")({}, run)
    assert time.monotonic() - began < 10
    assert run.told == [("report", 1, {"loss": 1})]  # a later model is no checkpoint at 1


def test_a_quick_script_that_ignored_its_goal_leaves_no_checkpoint(tmp_path):
    run = FakeRun(tmp_path, until=1)
    python("for n in 1, 2, 3: report(n, loss=n)\n(save / 'm').touch()")({}, run)
    assert run.told == [("report", 1, {"loss": 1})]


def test_a_failure_while_saving_is_told(tmp_path):
    run = FakeRun(tmp_path, until=1)
    with pytest.raises(ScriptError, match="exit code 4"):
        python("report(1, loss=1)\ntime.sleep(0.2)\nsys.exit(4)")({}, run)
    assert run.checkpoints() == []


def test_unwinding_ends_the_script(tmp_path):
    """A signal to the worker raises in its main thread, wherever that is just waiting."""
    run, pid = FakeRun(tmp_path, until=9), tmp_path / "pid"

    def stop(number, frame):
        raise Unwound

    def send():
        while not pid.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), UNWIND)

    before = signal.signal(UNWIND, stop)
    sender = threading.Thread(target=send)
    try:
        sender.start()
        with pytest.raises(Unwound):
            shell(f"echo $$ >{pid}.new; mv {pid}.new {pid}; exec sleep 60")({}, run)
    finally:
        sender.join()
        signal.signal(UNWIND, before)
    assert not running(noted_pid(pid))
    assert list(tmp_path.glob(".script-*")) == []


# -- checkpoints -----------------------------------------------------------------------------


def test_what_is_saved_at_the_end_is_a_checkpoint_at_the_last_report(tmp_path):
    run = FakeRun(tmp_path, until=2)
    code = "report(1, loss=1); report(2, loss=1)\n(save / 'sub').mkdir()\n(save / 'sub/m').touch()"
    python(code)({}, run)
    assert run.told[-1] == ("checkpoint", 2, ["sub", "sub/m"])


def test_a_named_folder_is_committed_before_its_report(tmp_path):
    run = FakeRun(tmp_path, until=2)
    code = """
for n in 1, 2:
    (save / f"at{n}").mkdir()
    (save / f"at{n}" / "model").write_text(str(n))
    report(n, loss=n, checkpoint=f"at{n}")
"""
    python(code)({}, run)
    assert run.told == [
        ("checkpoint", 1, ["model"]),
        ("report", 1, {"loss": 1}),
        ("checkpoint", 2, ["model"]),
        ("report", 2, {"loss": 2}),
    ]
    assert (tmp_path / "checkpoints/1/model").read_text() == "1"


def test_a_script_may_wait_until_its_folder_is_empty_again(tmp_path):
    run = FakeRun(tmp_path, until=20)
    code = """
for n in range(1, 21):
    for part in "abc":
        (save / part).write_text(str(n))
    report(n, loss=n, checkpoint=True)
    while any(save.iterdir()):
        time.sleep(0.001)
"""
    python(code)({}, run)
    assert run.checkpoints() == [(n, ["a", "b", "c"]) for n in range(1, 21)]
    for n in range(1, 21):
        assert {(tmp_path / f"checkpoints/{n}" / part).read_text() for part in "abc"} == {str(n)}


def test_what_a_full_disk_left_behind_is_removed(tmp_path):
    """The run may drop a checkpoint; a script that waits for its folder must not wait for ever."""
    run = FakeRun(tmp_path, until=1)

    @contextmanager
    def drop(resource):
        try:
            (tmp_path / "file").touch()
            yield tmp_path / "file" / "nowhere"
        except OSError:
            run.told.append(("dropped", resource, {}))

    run.checkpoint = drop
    code = "(save / 'm').touch(); (save / 'd').mkdir()\nreport(1, loss=1, checkpoint=True)\n"
    python(code + "while any(save.iterdir()): time.sleep(0.01)")({}, run)
    assert run.told == [("dropped", 1, {}), ("report", 1, {"loss": 1})]


@pytest.mark.parametrize("name", [True, "missing", "..", "a/b", ""])
def test_a_checkpoint_that_is_not_there_is_an_error(tmp_path, name):
    with pytest.raises(InvalidArgumentError, match="RUNGWISE_SAVE"):
        python(f"report(1, loss=1, checkpoint={name!r})")({}, FakeRun(tmp_path))


@pytest.mark.parametrize(
    "code",
    [
        "(save / '1').symlink_to(kept)\nreport(1, loss=1, checkpoint='1')\ntime.sleep(5)",
        "save.rmdir(); save.symlink_to(kept)\nreport(1, loss=1, checkpoint=True)\ntime.sleep(5)",
        "save.rmdir(); save.symlink_to(kept)\nreport(1, loss=1, checkpoint='sub')\ntime.sleep(5)",
        "save.rmdir(); save.symlink_to(kept)\nreport(3, loss=1)",
        "save.rmdir()\nreport(3, loss=1)",
    ],
)
def test_a_link_is_no_checkpoint_and_its_target_stays_whole(tmp_path, code):
    kept, run = tmp_path / "kept", FakeRun(tmp_path / "run")
    (kept / "sub").mkdir(parents=True)
    (kept / "sub" / "thesis").write_text("years of work")
    with pytest.raises(RungwiseError, match=r"RUNGWISE_SAVE.*(link|the folder it was)"):
        python(f"kept = Path({str(kept)!r})\n{code}")({}, run)
    assert (kept / "sub" / "thesis").read_text() == "years of work"
    assert run.checkpoints() == []


def test_each_leg_starts_with_nothing_left_of_the_last(tmp_path):
    (tmp_path / ".script-killed/save").mkdir(parents=True)
    code = "assert not any(save.iterdir())\nreport(3, loss=len(list(save.parent.parent.iterdir())))"
    run = FakeRun(tmp_path)
    python(code)({}, run)
    assert run.reports() == [(3, {"loss": 1})]  # its own folder alone
    assert list(tmp_path.iterdir()) == []

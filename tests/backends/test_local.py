"""Worker processes, as the backend's owner sees them: real ones, a few jobs each."""

import functools
import importlib.util
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rungwise.backends import hardware, local, process
from rungwise.core.decisions import CONTINUE, PAUSE, Job
from rungwise.core.events import JobEnded, JobFailed, JobLost, Reported
from rungwise.errors import InvalidArgumentError, WorkerStartError
from rungwise.run import Leg
from rungwise.tuning import functions

PATIENCE = 60.0


class Crew:
    """A backend, and all that it has told."""

    def __init__(self, folder, train, *, workers=1, retries=0, **options):
        self.folder, self.retries = folder, retries
        self.failures, self.extras, self.saved, self.notices = [], [], [], []
        self.facts, self.jobs = [], 0
        hooks = local.Hooks(
            leg=self.leg,
            may_retry=self.may_retry,
            failed=self.failures.append,
            extras=lambda *told: self.extras.append(told),
            saved=lambda *told: self.saved.append(told),
            notice=self.notices.append,
        )
        shares = hardware.share_out(workers, None, devices=())
        options = local.Options(shares=shares, **options)
        function = train if isinstance(train, bytes) else functions.pack(train)
        self.backend = local.LocalBackend(function, hooks, options)

    def leg(self, job):
        folder = self.folder / f"trial-{job.trial}"
        return Leg(job.id, job.trial, job.start, job.until, 99, "loss", "tune", 0, str(folder))

    def may_retry(self, failure):
        self.retries -= 1
        return self.retries >= 0

    def start(self, config=None, *, trial=None, start=0, until=1):
        number, self.jobs = self.jobs, self.jobs + 1
        trial = number if trial is None else trial
        self.backend.start(Job(number, trial, config or {}, start, until))
        return number

    def next(self):
        """The next fact."""
        deadline = time.monotonic() + PATIENCE
        while not self.facts:
            assert time.monotonic() < deadline, "nothing was heard"
            self.facts += self.backend.poll()
        return self.facts.pop(0)

    def finish(self, job, until=1):
        """Let a job report up to a resource, and leave; the values, and how it left."""
        values = []
        while True:
            fact = self.next()
            assert fact.job == job
            if not isinstance(fact, Reported):
                return values, fact
            values.append(fact.value)
            self.backend.answer(job, PAUSE if fact.resource >= until else CONTINUE)

    def outcome(self, config=None, **options):
        """Start a job and see it through."""
        return self.finish(self.start(config, **options))

    def close(self):
        self.backend.close()


@pytest.fixture
def crew(tmp_path):
    made = []

    def make(train, **options):
        made.append(Crew(tmp_path, train, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def do(config, run):
    """Does what its configuration says."""
    exec(config["code"], {"run": run, "os": os, "time": time, "signal": signal, "sys": sys})  # noqa: S102


REPORT_PID = "run.report(1, loss=os.getpid())"


# -- workers live on ---------------------------------------------------------------------------


def test_a_worker_does_one_job_after_another_and_survives_their_errors(crew):
    crew = crew(do)
    pids = [crew.outcome({"code": REPORT_PID})[0] for _ in range(2)]
    _, raised = crew.outcome({"code": "print('so far so good')\n1 / 0"})
    assert isinstance(raised, JobFailed)
    assert raised.reason == "ZeroDivisionError: division by zero"
    _, left = crew.outcome({"code": "sys.exit(3)"})
    assert left.reason == "it called exit(3)"
    _, silent = crew.outcome({"code": "pass"})
    assert "returned without a report of 'loss'" in silent.reason
    _, wrong = crew.outcome({"code": "run.report(1, accuracy=3)"})
    assert "InvalidArgumentError: report is 'accuracy'" in wrong.reason
    _, diverged = crew.outcome({"code": "run.report(1, loss=float('nan'))"})
    assert diverged.reason.startswith("NotFiniteError: loss is nan at resource 1")
    pids.append(crew.outcome({"code": REPORT_PID})[0])
    assert pids[0] == pids[1] == pids[2] == [crew.backend.views()[0].pid]
    first = crew.failures[0]
    assert first.trace.rstrip().endswith("ZeroDivisionError: division by zero")
    assert "Traceback (most recent call last)" in first.trace
    assert (first.output, first.trial, first.resource) == ("so far so good\n", 2, 0)


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", r"killed by SIGKILL \(out of memory\?\)"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("os._exit(7)", "exited with 7"),
    ],
)
def test_a_worker_that_dies_is_replaced(crew, code, how):
    crew = crew(do)
    (before,), _ = crew.outcome({"code": REPORT_PID})
    _, died = crew.outcome({"code": f"print('last words', flush=True)\n{code}"})
    assert isinstance(died, JobFailed)
    assert re.search(how, died.reason)
    assert crew.failures[0].output == "last words\n"
    (after,), ended = crew.outcome({"code": REPORT_PID})
    assert (after != before, type(ended)) == (True, JobEnded)


def test_an_idle_worker_that_is_killed_is_replaced(crew):
    crew = crew(do)
    (before,), _ = crew.outcome({"code": REPORT_PID})
    os.kill(int(before), signal.SIGKILL)
    while crew.backend.views()[0].pid == before:
        assert crew.backend.poll() == []
    (after,), _ = crew.outcome({"code": REPORT_PID})
    assert after != before
    assert crew.failures == []


def test_what_was_reported_before_death_arrives(crew):
    crew = crew(do)
    job = crew.start({"code": "run.report(1, loss=4)\nos._exit(0)"}, until=2)
    fact = crew.next()
    assert (fact.resource, fact.value) == (1, 4)
    crew.backend.answer(job, CONTINUE)
    died = crew.next()
    assert isinstance(died, JobFailed)
    assert crew.failures[0].resource == 1
    crew.backend.answer(job, CONTINUE)  # an answer to the dead is no error


def test_a_failure_that_may_be_retried_is_a_job_lost(crew):
    crew = crew(do, retries=1)
    assert isinstance(crew.outcome({"code": "1 / 0"})[1], JobLost)
    assert isinstance(crew.outcome({"code": "1 / 0"})[1], JobFailed)
    assert len(crew.failures) == 2


def test_a_settled_job_owes_nothing(crew):
    """Told to pause, it breaks down on the way out: its report stands."""
    crew = crew(do, workers=2)
    _, left = crew.outcome({"code": "run.report(1, loss=1)\n1 / 0"})
    assert isinstance(left, JobEnded)
    _, died = crew.outcome({"code": "run.report(1, loss=1)\nos._exit(1)"})
    assert isinstance(died, JobEnded)
    assert crew.failures == []
    assert len(crew.notices) == 2  # but it is told
    assert all("after its last report of the leg: " in notice for notice in crew.notices)


def test_a_loop_of_ones_own_is_unwound(crew, tmp_path):
    def train(config, run):
        try:
            for n in range(1, 1000):
                run.report(n, loss=n)
        except Exception:  # noqa: BLE001
            raise AssertionError("nobody may catch this by chance") from None
        finally:
            (Path(run.folder).parent / "left").write_text(str(n))

    crew = crew(train)
    values, left = crew.outcome({})
    assert (values, type(left), crew.failures) == ([1], JobEnded, [])
    assert (tmp_path / "left").read_text() == "2"


# -- extras, checkpoints, output ---------------------------------------------------------------


def test_extras_checkpoints_and_notices_are_told(crew):
    code = """
with run.checkpoint(1) as folder:
    (folder / "model").write_bytes(b"x" * 100)
run.report(1, loss=0.5, accuracy=0.25, seconds=3)
with run.checkpoint(2) as folder:
    raise OSError(28, "full")
run.report(2, loss=0.25)
"""
    crew = crew(do)
    crew.finish(crew.start({"code": code}, trial=7, until=2), until=2)
    assert crew.extras == [(0, 1, {"accuracy": 0.25, "seconds": 3})]
    assert crew.saved == [(7, 1, 100)]
    assert "no room on the disk for its checkpoint at 2" in crew.notices[0]


def test_a_configuration_may_be_large(crew):
    crew = crew(do)
    for _ in range(2):  # while the worker loads, and when it is there
        config = {"code": "run.report(1, loss=2)", "much": "x" * 2_000_000}
        assert crew.outcome(config)[0] == [2]
    assert crew.failures == []


def test_repeated_ground_is_not_told_again(crew):
    crew = crew(do)
    code = "for n in run.resources(): run.report(n, loss=n, twice=2 * n)"
    job = crew.start({"code": code}, start=3, until=5)
    assert crew.finish(job, until=5)[0] == [4, 5]
    assert [resource for _, resource, _ in crew.extras] == [4, 5]


def test_output_is_kept_by_trial(crew, tmp_path):
    crew = crew(do)
    crew.outcome({"code": "print('one')\nrun.report(1, loss=1)\nprint('two')"}, trial=0)
    crew.outcome({"code": "print('other', file=sys.stderr)\nrun.report(1, loss=1)"}, trial=1)
    crew.outcome({"code": "os.write(1, b'\\xff three\\n')\n1 / 0"}, trial=0)
    assert (tmp_path / "trial-0" / "output.log").read_bytes() == b"one\ntwo\n\xff three\n"
    assert (tmp_path / "trial-1" / "output.log").read_text() == "other\n"
    assert crew.failures[0].output == "\ufffd three\n"  # of the failed leg alone


def test_a_silent_trial_has_no_output_file(crew, tmp_path):
    crew(do).outcome({"code": "run.report(1, loss=1)"}, trial=0)
    assert not (tmp_path / "trial-0").exists()


def test_much_output_is_cut_to_its_last_part(crew, tmp_path):
    code = "for n in range(80_000): print('line', n, 'x' * 50)\n1 / 0"  # about 5 MB
    crew = crew(do)
    crew.outcome({"code": code}, trial=0)
    kept = (tmp_path / "trial-0" / "output.log").read_bytes()
    assert process.KEPT // 2 < len(kept) <= process.KEPT + process.CHUNK
    assert kept.startswith(b"[...]\n")
    assert kept.rstrip().endswith(b"line 79999 " + b"x" * 50)
    (failure,) = crew.failures
    assert len(failure.output) == process.TAIL
    assert "line 79999" in failure.output


# -- time --------------------------------------------------------------------------------------


def test_a_job_that_runs_too_long_is_ended(crew):
    crew = crew(do, trial_timeout=0.5, grace=5)
    endless = "for n in range(1, 10**6): time.sleep(0.01); run.report(n, loss=n)"
    begun = time.monotonic()
    _, failed = crew.finish(crew.start({"code": endless}, until=10**6), until=10**6)
    assert failed.reason == "it ran longer than 0.5 s (trial_timeout)"
    assert time.monotonic() - begun < 20
    pid = crew.backend.views()[0].pid
    assert crew.outcome({"code": REPORT_PID})[0] == [pid]  # it was unwound, not killed


def test_a_job_that_is_silent_too_long_is_ended_and_killed_if_it_must(crew):
    crew = crew(do, report_timeout=0.5, grace=0.3)
    chatty = "for n in range(1, 8): time.sleep(0.1); run.report(n, loss=n)"
    values, ended = crew.finish(crew.start({"code": chatty}, until=8), until=7)
    assert (len(values), type(ended)) == (7, JobEnded)  # longer in all, but heard of
    pid = crew.backend.views()[0].pid
    deaf = "signal.signal(signal.SIGUSR2, signal.SIG_IGN)\ntime.sleep(60)"
    _, failed = crew.outcome({"code": deaf})
    assert failed.reason == "nothing was heard of it for 0.5 s (report_timeout)"
    assert crew.backend.views()[0].pid != pid


def test_loading_is_not_training(crew, tmp_path, monkeypatch):
    (tmp_path / "slow_to_load.py").write_text("import time; time.sleep(0.8)")
    monkeypatch.syspath_prepend(tmp_path)
    crew = crew(do, preload=["slow_to_load"], trial_timeout=0.6, report_timeout=0.6)
    assert isinstance(crew.outcome({"code": REPORT_PID})[1], JobEnded)


# -- recall and halt ---------------------------------------------------------------------------


def test_recalled_jobs_leave_at_their_next_report_and_are_lost(crew):
    crew = crew(do, workers=2)
    code = "for n in run.resources(): time.sleep(0.01); run.report(n, loss=n)"
    jobs = {crew.start({"code": code}, until=50), crew.start({"code": code}, until=50)}
    heard = set()
    while heard != jobs:  # both are under way
        fact = crew.next()
        heard.add(fact.job)
        crew.backend.answer(fact.job, CONTINUE)
    crew.backend.recall()
    lost = []
    while len(lost) < 2:
        fact = crew.next()
        if isinstance(fact, Reported):
            crew.backend.answer(fact.job, PAUSE if fact.resource >= 50 else CONTINUE)
        else:
            lost.append(fact)
    assert all(isinstance(fact, JobLost) for fact in lost)
    assert {fact.job for fact in lost} == jobs
    assert crew.failures == []


def test_halted_jobs_leave_at_once(crew):
    crew = crew(do)
    code = "run.report(1, loss=1)\ntry:\n    time.sleep(60)\nfinally:\n    print('tidied up')"
    job = crew.start({"code": code}, trial=0, until=9)
    assert isinstance(crew.next(), Reported)
    crew.backend.answer(job, CONTINUE)
    begun = time.monotonic()
    crew.backend.poll()
    crew.backend.halt()
    assert isinstance(crew.next(), JobLost)
    assert time.monotonic() - begun < 10
    assert crew.failures == []
    assert (crew.folder / "trial-0" / "output.log").read_text() == "tidied up\n"
    assert isinstance(crew.outcome({"code": REPORT_PID})[1], JobEnded)  # it can go on


def test_a_settled_job_that_is_halted_has_ended(crew):
    crew = crew(do)
    job = crew.start({"code": "run.report(1, loss=1)\ntime.sleep(60)"})
    assert isinstance(crew.next(), Reported)
    crew.backend.answer(job, PAUSE)
    crew.backend.halt()
    assert isinstance(crew.next(), JobEnded)


def test_wake_makes_poll_come_back(crew, monkeypatch):
    crew = crew(do)
    crew.outcome({"code": REPORT_PID})
    monkeypatch.setattr(local, "TICK", 60.0)
    threading.Timer(0.2, crew.backend.wake).start()
    begun = time.monotonic()
    assert crew.backend.poll() == []
    assert time.monotonic() - begun < 30


def test_closing_leaves_no_process_behind(crew):
    crew = crew(do, workers=2)
    child = "child = __import__('subprocess').Popen(['sleep', '600'])"
    code = f"{child}\nrun.report(1, loss=child.pid)"
    (child,), _ = crew.outcome({"code": code})
    pids = [int(child), *(worker.pid for worker in crew.backend.views())]
    keeper = crew.backend._keeper.pid
    crew.close()
    crew.close = lambda: None
    deadline = time.monotonic() + 10
    for pid in [*pids, keeper]:
        while alive(pid):
            assert time.monotonic() < deadline, pid
            time.sleep(0.01)


def alive(pid):
    """Whether it runs: one that has ended, and waits for its parent to notice, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


# -- what travels to workers -------------------------------------------------------------------


class Trainer:
    def __init__(self, value):
        self.value = value

    def method(self, config, run):
        run.report(1, loss=self.value)

    @staticmethod
    def static(config, run):
        run.report(1, loss=config["x"] + 7)

    def __call__(self, config, run):
        run.report(1, loss=self.value + 1)


GLOBAL = 5


def of_a_test_module(config, run):
    run.report(1, loss=GLOBAL)


def with_more(config, run, more, *, most=0):
    run.report(1, loss=more + most)


def closure():
    value = 3

    def train(config, run):
        run.report(1, loss=value)

    return train


KINDS = {
    "module": (of_a_test_module, 5),
    "lambda": (lambda config, run: run.report(1, loss=config["x"]), 2),
    "closure": (closure(), 3),
    "method": (Trainer(4).method, 4),
    "static": (Trainer.static, 9),
    "object": (Trainer(5), 6),
    "partial": (functools.partial(with_more, more=1, most=7), 8),
    "nested": (functools.partial(functools.partial(with_more, more=1), most=9), 10),
}

LOADER = """
import json, pickle, sys
sys.path[:] = json.loads(sys.argv[1])
class Run:
    def report(self, resource, *, loss):
        said.append(loss)
for payload in pickle.load(sys.stdin.buffer):
    said = []
    try:
        pickle.loads(payload)({"x": 2}, Run())
    except Exception as error:
        said = repr(error)
    print(said)
"""


def test_functions_of_every_kind_get_there():
    """One fresh process that loads them as a worker does."""
    for train, _ in KINDS.values():
        functions.check(train)
    payloads = [functions.pack(train) for train, _ in KINDS.values()]
    said = subprocess.run(
        [sys.executable, "-c", LOADER, json.dumps(sys.path)],
        input=pickle.dumps(payloads),
        capture_output=True,
        check=True,
        timeout=60,
    )
    told = dict(zip(KINDS, said.stdout.decode().splitlines(), strict=True))
    assert told == {kind: f"[{expected}]" for kind, (_, expected) in KINDS.items()}


def test_a_function_of_a_test_module_gets_to_a_worker(crew):
    values, ended = crew(functools.partial(with_more, more=GLOBAL)).outcome({"x": 2})
    assert (values, type(ended)) == ([5], JobEnded)


def test_where_to_find_a_function_again_is_said_where_it_can_be():
    def told(train):
        return (functions.reference(train) or {}).get("function")

    assert told(shutil.copy) == "shutil:copy"
    # By its name where that can be imported (the working directory may be on the path), or by file.
    places = (__name__, str(Path(__file__).resolve()))
    assert told(of_a_test_module) in [f"{place}:of_a_test_module" for place in places]
    assert told(Trainer.static) in [f"{place}:Trainer.static" for place in places]
    for kind in ("lambda", "closure", "method", "object", "partial"):
        assert told(KINDS[kind][0]) is None


def test_functions_of_a_script_and_of_its_neighbours_get_there(tmp_path):
    """As `python study.py` has it: the function is in __main__, what it uses lies beside it."""
    (tmp_path / "neighbour.py").write_text("def value():\n    return 11\n")
    (tmp_path / "study.py").write_text(
        "import neighbour\n"
        "import rungwise as rw\n"
        "EXTRA = 2\n"
        "def train(config, run):\n"
        "    run.report(1, loss=neighbour.value() + EXTRA)\n"
        "if __name__ == '__main__':\n"
        "    result = rw.tune(train, {'x': [1]}, metric='loss', goal='min', trials=1, workers=1,\n"
        "                     scheduler=rw.FixedResource(1), show='quiet', study='s.db')\n"
        "    print(result.best.value)\n"
    )
    source = str(Path(local.__file__).parents[2])
    said = subprocess.run(
        [sys.executable, "study.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (said.stdout, said.stderr) == ("13.0\n", "")


@pytest.mark.parametrize(
    "train", [None, 5, "train", lambda: None, lambda config: None, lambda a, b, c: 0]
)
def test_what_cannot_be_called_with_two_arguments_is_refused(train):
    with pytest.raises(InvalidArgumentError, match=r"train is .*\(config, run\)"):
        functions.check(train)


def test_what_cannot_travel_is_refused():
    lock = threading.Lock()

    def train(config, run):
        with lock:
            run.report(1, loss=1)

    with pytest.raises(InvalidArgumentError, match=r"send it to a worker process .*lock"):
        functions.pack(train)


# -- workers that cannot start -----------------------------------------------------------------


def test_preloaded_modules_are_there_before_the_first_job(crew, tmp_path, monkeypatch):
    (tmp_path / "preloaded_module.py").write_text("print('loading')")
    monkeypatch.syspath_prepend(tmp_path)
    crew = crew(do, preload=["preloaded_module", "decimal"])
    code = (
        "run.report(1, loss=float('preloaded_module' in sys.modules and 'decimal' in sys.modules))"
    )
    assert crew.outcome({"code": code}, trial=0)[0] == [1.0]


def test_a_preload_that_fails_is_told_with_its_trace(crew, tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text("import not_there_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    crew = crew(do, preload=["broken_module"])
    with pytest.raises(WorkerStartError, match="No module named 'not_there_at_all'") as refused:
        crew.next()
    assert "broken_module.py" in refused.value.trace


class Unloadable:
    def __reduce__(self):
        return (int, ("not a number",))


def test_a_function_that_cannot_be_loaded_is_told_with_its_trace(crew):
    broken = Unloadable()

    def train(config, run):
        run.report(1, loss=broken)

    crew = crew(train)
    with pytest.raises(WorkerStartError, match="ValueError: invalid literal for int") as refused:
        crew.next()
    assert "Traceback" in refused.value.trace


def test_workers_that_die_while_they_load_are_given_up(crew, tmp_path, monkeypatch):
    (tmp_path / "deadly_module.py").write_text("import os; print('bye', flush=True); os._exit(9)")
    monkeypatch.syspath_prepend(tmp_path)
    crew = crew(do, preload=["deadly_module"])
    with pytest.raises(WorkerStartError, match=r"3 died in a row .*exited with 9") as refused:
        crew.next()
    assert "bye" in refused.value.trace


def test_a_module_by_path_alone_travels_whole(crew, tmp_path):
    """As pytest, notebooks and `rungwise tune train.py` load modules: no worker could import it."""
    path = tmp_path / "by_path.py"
    path.write_text(
        "K = 40\ndef helper(): return K + 2\ndef train(c, run): run.report(1, loss=helper())"
    )
    spec = importlib.util.spec_from_file_location("by_path_alone", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["by_path_alone"] = module
    try:
        spec.loader.exec_module(module)
        assert crew(module.train).outcome()[0] == [42]
    finally:
        del sys.modules["by_path_alone"]

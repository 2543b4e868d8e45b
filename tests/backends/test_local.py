"""Worker processes, as the backend's owner sees them: real ones, a few jobs each."""

import dataclasses
import functools
import importlib.util
import json
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import rungwise as rw
from rungwise.backends import (
    connection,
    hardware,
    local,
    processes,
    shipping,
    unwinding,
    worker_starts,
    workers,
)
from rungwise.backends.base import Workplace
from rungwise.backends.messages import Crashed, Ended, Notice, Reported, StartFailed
from rungwise.checkpoints import FolderStore
from rungwise.errors import InvalidArgumentError, WorkerStartError
from rungwise.run import Assignment, Unwound
from rungwise.session.failures import FAILED_STARTS, FailureJudge, Rules
from rungwise.tuning import function_reference

PATIENCE = 60.0


class Crew:
    """A backend, and all that it has said."""

    def __init__(self, folder, train, *, workers=1, grace=5.0, preload=()):
        self.jobs, self.said = 0, []
        store = FolderStore(str(folder))
        workplace = Workplace(store, grace=grace)
        if isinstance(train, bytes):
            shares = hardware.share_out(workers, None, devices=())
            self.backend = local.open_workers(train, shares, preload, workplace)
        else:
            recipe = rw.Local(workers=workers, preload=preload)
            self.backend = recipe.prepare(train).open(workplace)

    def start(self, config=None):
        number, self.jobs = self.jobs, self.jobs + 1
        deadline = time.monotonic() + PATIENCE
        while not self.backend.idle():
            assert time.monotonic() < deadline, "no worker is ready"
            self.said += self.backend.poll()
        place = f"trial-{number}"
        self.backend.start(Assignment(number, number, config or {}, 0, 99, 99, place=place))
        return number

    def next(self):
        """The next message."""
        deadline = time.monotonic() + PATIENCE
        while not self.said:
            assert time.monotonic() < deadline, "nothing was heard"
            self.said += self.backend.poll()
        return self.said.pop(0)

    def outcome(self, config=None):
        """Start a job and let it leave at its first report; the values, and how it left."""
        job, values = self.start(config), []
        while True:
            message = self.next()
            if isinstance(message, (Ended, Crashed)):
                return values, message
            if isinstance(message, Reported):
                values.append(message.value)
                self.backend.answer(job, go_on=False)

    def pid(self):
        (view,) = self.backend.views()
        return int(view.where.split()[1])

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
    for code in ("1 / 0", "sys.exit(3)", "pass", "run.report(1, accuracy=3)"):
        assert isinstance(crew.outcome({"code": code})[1], Crashed)
    _, wrong = crew.outcome({"code": "run.report(1, accuracy=3)"})
    assert "InvalidArgumentError: report is 'accuracy'" in wrong.reason
    pids.append(crew.outcome({"code": REPORT_PID})[0])
    assert pids[0] == pids[1] == pids[2] == [crew.pid()]


def test_a_job_that_can_be_unwound_does_not_cost_its_worker(crew):
    crew = crew(do)
    pid = crew.outcome({"code": REPORT_PID})[0][0]
    job = crew.start({"code": "run.report(1, loss=1)\ntime.sleep(60)"})
    assert isinstance(crew.next(), Reported)
    crew.backend.answer(job, go_on=True)
    crew.backend.ask_to_leave(job, "enough")
    assert crew.next() == Ended(job)
    assert crew.outcome({"code": REPORT_PID})[0] == [pid]


def test_a_message_alone_unwinds_a_job_where_no_signal_can_be_sent(crew, monkeypatch):
    """As on another machine: a thread of the worker finds it."""
    monkeypatch.setattr(processes.ProcessHandle, "nudge", lambda self: None)
    crew = crew(do, grace=30)
    pid = crew.outcome({"code": REPORT_PID})[0][0]
    job = crew.start({"code": "run.report(1, loss=1)\ntime.sleep(60)"})
    assert isinstance(crew.next(), Reported)
    crew.backend.answer(job, go_on=True)
    begun = time.monotonic()
    crew.backend.ask_to_leave(job, "enough")
    assert crew.next() == Ended(job)
    assert time.monotonic() - begun < 10
    assert crew.outcome({"code": REPORT_PID})[0] == [pid]


def test_a_job_that_ignores_the_signal_is_killed_after_its_grace(crew):
    crew = crew(do, grace=0.3)
    pid = crew.outcome({"code": REPORT_PID})[0][0]
    deaf = "signal.signal(signal.SIGUSR2, signal.SIG_IGN)\nrun.report(1, loss=1)\ntime.sleep(60)"
    job = crew.start({"code": deaf})
    crew.next()
    crew.backend.answer(job, go_on=True)
    crew.backend.ask_to_leave(job, "enough")
    assert "killed by SIGKILL" in crew.next().reason
    assert crew.outcome({"code": REPORT_PID})[0] != [pid]


def test_a_worker_leaves_when_its_tuner_is_gone_even_in_the_middle_of_training():
    """Its socket closes; nothing else has to happen."""
    ours, theirs = socket.socketpair()
    function = shipping.pack(lambda config, run: time.sleep(60))
    setup = {"cwd": str(Path.cwd()), "preload": [], "function": len(function)}
    setup["store"] = FolderStore("nowhere").to_json()
    code = "from rungwise.backends.worker import main; import sys; main(sys.argv[1], '', 0)"
    worker = subprocess.Popen(
        [sys.executable, "-c", code, f"fd:{theirs.fileno()}"],
        pass_fds=[theirs.fileno()],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    theirs.close()
    line = connection.Connection(ours)
    line.send(setup, function)
    ours.setblocking(True)
    assert line.receive() == [["ready"]]
    line.send({"start": dataclasses.asdict(Assignment(0, 0, {}, 0, 9, place="t"))})
    time.sleep(0.5)
    assert worker.poll() is None
    ours.close()
    assert worker.wait(timeout=20) == 0


def test_a_worker_is_reached_over_tcp_with_a_token_as_well():
    """What a launcher on other machines will use: (address, token, number)."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(30)
    code = (
        "from rungwise.backends.worker import main; import sys; main(sys.argv[1], sys.argv[2], 7)"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", code, f"tcp:127.0.0.1:{listener.getsockname()[1]}", "secret"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        ours, _ = listener.accept()
        line = connection.Connection(ours)
        ours.setblocking(True)
        assert json.loads(ours.recv(1000)) == {"token": "secret", "number": 7}
        function = shipping.pack(of_a_test_module)
        setup = {"cwd": str(Path.cwd()), "preload": [], "function": len(function)}
        line.send({**setup, "store": FolderStore("nowhere").to_json()}, function)
        assert line.receive() == [["ready"]]
        line.send({"start": dataclasses.asdict(Assignment(3, 0, {}, 0, 9, place="t"))})
        said = []
        while len(said) < 2:
            said += line.receive()
        assert said == [["started", 3], ["report", 3, 1, 5, {}]]
        line.send(False)
        assert line.receive() == [["ended", 3]]
        ours.close()
        assert worker.wait(timeout=20) == 0
    finally:
        worker.kill()
        worker.wait(60)
        listener.close()


def test_a_worker_that_reads_slowly_holds_up_no_other(crew):
    """Megabytes for one that is stopped wait in the tuner, which goes on with the others."""
    crew = crew(do, workers=2)
    deadline = time.monotonic() + PATIENCE
    while crew.backend.idle() < 2:
        assert time.monotonic() < deadline
        crew.backend.poll()
    stopped = int(crew.backend.views()[0].where.split()[1])
    os.kill(stopped, signal.SIGSTOP)
    try:
        slow = crew.start({"code": "run.report(1, loss=1)", "much": "x" * 5_000_000})
        begun = time.monotonic()
        values, ended = crew.outcome({"code": "run.report(1, loss=2)"})
        assert (values, type(ended)) == ([2], Ended)
        assert time.monotonic() - begun < 10
    finally:
        os.kill(stopped, signal.SIGCONT)
    message = crew.next()
    assert (message.job, message.value) == (slow, 1)


def test_a_watchdog_that_was_killed_is_replaced_and_a_person_is_told(crew):
    crew = crew(do)
    (pid,) = crew.outcome({"code": REPORT_PID})[0]
    watchdog = crew.backend._launcher.watchdog
    os.kill(watchdog.pid, signal.SIGKILL)
    watchdog._process.wait(60)
    os.kill(int(pid), signal.SIGKILL)
    notice = crew.next()
    assert isinstance(notice, Notice)
    assert "would clean up after a crash was killed" in notice.text
    ending = crew.outcome({"code": REPORT_PID})[1]
    if isinstance(ending, Crashed):  # given to the worker before its end was seen
        assert ending.fault == "worker"
        ending = crew.outcome({"code": REPORT_PID})[1]
    assert isinstance(ending, Ended)


def test_a_worker_that_takes_long_to_start_is_reported_once(crew, tmp_path, monkeypatch):
    (tmp_path / "slow_to_load.py").write_text("import time; time.sleep(2)")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(workers, "START_LIMIT", 0.5)
    crew = crew(do, preload=["slow_to_load"])
    notice = crew.next()
    assert "worker 0 (process" in notice.text
    assert "is not ready after 0.5 s: it imports slow_to_load" in notice.text
    assert isinstance(crew.outcome({"code": REPORT_PID})[1], Ended)
    assert crew.said == []


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
        shipping.check_function(train)
    payloads = [shipping.pack(train) for train, _ in KINDS.values()]
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
    assert (values, type(ended)) == ([5], Ended)


def test_where_to_find_a_function_again_is_said_where_it_can_be():
    def told(train):
        return (function_reference.reference(train) or {}).get("function")

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
        shipping.check_function(train)


def test_what_cannot_travel_is_refused():
    lock = threading.Lock()

    def train(config, run):
        with lock:
            run.report(1, loss=1)

    with pytest.raises(InvalidArgumentError, match=r"send it to a worker process .*lock"):
        shipping.pack(train)


# -- workers that cannot start -----------------------------------------------------------------


def test_preloaded_modules_are_there_before_the_first_job(crew, tmp_path, monkeypatch):
    (tmp_path / "preloaded_module.py").write_text("print('loading')")
    monkeypatch.syspath_prepend(tmp_path)
    crew = crew(do, preload=["preloaded_module", "decimal"])
    code = (
        "run.report(1, loss=float('preloaded_module' in sys.modules and 'decimal' in sys.modules))"
    )
    assert crew.outcome({"code": code})[0] == [1.0]


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
    judge = FailureJudge(None, Rules())
    for number in (1, 2, 3):
        said = crew.next()
        assert (type(said), said.in_a_row, said.workers) == (StartFailed, number, 1)
        given = (said.how, said.output, said.in_a_row, said.workers)
        if number < FAILED_STARTS:
            judge.judge_start(*given)
    with pytest.raises(
        WorkerStartError, match=r"3 worker processes in a row ended while starting .*exited with 9"
    ) as refused:
        judge.judge_start(*given)
    assert "bye" in refused.value.trace


def test_workers_that_die_idle_do_not_end_the_study(crew, monkeypatch):
    """Preempted nodes, say: only workers that never become ready are a reason to give up."""
    monkeypatch.setattr(worker_starts, "PAUSES", (0.0, 0.05))
    crew = crew(do)
    for _ in range(FAILED_STARTS + 2):
        died = crew.pid()
        os.kill(died, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while crew.backend.idle() == 0 or crew.pid() == died:
            assert time.monotonic() < deadline
            assert all(type(each) in (Notice, StartFailed) for each in crew.backend.poll())
    assert crew.outcome({"code": "run.report(1, loss=1)"})[0] == [1]


def test_a_worker_that_keeps_dying_idle_is_replaced_after_growing_pauses(crew, monkeypatch):
    monkeypatch.setattr(worker_starts, "PAUSES", (0.0, 1.0))
    crew = crew(do)
    for pause in (0.0, 1.0):
        while crew.backend.idle() == 0:
            crew.backend.poll()
        died = crew.pid()
        os.kill(died, signal.SIGKILL)
        begun = time.monotonic()
        while crew.backend.views()[0].where in (f"process {died}", "being replaced"):
            assert time.monotonic() < begun + 30
            crew.backend.poll()
        assert time.monotonic() - begun >= pause


def test_a_signal_for_a_job_that_has_left_does_not_unwind_the_next():
    unwinder = object.__new__(unwinding.JobUnwinder)
    unwinder.job, unwinder._meant = 8, 7  # sent for job 7, and job 8 has begun meanwhile
    unwinder._unwind(0, None)
    assert unwinder.job == 8
    with pytest.raises(Unwound):
        unwinder._unwind(0, None)  # from the tuner, which means the job under way
    unwinder.job = unwinder._meant = 9
    with pytest.raises(Unwound):
        unwinder._unwind(0, None)


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

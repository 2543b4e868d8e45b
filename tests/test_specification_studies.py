"""Files that describe studies, and the functions they name."""

import inspect
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import rungwise as rw
from rungwise import rankings, searchers
from rungwise.errors import InvalidArgumentError
from rungwise.options import list_options
from rungwise.options.build import StudyRequest, build_study, name_arguments
from rungwise.options.checks import guess_goal
from rungwise.options.registry import SEARCHERS
from rungwise.options.scheduler_options import choose_scheduler
from rungwise.options.study_options import LadderOptions, RunOptions
from rungwise.scripts import Script
from rungwise.specification import load_function, read_space, read_study
from rungwise.specification.studies import KEYS

ROOT = Path(__file__).parents[1]


def written(folder, name, text):
    path = folder / name
    content = text if isinstance(text, bytes) else textwrap.dedent(text).encode()
    path.write_bytes(content)
    return path


# -- studies ---------------------------------------------------------------------------------

STUDY = """
    train: train.sh
    space: {lr: [1, 2, 3]}
    metric: loss
    goal: min
"""


OF_SCHEDULER = {each.name for each in list_options(LadderOptions)}


def study(folder, text="", base=STUDY):
    """What a file says, with values in place of names."""
    (folder / "train.sh").touch()
    path = written(folder, "study.yaml", textwrap.dedent(base) + textwrap.dedent(text))
    read = read_study(path)
    with name_arguments(read.document.name_argument):
        request = StudyRequest.take(read.space, read.options)
        recipe, _ = choose_scheduler(
            request.search.scheduler, request.ladder.given, request.search.max_resource
        )
        values = {"searcher": request.search.searcher, "backend": RunOptions.take(read.options)}
    found = {"train": read.train, "space": read.space, **read.options}
    if {"scheduler", *OF_SCHEDULER} & set(found):
        found = {key: found[key] for key in found if key not in OF_SCHEDULER}
        found["scheduler"] = recipe
    if "backend" in found:
        found = {key: found[key] for key in found if key not in ("workers", "preload")}
        values["backend"] = values["backend"].backend
    return {key: values.get(key, found[key]) for key in found}


def test_the_least_a_study_says(tmp_path):
    assert study(tmp_path) == {
        "train": Script(("sh", str(tmp_path / "train.sh")), folder=str(tmp_path)),
        "space": rw.Space.parse({"lr": [1, 2, 3]}),
        "metric": "loss",
        "goal": "min",
    }


def test_a_file_is_read_as_it_is_written(tmp_path):
    (tmp_path / "train.sh").touch()
    text = STUDY + "    scheduler: asha:eta=2\n    max_resource: 9\n    backend: {type: local}\n"
    found = read_study(written(tmp_path, "study.yaml", text)).options
    names = {"scheduler": "asha:eta=2", "max_resource": 9, "backend": {"type": "local"}}
    assert found == {"metric": "loss", "goal": "min", **names}


@pytest.mark.parametrize(
    ("metric", "goal"),
    [
        *((name, "max") for name in ("accuracy", "acc", "auc", "f1", "precision", "recall")),
        *((name, "max") for name in ("score", "reward", "r2", "bleu", "map", "iou", "Top1_Acc")),
        *((name, "min") for name in ("loss", "error", "err", "mse", "rmse", "mae", "nll")),
        *((name, "min") for name in ("perplexity", "ppl", "cost", "regret", "wer", "cer")),
        *(("val_accuracy", "max"), ("r2_score", "max"), ("test_loss", "min")),
        *((name, None) for name in ("", "speed", "x", "lossy", "accuracyloss", "val_loss2")),
        *((name, None) for name in ("loss_score", "neg_loss", "one_minus_accuracy")),
    ],
)
def test_well_known_metrics_tell_their_goal(metric, goal):
    assert guess_goal(metric) == goal


def test_the_goal_of_a_well_known_metric_may_be_left_out(tmp_path):
    (tmp_path / "train.sh").touch()

    def find_goal(metric, more=""):
        text = f"train: train.sh\nspace: {{lr: [1]}}\nmetric: {metric}\n{more}"
        read = read_study(written(tmp_path, "study.yaml", text))
        return build_study(StudyRequest.take(read.space, read.options)).study.goal

    assert find_goal("val_accuracy") == "max"
    assert find_goal("loss") == "min"
    assert find_goal("loss", "goal: max") == "max"
    with pytest.raises(InvalidArgumentError, match="goal is missing: say whether"):
        find_goal("speed")
    with pytest.raises(InvalidArgumentError, match=r"metric \(study.yaml, line 3\) is 3"):
        find_goal(3)


def test_all_a_study_can_say(tmp_path):
    found = study(
        tmp_path,
        """
        max_resource: 2e2
        trials: 256
        finish: paper
        seconds: 3600
        resource_budget: 1e4
        target: 0.5
        workers: auto
        gpus_per_worker: 0.5
        preload: [json]
        retries: 0
        trial_timeout: 60
        report_timeout: 9.5
        checkpoint_quota: 20GB
        keep: all
        seed: 3
        durability: full
        initial: [{lr: 2.0}]
        transfer: [old.db, ../older.db]
        leaders: 6
        searcher: gp:startup=20
        study: out/digits.db
        flags: false
        environment: {SEED: "1"}
        min_resource: 2
        eta: 4
        ranking: soft:0.02
        """,
    )
    assert found.pop("train") == Script(
        ("sh", str(tmp_path / "train.sh")),
        flags=False,
        folder=str(tmp_path),
        environment={"SEED": "1"},
    )
    del found["space"], found["metric"], found["goal"]
    assert found == {
        "max_resource": 200,
        "trials": 256,
        "finish": "paper",
        "seconds": 3600,
        "resource_budget": 10000,
        "target": 0.5,
        "workers": "auto",
        "gpus_per_worker": 0.5,
        "preload": ("json",),
        "retries": 0,
        "trial_timeout": 60,
        "report_timeout": 9.5,
        "checkpoint_quota": "20GB",
        "keep": "all",
        "seed": 3,
        "durability": "full",
        "initial": [{"lr": 2}],
        "transfer": [str(tmp_path / "old.db"), str(tmp_path / "../older.db")],
        "leaders": 6,
        "searcher": searchers.GP(startup=20),
        "study": str(tmp_path / "out/digits.db"),
        "scheduler": rw.PASHA(2, 200, 4, ranking=rankings.Soft(0.02)),
    }
    assert type(found["max_resource"]) is int


@pytest.mark.parametrize(
    ("text", "recipe"),
    [
        ("scheduler: pasha", rw.PASHA()),
        ("scheduler: ASHA", rw.ASHA()),
        ("scheduler: asha\nmax_resource: 27\neta: 2", rw.ASHA(1, 27, 2)),
        ("scheduler: SuccessiveHalving\nmax_resource: 9", rw.SuccessiveHalving(1, 9)),
        ("scheduler: halving", rw.SuccessiveHalving()),
        ("scheduler: async-hyperband", rw.AsyncHyperband()),
        ("scheduler: fixed\nmax_resource: 3", rw.FixedResource(3)),
        ("scheduler: {type: fixed, resource: 3}\nmax_resource: 3", rw.FixedResource(3)),
        ("max_resource: 9\neta: 4", rw.AdaptiveHalving(1, 9, 4)),
        ("max_resource: 9\nsize: 4", rw.AdaptiveHalving(1, 9, size=4)),
        ("max_resource: 9\npromote: quantile", rw.PASHA(1, 9, promote="quantile")),
        ("scheduler: random\nmax_resource: 9", rw.RandomSearch(9)),
        ("min_resource: 3", rw.PASHA(3)),
        ("ranking: leader", rw.PASHA(ranking=rankings.Leader())),
        ("ranking: Noise:80", rw.PASHA(ranking=rankings.Noise(80))),
        ("ranking: {type: SoftSigma, k: 2}", rw.PASHA(ranking=rankings.SoftSigma(2))),
        (
            "scheduler: {type: PASHA, promote: quantile, ranking: {type: rbo, p: 0.5}}\neta: 2",
            rw.PASHA(eta=2, promote="quantile", ranking=rankings.RBO(0.5)),
        ),
    ],
)
def test_schedulers(tmp_path, text, recipe):
    assert study(tmp_path, text)["scheduler"] == recipe


def test_without_a_word_about_it_the_scheduler_is_not_given(tmp_path):
    assert "scheduler" not in study(tmp_path, "max_resource: 27")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("random", searchers.RandomSearcher()),
        ("sobol", searchers.Sobol()),
        ("Sobol:3", searchers.Sobol(3)),
        ("grid: points = 7 , seed=2", searchers.Grid(7, 2)),
        ("kde:good=0.2", searchers.KDE(0.2)),
        ("tpe:joint=1", searchers.TPE(joint=1)),
        ("KDE", searchers.KDE()),
        ("gp:20,points=200", searchers.GP(20, points=200)),
        ("optuna:tpe", searchers.OptunaSearcher("tpe")),
        ("optuna:gp", searchers.OptunaSearcher("gp")),
        (
            "optuna:tpe,multivariate=true",
            searchers.OptunaSearcher("tpe", multivariate=True),
        ),
        ("optuna:my.module:make,n=3", searchers.OptunaSearcher("my.module:make", n=3)),
        ("{type: gp, startup: 20}", searchers.GP(20)),
        ("{type: RandomSearcher}", searchers.RandomSearcher()),
        (
            "{type: optuna, sampler: tpe, multivariate: true}",
            searchers.OptunaSearcher("tpe", multivariate=True),
        ),
    ],
)
def test_searchers(tmp_path, text, made):
    assert (
        study(tmp_path, f"searcher: {text if text[0] == '{' else repr(text)}")["searcher"] == made
    )
    if text[0] != "{":
        assert SEARCHERS.build(text) == made


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gpp", "but did you mean 'gp'? its name must be one of random"),
        ("initial", "its name must be one of"),
        ("", "its name must be one of"),
        ("gp:start=20", "did you mean 'startup'? the options of gp are startup, fit_points"),
        ("gp:colour=blue", "but the options of gp are startup"),
        ("gp:1,2,3,4,5,6,7", "the options of gp are"),
        ("grid:points=7,", "an option is missing before or after a comma"),
        ("random:3", "random has no options"),
        ("random:seed=3", "random has no options"),
        ("gp:20,startup=30", "'startup' is given twice"),
        ("gp:startup=1", "startup of --searcher is 1, but it must be a whole number of at least 2"),
        ("gp:startup=many", "startup of --searcher is 'many'"),
        ("gp:startup=" + "9" * 5000, "the number has too many digits"),
        ("optuna:nosuch", "sampler of --searcher is 'nosuch', but it must be one of tpe"),
        ("optuna:tpe,self=1", "the options of optuna are"),
    ],
)
def test_searchers_that_are_refused(text, told):
    with pytest.raises(InvalidArgumentError) as caught:
        SEARCHERS.build(text, "--searcher")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("backend: threads", {"backend": rw.Threads()}),
        ("backend: Threads\nworkers: 4", {"backend": rw.Threads(4)}),
        ("backend: local:workers=2,gpus_per_worker=0.5", {"backend": rw.Local(2, 0.5)}),
        ("backend: {type: local, workers: 4.0}", {"backend": rw.Local(4)}),
        ("backend: {type: local}\npreload: [json]", {"backend": rw.Local(preload=("json",))}),
        ("workers: 4.0\npreload: [json]", {"workers": 4, "preload": ("json",)}),
        ("show: lines\ngrace: 2", {"show": "lines", "grace": 2.0}),
    ],
)
def test_backends_and_other_options(tmp_path, text, arguments):
    found = study(tmp_path, text)
    assert {key: found[key] for key in found if key not in study(tmp_path)} == arguments


def test_checkpoints_lie_where_the_study_file_says(tmp_path):
    assert study(tmp_path, "checkpoints: kept")["checkpoints"] == str(tmp_path / "kept")


def test_options_of_the_scheduler_have_keys(tmp_path):
    found = study(tmp_path, "promote: quantile\ncheck: report\nvariant: stopping")["scheduler"]
    assert found == rw.PASHA(promote="quantile", check="report", variant="stopping")
    found = study(tmp_path, "scheduler: halving:eta=4\nsize: 9.0")["scheduler"]
    assert found == rw.SuccessiveHalving(eta=4, size=9)


def test_every_option_that_a_file_can_have_is_an_argument_of_tune():
    of_file = {"command", "flags", "environment", "track"}  # the last are callbacks
    assert set(KEYS) - OF_SCHEDULER - of_file <= set(inspect.signature(rw.tune).parameters)


def test_one_earlier_study_needs_no_list(tmp_path):
    assert study(tmp_path, "transfer: old.db")["transfer"] == [str(tmp_path / "old.db")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "trails: 3",
            "a key of trails (study.yaml, line 6) is 'trails', but did you mean 'trials'",
        ),
        ("xyzzy: 3", "'xyzzy', but the keys here are train, command"),
        ("trials: 0", "trials (study.yaml, line 6) is 0, but it must be a whole number"),
        ("trials: many", "trials (study.yaml, line 6) is 'many'"),
        ("trials: true", "whole number"),
        ("max_resource: 2.5", "max_resource (study.yaml, line 6) is 2.5"),
        ("finish: soon", "'drain' or 'paper'"),
        ("seconds: -1", "at least 0"),
        ("target: .nan", "finite"),
        ("target: [1]", "finite"),
        ("workers: 0", "at least 1, or 'auto'"),
        ("keep: some", "at least 0, or 'all'"),
        ("preload: json", "list of module names"),
        ("preload: [1]", "list of module names"),
        ("trial_timeout: 0", "above 0"),
        ("checkpoint_quota: much", "'20GB'"),
        ("durability: high", "'normal' or 'full'"),
        ("initial: {lr: 1}", "a list of configurations"),
        ("initial: [{lr: 1}, {lr: 7}]", "lr of initial[1] (study.yaml, line 6) is 7"),
        ("initial: [3]", "initial[0]"),
        ("study: 3", "it must be text"),
        ("flags: 1", "flags (study.yaml, line 6) is 1"),
        ("environment: {A: 1}", "environment (study.yaml, line 6) is 1"),
        ("command: [sh]", "either train or command"),
        (
            "scheduler: sgd",
            "scheduler (study.yaml, line 6) is 'sgd', but its name must be one of pasha",
        ),
        ("scheduler: {type: sgd}", "is {'type': 'sgd'}, but its name must be one of pasha"),
        ("scheduler: 3", "or a mapping with such a type"),
        (
            "scheduler: {type: asha, ranking: noise}",
            "but the options of asha are min_resource, max_resource, eta",
        ),
        ("scheduler: asha\nranking: noise", "ranking (study.yaml, line 7) is 'noise', but the sch"),
        ("scheduler: {type: asha, eta: 3}\neta: 2", "it must be given once"),
        ("scheduler: {type: asha, eta: x}", "scheduler.eta (study.yaml, line 6) is 'x'"),
        ("scheduler: {type: asha, promote: [x]}", "'floor' or 'quantile'"),
        ("scheduler: fixed", "is 'fixed', but it must be fixed:RESOURCE"),
        ("eta: 1", "eta (study.yaml, line 6) is 1"),
        ("min_resource: 9\nmax_resource: 3", "min_resource (study.yaml, line 6) is 9"),
        ("ranking: soft", "is 'soft', but it must be soft:EPSILON"),
        ("ranking: soft:x", "ranking (study.yaml, line 6) is 'x', but it must be a finite"),
        ("ranking: {type: soft, epsilon: -1}", "ranking.epsilon (study.yaml, line 6) is -1"),
        ("ranking: {type: soft, eps: 1}", "did you mean 'epsilon'"),
        ("ranking: [soft]", "it must be one of noise"),
        ("searcher: gpp", "searcher (study.yaml, line 6) is 'gpp', but did you mean 'gp'?"),
        ("searcher: 3", "searcher (study.yaml, line 6) is 3, but it must be one of random"),
        ("searcher: {startup: 3}", "type of searcher (study.yaml, line 6) is None"),
        ("searcher: {type: gp, strtup: 3}", "did you mean 'startup'?"),
        ("searcher: {type: gp, startup: 1}", "searcher.startup (study.yaml, line 6) is 1"),
        ("searcher: {type: gp, startup: [1]}", "searcher.startup (study.yaml, line 6) is [1]"),
        ("transfer: 3", "transfer (study.yaml, line 6) is 3, but it must be the name of a study"),
        ("transfer: [a.db, {}]", "transfer[1] (study.yaml, line 6) is {}"),
        ("leaders: 0", "leaders (study.yaml, line 6) is 0"),
        ("backend: thread", "is 'thread', but did you mean 'threads'? its name must be one of"),
        ("backend: 3", "(study.yaml, line 6) is 3, but it must be one of local, ray, threads"),
        ("backend: {type: local, wrkers: 3}", "did you mean 'workers'"),
        ("backend: {type: local, workers: 0}", "backend.workers (study.yaml, line 6) is 0"),
        ("backend: local:workers=0", "backend (study.yaml, line 6) is 0, but it must be a whole"),
        ("backend: local:2\nworkers: 3", "workers (study.yaml, line 7) is 3, but it must be given"),
        (
            "backend: threads\npreload: [json]",
            "preload (study.yaml, line 7) is ('json',), but the b",
        ),
        ("show: loud", "show (study.yaml, line 6) is 'loud', but its name must be one of auto"),
        ("checkpoints: 3", "checkpoints (study.yaml, line 6) is 3"),
        ("grace: -1", "grace (study.yaml, line 6) is -1"),
        ("metric_: 1", "did you mean 'metric'"),
        (
            "scheduler: asha\nsize: 3",
            "size (study.yaml, line 7) is 3, but the scheduler ASHA has no such",
        ),
        ("num_samples: 4", "is 'num_samples', but did you mean 'trials'?"),
        ("max_t: 4", "is 'max_t', but did you mean 'max_resource'?"),
    ],
)
def test_bad_studies_are_refused_with_their_place(tmp_path, text, told):
    with pytest.raises(InvalidArgumentError) as caught:
        study(tmp_path, text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("base", "told"),
    [
        ("space: {a: [1]}\nmetric: x\ngoal: min", "either train or command"),
        ("train: train.sh\nspace: {a: [1]}", "it must also give metric"),
        ("{}", "a study with nothing"),
        ("- train", "a study must be a mapping"),
        ("train: 3\nspace: {a: [1]}\nmetric: x\ngoal: min", "train (study.yaml, line 1) is 3"),
        ("train: no.sh\nspace: {a: [1]}\nmetric: x\ngoal: min", "there is no file"),
        ("train: no.py:f\nspace: {a: [1]}\nmetric: x\ngoal: min", "there is no file"),
        ("train: train.sh\nspace: no.yaml\nmetric: x\ngoal: min", "space (study.yaml, line 2)"),
        ("train: train.sh\nspace: 3\nmetric: x\ngoal: min", "space must be a mapping"),
        (
            "train: train.sh\nspace: {a: {type: x}}\nmetric: x\ngoal: min",
            "type of space.a (study.yaml, line 2)",
        ),
        ("train: train.sh\nspace: {a: [1]}\nmetric: 3\ngoal: min", "metric (study.yaml, line 3)"),
        ("train: train.sh\nspace: {a: [1]}\nmetric: x\ngoal: up", "'min' or 'max'"),
        ("command: sh\nspace: {a: [1]}\nmetric: x\ngoal: min", "command (study.yaml, line 1)"),
        ("command: [sh, 3]\nspace: {a: [1]}\nmetric: x\ngoal: min", "(study.yaml, line 1) is 3"),
        ("command: [sh, '{b}']\nspace: {a: [1]}\nmetric: x\ngoal: min", "the space has only 'a'"),
        ("command: [nosuch]\nspace: {a: [1]}\nmetric: x\ngoal: min", "no such program"),
        ("train: m:f\nflags: true\nspace: {a: [1]}\nmetric: x\ngoal: min", "for scripts"),
    ],
)
def test_studies_that_lack_something_are_refused(tmp_path, base, told):
    with pytest.raises(InvalidArgumentError) as caught:
        study(tmp_path, base=base)
    assert told in str(caught.value)


def test_commands_run_in_the_folder_of_the_study(tmp_path):
    base = "command: [sh, train.sh, '{lr}']\nspace: {lr: [1]}\nmetric: x\ngoal: min"
    script = study(tmp_path, base=base)["train"]
    assert script == Script(("sh", "train.sh", "{lr}"), folder=str(tmp_path))


def test_functions_are_named_by_file_or_module(tmp_path):
    (tmp_path / "train.py").touch()
    rest = "space: space.yaml\nmetric: x\ngoal: min"
    written(tmp_path, "space.yaml", "lr: [1]")
    by_file = study(tmp_path, base=f"train: train.py:fit\n{rest}")
    assert by_file["train"] == f"{tmp_path / 'train.py'}:fit"
    assert by_file["space"] == rw.Space.parse({"lr": [1]})
    assert study(tmp_path, base=f"train: pack.mod:fit\n{rest}")["train"] == "pack.mod:fit"


def test_a_study_in_json(tmp_path):
    (tmp_path / "train.sh").touch()
    entries = {"train": "train.sh", "space": {"lr": [1]}, "metric": "x", "goal": "min"}
    assert read_study(written(tmp_path, "study.json", json.dumps(entries))).options["metric"] == "x"


def test_the_examples_are_legal():
    found = read_study(ROOT / "examples/shell/study.yaml")
    assert found.train.command == (str(ROOT / "examples/shell/train.sh"),)
    assert read_space(ROOT / "examples/script/space.yaml").names == ("decay", "lr", "order")


def test_yaml_is_imported_when_a_file_is_read():
    code = "import sys, rungwise.specification, rungwise.scripts; assert 'yaml' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# -- functions -------------------------------------------------------------------------------


@pytest.fixture
def fresh_imports(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.usefixtures("fresh_imports")
def test_a_function_in_a_file_finds_its_neighbours(tmp_path):
    written(tmp_path, "neighbour_of_fit.py", "VALUE = 5")
    path = written(
        tmp_path,
        "fit_by_path.py",
        """
        import neighbour_of_fit
        def train(config, run): return neighbour_of_fit.VALUE
        class Kept:
            @staticmethod
            def train(config, run): return 6
        """,
    )
    function = load_function(f"{path}:train")
    assert function({}, None) == 5
    assert function.__module__ == "fit_by_path"  # as import would call it, so it can be pickled
    assert load_function(f"{path}:train") is function
    assert load_function(f"{path}:Kept.train")({}, None) == 6


@pytest.mark.usefixtures("fresh_imports")
def test_a_file_whose_name_is_taken_gets_one_of_its_own(tmp_path):
    path = written(tmp_path, "json.py", "def train(config, run): return 7")
    function = load_function(f"{path}:train")
    assert function({}, None) == 7
    assert load_function(f"{path}:train") is function
    assert sys.modules["json"] is json
    name = function.__module__
    code = f"""
from rungwise.specification import load_function
print(load_function({f"{path}:train"!r}).__module__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == name


@pytest.mark.usefixtures("fresh_imports")
def test_a_function_in_a_module(tmp_path, monkeypatch):
    assert load_function("rungwise.simulation:simulate") is rw.simulate
    written(tmp_path, "fit_from_here.py", "def train(config, run): return 8")
    monkeypatch.chdir(tmp_path)
    assert load_function("fit_from_here:train")({}, None) == 8


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        (3, "file.py:function"),
        ("train", "file.py:function"),
        (":f", "file.py:function"),
        ("m:", "file.py:function"),
        ("m:1", "file.py:function"),
        ("a b:f", "file.py:function"),
        ("{folder}/none.py:f", "there is no file"),
        ("{folder}/good.py:none", "there is no 'none' in"),
        ("{folder}/good.py:NUMBER", "must be a function, and is int"),
        ("{folder}/raises.py:f", "raised KeyError: 'oops'"),
        ("{folder}/exits.py:f", "raised SystemExit: 3"),
        ("{folder}/broken.py:f", "raised SyntaxError"),
        ("{folder}/lacks-it.py:f", "No module named 'nosuchmodule'"),
        ("nosuchmodule.at.all:f", "No module named 'nosuchmodule'"),
    ],
)
@pytest.mark.usefixtures("fresh_imports")
def test_functions_that_cannot_be_loaded(tmp_path, reference, told):
    written(tmp_path, "good.py", "NUMBER = 5")
    written(tmp_path, "raises.py", "{}['oops']")
    written(tmp_path, "exits.py", "raise SystemExit(3)")
    written(tmp_path, "broken.py", "def (")
    written(tmp_path, "lacks-it.py", "import nosuchmodule")
    if isinstance(reference, str):
        reference = reference.format(folder=tmp_path)
    for _ in range(2):  # a failed import leaves nothing that would pass the second time
        with pytest.raises(InvalidArgumentError, match="train is") as caught:
            load_function(reference)
        assert told in str(caught.value)

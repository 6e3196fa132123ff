"""``sonde worker``, and the other commands with the address of a service."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tests.remote.conftest import Program, Service, wait_until

import sonde

Start = Callable[..., Program]
Cli = Callable[..., tuple[int, str, str]]

SPACE = sonde.Space({"x": sonde.Float(0, 1), "batch-size": sonde.Int(1, 8)})
ECHO = ("sh", "-c", "echo {x}; : {batch-size}")
WAITS = ("sh", "-c", "touch begun-{batch-size}; while test ! -e go; do sleep 0.02; done; echo {x}")


def study_of(service: Service, name: str, **settings: object) -> sonde.Study:
    return sonde.connect(service.url, name, space=SPACE, strategy="random", seed=1, **settings)  # type: ignore[arg-type]


def completed(study: sonde.Study) -> list[sonde.Trial]:
    return [trial for trial in study.trials if trial.state == "completed"]


def test_a_worker_runs_programs_and_tells_what_they_tell(service: Service, start: Start) -> None:
    study = study_of(service, "worker")
    Path("train.py").write_text("""
import json, os, sys
params = json.load(open(os.environ["SONDE_PARAMS_FILE"]))
assert params["batch-size"] == int(os.environ["SONDE_PARAM_batch_size"]) == int(sys.argv[1])
if params["batch-size"] == 8:
    sys.exit("too large")
told = {"value": params["x"], "gradient": {"x": 1.0}, "constraints": {"memory": -1}, "attributes": {"host": "here"}}
json.dump(told, open(os.environ["SONDE_RESULT_FILE"], "w"))
""")
    for x in (0.125, 0.25):
        study.enqueue({"x": x, "batch-size": 8 if x == 0.25 else 1})
    command = (sys.executable, "train.py", "{batch-size}")
    code, _, err = start(
        "worker", service.url, "--name", "worker", "-n", "5", "-j", "2", "--logs", "logs", "--", *command
    ).ends()
    assert code == 0, err
    assert err.splitlines()[-1] == "ran 5 trials of study 'worker'"
    ended = [trial for trial in study.trials if trial.state.finished]
    assert len(ended) == 5
    assert ended[1].error == "exit code 1\ntoo large"
    for trial in completed(study):
        assert (trial.value, trial.gradient) == (trial["x"], {"x": 1.0})
        assert trial.constraints == {"memory": -1.0}
        assert trial.attributes["host"] == "here"
    assert all(Path(trial.attributes["log"], "stdout").exists() for trial in ended)
    assert list(Path("sonde-spool").iterdir()) == []


def test_several_objectives_and_curves(service: Service, cli: Cli) -> None:
    several = study_of(service, "several", objectives=["min", "max"])
    script = 'echo "{{\\"0\\": {x}, \\"1\\": {batch-size}}}"'
    assert cli("worker", service.url, "--name", "several", "-n", "2", "--", "sh", "-c", script)[0] == 0
    assert [trial.value for trial in completed(several)] == [
        {"0": trial["x"], "1": trial["batch-size"]} for trial in completed(several)
    ]
    one = study_of(service, "curves")
    options = ("--report", r"loss (?P<value>\S+)", "-n", "2", "--", "sh", "-c")
    cli("worker", service.url, "--name", "curves", *options, "echo loss 3; echo loss {x}; : {batch-size}")
    assert [trial.curve for trial in completed(one)] == [[(1.0, 3.0), (2.0, trial["x"])] for trial in completed(one)]


def test_a_worker_on_a_database(cli: Cli) -> None:
    with sonde.Study(SPACE, storage="sonde.db", strategy="random") as study:
        code, _, err = cli("worker", "sqlite:///sonde.db", "-n", "3", "--", *ECHO)
        assert code == 0, err
        assert len(completed(study)) == 3


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            ["echo", "{y}"],
            r"placeholder {y}: there is no parameter 'y' (the parameters are x, batch-size); write {{y}}",
        ),
        (["echo", "{y:float:0..1}"], "there is no parameter 'y' (the parameters are x, batch-size)"),
        (["echo", "{x:float:0..1}"], "'x' is defined already; write {x} here"),
        (["no-such-program", "{x}"], "cannot start 'no-such-program'"),
    ],
)
def test_what_is_wrong_is_said_at_the_start(cli: Cli, program: list[str], message: str) -> None:
    with sonde.Study(SPACE, storage="sonde.db") as study:
        code, _, err = cli("worker", "sonde.db", "-n", "1", "--", *program)
        assert (code, err.count("\n")) == (1, 1), err
        assert message in err
        assert study.trials == []
    assert cli("worker", "sonde.db")[0] == 2
    assert "there is no database 'other.db'" in cli("worker", "other.db", "--", "true")[2]


def test_sigterm_gives_running_trials_back(service: Service, start: Start) -> None:
    study = study_of(service, "sigterm")
    worker = start("worker", service.url, "--name", "sigterm", "--", *WAITS)
    wait_until(lambda: list(Path().glob("begun-*")))
    worker.send(signal.SIGTERM)
    code, _, err = worker.ends()
    assert code == 143
    assert "interrupted after 0 trials; others can run those that were running" in err
    states = [trial.state.value for trial in study.trials]
    assert (states.count("lost"), states.count("running")) == (1, 0)
    assert any(trial.retry_of == 0 and trial.state == "waiting" for trial in study.trials)


def test_a_result_outlives_the_service_and_the_worker(own_service: Service, start: Start) -> None:
    study = study_of(own_service, "spool")
    study.enqueue({"x": 0.5, "batch-size": 3})
    worker = start("worker", own_service.url, "--name", "spool", "--", *WAITS)
    wait_until(Path("begun-3").exists)
    own_service.kill()
    Path("go").touch()
    wait_until(lambda: list(Path("sonde-spool").glob("*.json")))
    worker.send(signal.SIGKILL)
    worker.ends()
    own_service.start()
    code, _, err = start("worker", own_service.url, "--name", "spool", "-n", "1", "--", *ECHO).ends()
    assert code == 0, err
    assert "told 1 trial of an earlier worker" in err
    assert study.trial(0).value == 0.5
    assert [dict(trial) for trial in study.trials].count({"x": 0.5, "batch-size": 3}) == 1
    assert list(Path("sonde-spool").iterdir()) == []


def test_a_worker_waits_for_a_service_that_is_away(own_service: Service, start: Start) -> None:
    study = study_of(own_service, "away")
    worker = start("worker", own_service.url, "--name", "away", "-n", "3", "--", *WAITS)
    wait_until(lambda: list(Path().glob("begun-*")))
    own_service.kill()
    Path("go").touch()
    wait_until(lambda: list(Path("sonde-spool").glob("*.json")))
    own_service.start()
    code, _, err = worker.ends()
    assert code == 0, err
    assert "does not answer (Connection refused); trying again" in err
    assert len(completed(study)) == 3


def test_a_signal_ends_a_worker_whose_service_is_away(own_service: Service, start: Start) -> None:
    study_of(own_service, "signal")
    worker = start("worker", own_service.url, "--name", "signal", "--", *WAITS)
    wait_until(lambda: list(Path().glob("begun-*")))
    own_service.kill()
    worker.send(signal.SIGTERM)
    assert worker.ends()[0] == 143


def test_a_worker_without_trials_ends(own_service: Service, start: Start) -> None:
    study = study_of(own_service, "idle")
    study.tell(study.ask(), 1.0)
    [*_, suggester] = psutil.Process(own_service.pid).children()
    suggester.suspend()
    code, _, err = start("worker", own_service.url, "--name", "idle", "--idle", "2", "--", *ECHO).ends()
    assert (code, err.splitlines()[-1].startswith("ran ")) == (0, True), err
    own_service.kill()
    code, _, err = start("worker", own_service.url, "--name", "idle", "--idle", "1", "--", *ECHO).ends()
    assert code == 1
    assert f"error: the service at {own_service.url} has not answered for 1 seconds" in err
    suggester.kill()


def test_the_other_commands_take_the_address_of_a_service(service: Service, cli: Cli) -> None:
    where = ("--storage", service.url)
    run = ("run", *where, "--name", "commands", "-n", "4", "--strategy", "random")
    code, out, err = cli(*run, "--", "sh", "-c", "echo {x:float:0..1}")
    assert code == 0, err
    assert out.startswith("commands: the best of 4 trials is trial ")
    study = sonde.connect(service.url, "commands")
    best = json.loads(cli("best", *where, "--name", "commands", "--json")[1])
    assert (best["best_value"], best["trials"]) == (study.best_value, 4)
    shown = json.loads(cli("trials", *where, "--name", "commands", "--all", "--json")[1])
    assert [trial["value"] for trial in shown] == [trial.value for trial in study.trials]
    assert json.loads(cli("export", *where, "--name", "commands", "--format", "json")[1]) == shown
    [row] = [one for one in json.loads(cli("studies", *where, "--json")[1]) if one["name"] == "commands"]
    assert (row["seed"], row["counts"]["completed"], row["best"]) == (study.seed, 4, study.best_value)
    assert cli("delete", *where, "--name", "commands", "--yes")[0] == 0
    code, _, err = cli("best", *where, "--name", "commands", "--token", "wrong")
    assert (code, "refuses this" in err, "wrong" not in err) == (1, True, True), err

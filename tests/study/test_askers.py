"""Identity of the processes that ask: forked children, containers, wrong clocks."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.processes import outputs

import sonde
from sonde.storage import Asker
from sonde.storage.machine import boot_id, is_dead, this_process

SPACE = sonde.Space(x=sonde.Float(0, 1))

FORK = """
import os, sys, sonde
url, kind = sys.argv[1:]
space = sonde.Space(k=sonde.Int(0, 10**6)) if kind == "lattice" else sonde.Space(x=sonde.Float(0, 1))
study = sonde.Study(space, storage=url, name="study", seed=0, strategy="sobol")
held = study.ask()
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        try:
            for _ in range(10):
                trial = study.ask()
                study.tell(trial, 1.0)
            os._exit(0)
        finally:
            os._exit(1)
    children.append(child)
assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
study.tell(held, 2.0)
points = [tuple(trial.params.values()) for trial in study.trials]
assert len(set(points)) == len(points) == 41, (len(set(points)), len(points))
assert len({trial.worker for trial in study.trials}) == 5
"""


@pytest.mark.parametrize("kind", ["lattice", "continuous"])
def test_forked_children_are_askers_of_their_own(database_url: str, kind: str) -> None:
    done = subprocess.run([sys.executable, "-c", FORK, database_url, kind], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_process_is_known_by_boot_namespace_and_start() -> None:
    here = this_process()
    boot, namespace, pid, started = here.split("/")
    assert (boot, int(pid)) == (boot_id(), os.getpid())
    assert not is_dead(here)
    assert is_dead("/".join((boot, namespace, pid, str(int(started) - 1))))  # its number was given to another
    code = "from sonde.storage.machine import this_process; print(this_process(), flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    other = child.stdout.readline().strip()
    assert not is_dead(other)
    child.kill()
    while child.poll() is None and not is_dead(other):  # dead before it is collected, too
        time.sleep(0.001)
    child.communicate()
    assert is_dead(other)
    for unknown in (
        other.replace(boot, "another-boot"),
        other.replace(namespace, "pid:[1]"),
        "",
        "vm:123:abc",
    ):
        assert not is_dead(unknown)  # this process cannot tell: the lease decides


IN_A_CONTAINER = """
import sys, time, sonde
from sonde.storage.machine import this_process
class Slow(sonde.Strategy):
    name = "slow"
    def suggest(self, space, history, count, key):
        time.sleep(0.2)
        return key.rng().random((count, 1))
    def explain(self, space, history): return "slow"
study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=sys.argv[1], name="study", strategy=Slow())
for _ in range(5):
    study.tell(study.ask(), 1.0)
print(this_process())
"""


def test_processes_of_two_pid_namespaces_do_not_take_each_other_for_dead(sqlite_url: str) -> None:
    """As two containers on one host, with the same PIDs inside."""
    unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if os.geteuid() == 0:
        unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine does not allow PID namespaces; the rule itself is tested above")
    command = [*unshare, sys.executable, "-c", IN_A_CONTAINER, sqlite_url]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    processes = [outputs(each)[0].split("/") for each in both]
    assert [each.returncode for each in both] == [0, 0]
    assert processes[0][1] != processes[1][1]
    with sonde.load(sqlite_url, "study", strategy="random") as study:
        assert [trial.state for trial in study.trials] == ["completed"] * 10


WRONG_CLOCK = """
import sys, time
real, off = time.time, float(sys.argv[2])
time.time = lambda: real() + off
import sonde
study = sonde.load(sys.argv[1], "study", strategy="random")
print(study.ask().number, flush=True)
"""


@pytest.mark.parametrize("off", [3600.0, 86400.0, -86400.0])
def test_a_process_with_a_wrong_clock_neither_takes_nor_keeps_trials(database_url: str, off: float) -> None:
    study = sonde.Study(SPACE, storage=database_url, name="study", strategy="random", lease=30.0)
    study.ask()
    command = [sys.executable, "-c", WRONG_CLOCK, database_url, str(off)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "1\n"  # not ours again
    assert [trial.state for trial in study.trials] == ["running"] * 2
    study.ask()
    assert [trial.state for trial in study.trials] == ["running"] * 3
    study.close()


def test_a_lease_that_ends_too_late_is_shortened_to_its_length(sqlite_url: str) -> None:
    """A dead worker whose clock was a day ahead, before the machine was started anew."""
    study = sonde.Study(SPACE, storage=sqlite_url, name="study", strategy="random", lease=0.3)
    study.ask()
    study.close()  # nobody renews its lease any more
    connection = sqlite3.connect(Path(sqlite_url.removeprefix("sqlite:///")))
    connection.execute("UPDATE trials SET lease = lease + 86400")
    connection.execute("UPDATE studies SET holder = 'gone', turn_ends = 1e12")
    connection.commit()
    connection.close()
    with sonde.load(sqlite_url, "study", strategy="random") as other:
        key, me = other.storage.find_study("study").key, Asker("me", 0.2, None)
        deadline = time.monotonic() + 30
        while not other.storage.begin_ask(key, ["0" * 32], me).granted:  # the suggester's lease is shortened, too
            assert time.monotonic() < deadline
            other.storage.wait(key, ["0" * 32], me, 0.1)
        other.storage.end_suggester_lease(key, "me")
        first = other.ask()
        assert first.retry_of is None
        deadline = time.monotonic() + 30
        while other.ask().retry_of != 0:
            assert time.monotonic() < deadline
            time.sleep(0.05)

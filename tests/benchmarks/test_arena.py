"""The arena: halves that share nothing, what evaluations tell, records, ranks and their intervals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.arena import noisy
from benchmarks.arena.contenders import SpentError, play, played
from benchmarks.arena.plan import STAGES
from benchmarks.arena.problems import Problem, Told, Variable
from benchmarks.arena.ranking import Group, groups
from benchmarks.arena.records import Record, append, curve, read
from benchmarks.arena.spaces import drawn, levels, settled
from benchmarks.arena.suites import DEVELOPMENT, REPORT, SUITES, problem

import sonde

BOX = (Variable("float", -1, 1), Variable("int", 0, 3))
SPACE = sonde.Space(
    kind=sonde.Categorical(["a", "b"]),
    c=sonde.Float(1e-3, 1e3, log=True, when={"kind": "a"}),
    k=sonde.Int(1, 5, step=2, when={"kind": ["b"]}),
    s=sonde.Float(0.0, 1.0, step=0.25),
)


def square(x: list[float]) -> float:
    return x[0] ** 2 + x[1]


def record(**changes: object) -> Record:
    whole = {
        "half": REPORT, "suite": "bbob", "dimension": 5, "function": 1, "seed": 0, "contender": "random", "budget": 3,
        "edition": "numpy 2", "version": "", "date": "2026-11-19", "seconds": 1.0, "optimum": 0.0, "curve": "1:1",
    }  # fmt: skip
    return Record(**(whole | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SUITES)
def test_halves_share_no_function(name: str) -> None:
    suite = SUITES[name]
    assert set(suite.development.functions).isdisjoint(suite.report.functions)
    assert suite.development.functions
    assert suite.development.first > suite.report.first + 50  # other instances, too


def test_the_plan_is_of_dimensions_that_suites_have() -> None:
    for stage in STAGES:
        assert set(stage.dimensions) <= set(SUITES[stage.suite].budgets)
    assert {stage.suite for stage in STAGES} == set(SUITES)


def test_what_is_told() -> None:
    assert Told(2.0, exact=1.5).score == 1.5
    assert Told(math.nan).score == math.inf
    assert Told(1.0, constraints=[-1.0, 0.5]).score == math.inf
    assert Told(1.0, constraints=[-1.0, 0.0]).score == 1.0
    failing = Problem("p", 0, 0, BOX, square, worst=9.0)
    assert failing.plain(Told(math.nan)) == 9.0
    assert failing.plain(Told(1.0, constraints=[1.0])) == 9.0
    assert failing.plain(2.5) == 2.5


@pytest.mark.parametrize("name", ["random", "optuna-tpe", "cmaes", "catcma", "sonde"])
def test_contenders_use_their_budget_and_no_more(name: str) -> None:
    calls: list[list[float]] = []
    counted = Problem("p", 0, 0, BOX, lambda x: calls.append(x) or square(x), batch=4, worst=9.0)  # type: ignore[func-returns-value]
    scores, _ = play(name, counted, 10, 1)
    assert len(scores) == len(calls) == 10
    assert all(-1 <= x[0] <= 1 and x[1] in range(4) for x in calls)


@pytest.mark.parametrize("name", ["random", "optuna-tpe", "catcma", "sonde"])
def test_conditional_points_have_their_active_parameters_only(name: str) -> None:
    calls: list[list[object]] = []

    def evaluate(x: list[object]) -> float:
        calls.append(x)
        return float(len(calls))

    play(name, Problem("p", 0, 0, (), evaluate, declared=SPACE), 12, 1)
    for kind, c, k, s in calls:
        assert (c is None, k is None) == (kind == "b", kind == "a")
        assert k in (None, 1, 3, 5)
        assert s in (0.0, 0.25, 0.5, 0.75, 1.0)


def test_failures_and_known_constraints() -> None:
    asked: list[float] = []

    def evaluate(x: list[float]) -> float:
        asked.append(x[0])
        return math.nan if x[0] > 0.5 else x[0]

    known = Problem("p", 0, 0, BOX, evaluate, allowed=lambda x: x[0] >= 0, worst=9.0)
    for name in ("random", "cmaes", "sonde"):
        scores, _ = play(name, known, 12, 3)
        assert len(scores) == 12
        assert min(scores) >= 0
    assert min(asked) >= 0
    assert max(asked) > 0.5


def test_of_batches_all_points_are_asked_for_first() -> None:
    told: list[int] = []

    def recipe(posed: Problem, budget: int, seed: int):  # type: ignore[no-untyped-def]
        while True:
            for x in ([0.0, 0], [0.5, 1]):
                told.append((yield x))  # noqa: PERF401 - a comprehension cannot yield

    def game(x: list[float]) -> Told:
        if len(told) >= 3:
            raise SpentError
        return Told(x[0])

    game.problem = Problem("p", 0, 0, BOX, square, batch=2)  # type: ignore[attr-defined]
    with pytest.raises(SpentError):
        played(recipe)(game, 3, 0)  # type: ignore[arg-type]
    assert told == [0.0, 0.5, 0.0]


def test_spaces() -> None:
    assert settled(SPACE, {"kind": "b", "c": 1.0, "k": 3, "s": 0.5}) == ["b", None, 3, 0.5]
    assert levels(SPACE["k"]) == [1, 3, 5]
    assert levels(SPACE["c"]) is None
    assert drawn(SPACE["c"], 0.5) == pytest.approx(1.0)
    assert [drawn(SPACE["k"], unit) for unit in (0.0, 0.34, 0.99)] == [1, 3, 5]


def test_noise_of_the_definition() -> None:
    rng = np.random.default_rng(0)
    assert len(noisy.noises(5)) == len(noisy.FUNCTIONS) == 30
    logs = [math.log(noisy.gaussian(2.0, rng, beta=0.5) / 2) for _ in range(4000)]
    assert np.mean(logs) == pytest.approx(0, abs=0.03)
    assert np.std(logs) == pytest.approx(0.5, abs=0.03)
    uniform = [noisy.uniform(1e10, rng, alpha=0.69, beta=1.0) / 1e10 for _ in range(4000)]  # the last factor is 1 here
    assert np.mean(uniform) == pytest.approx(0.5, abs=0.03)
    assert noisy.uniform(1e-3, rng, alpha=0.0, beta=0.0) == 1e-3
    added = np.array([noisy.cauchy(3.0, rng, alpha=1.0, p=0.2) for _ in range(4000)]) - 3
    assert np.mean(added == 1000.0) == pytest.approx(0.8, abs=0.03)
    assert added.min() >= 0


@pytest.mark.parametrize(
    ("suite", "function", "dimension"), [("sklearn", 5, 0), ("factorials", 2, 0), ("ioh-200", 1, 64)]
)
def test_problems_of_other_benchmarks(suite: str, function: int, dimension: int) -> None:
    posed = problem(suite, function, dimension, 100)
    scores, seconds = play("random", posed, 3, posed.key)
    assert all(math.isfinite(score) for score in scores)
    assert seconds >= 0
    assert posed.key == problem(suite, function, dimension, 100).key != problem(suite, function, dimension, 101).key
    if posed.optimum is not None:
        assert min(scores) >= posed.optimum


def test_records_are_read_as_written(tmp_path: Path) -> None:
    written = [record(curve=curve([math.inf, 3.0, 4.0], 1.0)), record(half=DEVELOPMENT, optimum=None, version="wider")]
    for each in written:
        append(tmp_path / "runs.csv", each)
    assert read(tmp_path / "runs.csv") == written
    assert read(tmp_path / "runs.csv")[0].excess.tolist() == [math.inf, 2.0, 2.0]
    assert written[0].key != written[1].key


def test_ranks_of_versions_and_of_what_finds_nothing() -> None:
    runs = [record(contender="sonde", version=version, curve=at) for version, at in
            [("0.1.0", "1:3"), ("0.1.0+", "1:2"), ("0.2.0", "1:1"), ("wider", "1:inf 3:4")]]  # fmt: skip
    (found,) = groups(runs)
    ranks = dict(zip(found.curves, found.ranks[:, -1], strict=True))
    assert ranks == {"sonde-0.1.0": 3, "sonde-0.1.0+": 2, "sonde": 1, "sonde-wider": 4}
    (nothing,) = groups([record(), record(contender="sonde", version="0.1.0", curve="1:inf")])
    assert nothing.duel("random", "sonde").wins == 1
    assert np.isfinite(nothing.regret).all()


def test_intervals_of_ranks() -> None:
    rng = np.random.default_rng(0)
    curves = {
        name: {(5, function, 0): np.array([rng.random() + shift]) for function in range(24)}
        for name, shift in (("a", 0.0), ("b", 0.0), ("c", 2.0))
    }
    group = Group("s", 5, curves, True, {}, ())
    assert (group.interval[:, 0] <= group.ranks[:, -1]).all()
    assert (group.ranks[:, -1] <= group.interval[:, 1]).all()
    assert group.interval[2].tolist() == [3.0, 3.0]  # always last
    assert group.interval[0, 1] - group.interval[0, 0] == pytest.approx(4 * 0.5 / math.sqrt(24), rel=0.3)

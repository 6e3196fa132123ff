"""First hitting times: the functions over bits, the limit of calls, and the tables."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.igo import hitting_time
from benchmarks.igo.hitting import ALGORITHMS, ALPHAS, COMPARED, FIRST, FUNCTIONS, hit, leadingones, onemax
from benchmarks.igo.hitting_figures import draw, quartiles
from benchmarks.igo.hitting_time import SHORT, Case, add_missing, arguments, limit_of, plan
from benchmarks.records import append, read

from sonde.igo import cga


@pytest.mark.parametrize("n", [1, 2, 7])
def test_functions_are_those_of_the_paper(n: int) -> None:
    bits = np.array([[i >> j & 1 for j in range(n)] for i in range(2**n)], dtype=bool)
    for row, ones, leading in zip(bits, onemax(bits), leadingones(bits), strict=True):
        assert ones == n - sum(row)
        assert leading == n - sum(all(row[: k + 1]) for k in range(n))
    assert all(np.flatnonzero(function(bits) == 0).tolist() == [2**n - 1] for function in FUNCTIONS.values())


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_calls_are_counted_until_the_first_optimum(name: str, function: str) -> None:
    losses = []

    def counted(bits):
        losses.extend(FUNCTIONS[function](bits))
        return FUNCTIONS[function](bits)

    end = hit(ALGORITHMS[name](8, 0), counted)
    assert end.found
    assert losses.index(0) == end.calls - 1
    assert len(losses) - end.calls < end.samples


def test_algorithms_are_those_of_the_figures() -> None:
    made = {name: make(100, 0) for name, make in ALGORITHMS.items()}
    assert [made[name].step_size for name in COMPARED] == pytest.approx([0.1, 0.1, 0.01, 0.1])
    assert [made[name].adapt for name in COMPARED] == ["lambda", "epsilon", None, None]
    assert [made[name]._adaptation.alpha for name in ALPHAS.values()] == list(ALPHAS)


@pytest.mark.parametrize("limit", [1, 2, 7, 30])
def test_a_run_is_stopped_at_its_limit(limit: int) -> None:
    whole = hit(cga(12, seed=0), leadingones)
    assert whole.calls > 30
    stopped = hit(cga(12, seed=0), leadingones, limit)
    assert (stopped.calls, stopped.found) == (limit, False)
    assert hit(cga(12, seed=0), leadingones, whole.calls)[:2] == (whole.calls, True)
    assert hit(cga(12, seed=0), leadingones, whole.calls - 1)[:2] == (whole.calls - 1, False)


def test_the_limit_is_ten_times_the_median_of_the_first(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    for seed, calls in enumerate((10, 30, 20, 40)):
        append(file, {"function": "onemax", "n": 9, "algorithm": FIRST, "seed": seed, "calls": calls})
    append(file, {"function": "onemax", "n": 8, "algorithm": FIRST, "seed": 0, "calls": 999})
    append(file, {"function": "onemax", "n": 9, "algorithm": "cga-n", "seed": 0, "calls": 999})
    assert limit_of(Case("onemax", 9, "cga-n", 0), read(file)) == 250


def test_quartiles_beyond_the_limit_are_bounds() -> None:
    def of(*ends: tuple[int, int]) -> list[str]:
        return quartiles([{"calls": str(calls), "found": str(found)} for calls, found in ends]).shown()

    assert of((5, 1), (1, 1), (3, 1), (2, 1), (4, 1)) == ["2", "3", "4"]
    assert of((50, 0), (1, 1), (3, 1), (2, 1), (50, 0)) == ["2", "3", "> 50"]
    assert of((50, 0), (50, 0)) == ["> 50", "> 50", "> 50"]
    assert of((50, 0), (7, 1)) == ["> 50", "> 50", "> 50"]
    assert of((1234567, 1)) == ["1234567"] * 3


def test_the_plan_begins_with_what_sets_the_limits() -> None:
    cases = plan(SHORT, arguments(["--sizes", "30,10", "--runs", "2", "--algorithms", "cga-n"]))
    assert cases[:4] == [Case("onemax", 10, name, seed) for name in (FIRST, "cga-n") for seed in (0, 1)]
    assert [case.n for case in cases] == sorted(case.n for case in cases)
    assert {case.algorithm for case in cases} == {FIRST, "cga-n"}
    wide = plan(SHORT, arguments(["--sizes", "1000", "--figure", "4"]))
    assert {case.function for case in wide} == {"onemax"}
    assert {case.algorithm for case in wide} == set(ALPHAS.values())


def test_runs_are_kept_and_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hitting_time, "PATIENCE", 0.5)
    cases = plan(SHORT, arguments(["--sizes", "4,8", "--runs", "3"]))
    file = tmp_path / "runs.csv"
    add_missing(file, cases[:20])
    add_missing(file, cases)
    rows = read(file)
    assert [Case(row["function"], int(row["n"]), row["algorithm"], int(row["seed"])) for row in rows] == cases
    assert all(row["found"] == "1" for row in rows if row["algorithm"] == FIRST)
    stopped = [row for row in rows if row["found"] == "0"]
    assert stopped
    for row in stopped:
        assert int(row["calls"]) == limit_of(Case(row["function"], int(row["n"]), "", 0), rows)
    draw(file, tmp_path / "hits", rows, [1, 4])
    tables = {name: read(tmp_path / f"hits_{name}.csv") for name in ("figure1", "figure4")}
    assert {name: len(lines) for name, lines in tables.items()} == {"figure1": 16, "figure4": 24}
    assert any(line["median"].startswith("> ") for line in tables["figure1"])
    assert min(float(line["median / best"].removeprefix("> ")) for line in tables["figure4"]) <= 1
    assert (tmp_path / "hits_figure1.png").exists()
    assert (tmp_path / "hits_figure4.png").exists()

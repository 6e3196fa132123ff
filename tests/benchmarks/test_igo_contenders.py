"""Searches over bits: their signature, what they find, and how they are ranked."""

import numpy as np
import pytest
from benchmarks.igo.contenders import CONTENDERS
from benchmarks.igo.problems import NAMES, Bits, problem
from benchmarks.igo.ranks import CHECKPOINTS, best_at_checkpoints, finals, improvements, shared, standings
from scipy.stats import rankdata

N, CALLS = 20, 400
OWN = ["random", "one-plus-one", "ga", "cga", "pbil"]
LIBRARIES = {"catcma": "cmaes", "ng-discrete": "nevergrad", "ng-opt": "nevergrad"}
EACH = pytest.mark.parametrize("name", CONTENDERS)
QUIET = pytest.mark.filterwarnings("ignore")  # the peers' own


def ones(bits: Bits) -> float:
    return float(bits.sum())


def installed(name: str) -> str:
    if library := LIBRARIES.get(name):
        pytest.importorskip(library)
    return name


@EACH
@QUIET
def test_a_contender_returns_what_its_calls_gave(name: str) -> None:
    asked = []

    def noted(bits: Bits) -> float:
        assert bits.shape == (N,)
        assert bits.dtype == bool
        asked.append(ones(bits))
        return asked[-1]

    assert CONTENDERS[installed(name)](noted, N, 50, 0) == asked
    assert len(asked) == 50


@EACH
@QUIET
def test_a_seed_repeats_itself(name: str) -> None:
    play = CONTENDERS[installed(name)]
    assert play(ones, N, 60, 1) == play(ones, N, 60, 1)
    assert play(ones, N, 60, 1) != play(ones, N, 60, 2)


@EACH
@QUIET
def test_all_but_random_climb(name: str) -> None:
    best = max(CONTENDERS[installed(name)](ones, N, CALLS, 0))
    assert best < N if name == "random" else best >= N - 1


@pytest.mark.parametrize("name", OWN)
def test_zero_and_one_are_alike(name: str) -> None:
    up = [max(CONTENDERS[name](ones, N, 100, seed)) for seed in range(30)]
    down = [max(CONTENDERS[name](lambda bits: float((~bits).sum()), N, 100, seed)) for seed in range(30)]
    assert abs(np.mean(up) - np.mean(down)) < 1.0


@pytest.mark.parametrize("number", NAMES)
def test_problems_are_instance_one_with_bits_exchanged(number: int) -> None:
    ioh = pytest.importorskip("ioh")
    plain = ioh.get_problem(number, instance=1, dimension=64, problem_class=ioh.ProblemClass.PBO)
    assert plain.meta_data.name == NAMES[number]
    exchanged = np.random.default_rng([number, 64, 3]).random(64) < 0.5
    bits = np.random.default_rng(0).random((5, 64)) < 0.5
    mine = problem(number, 64, 3)
    assert [mine(row ^ exchanged) for row in bits] == [plain(row.astype(int).tolist()) for row in bits]


def test_a_constant_string_does_not_solve_ising() -> None:
    pytest.importorskip("ioh")
    assert problem(19, 64, 0)(np.zeros(64, dtype=bool)) < 64


def test_improvements_keep_the_best_so_far() -> None:
    values = np.random.default_rng(0).integers(0, 1000, 5000).astype(float).tolist()
    best = np.maximum.accumulate(values)
    np.testing.assert_array_equal(best_at_checkpoints(improvements(values)), [best[calls - 1] for calls in CHECKPOINTS])
    assert improvements([1.0, 0.5, 1.0, 2.25]) == "1:1 4:2.25"


def row(contender: str, number: int, seed: int, best: str) -> dict[str, str]:
    return {"problem": str(number), "n": "64", "seed": str(seed), "contender": contender, "best": best}


def test_ranks_share_ties_and_leave_out_what_not_all_have_run() -> None:
    runs = [row("a", 1, 0, "1:3 900:5"), row("b", 1, 0, "1:4"), row("c", 1, 0, "1:1 8:5")]
    runs += [row("a", 2, 0, "1:9"), row("b", 2, 0, "1:8"), row("c", 2, 0, "1:7"), row("a", 2, 1, "1:0")]
    names, values = shared(runs)
    assert names == ["a", "b", "c"]
    assert {group: len(own) for group, own in values.items()} == {(64, 1): 1, (64, 2): 1}
    table = standings(names, values, {group: rankdata(-own, axis=1) for group, own in values.items()})
    assert [(line["contender"], line["mean rank"], line["first or tied"]) for line in table] == [
        ("a", "1.25", "2 of 2"),
        ("c", "2.25", "1 of 2"),
        ("b", "2.50", "0 of 2"),
    ]
    assert [line["a"] for line in finals(names, values)] == ["5*", "9*"]

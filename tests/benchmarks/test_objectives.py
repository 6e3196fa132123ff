"""Benchmarks of several objectives: their problems, the hypervolumes of runs, and the table made of them."""

import numpy as np
import pytest
from benchmarks.objectives.fronts import front, hypervolume, pack, union, unpack
from benchmarks.objectives.methods import play
from benchmarks.objectives.problems import MODELS, PAIRS, Problem, problem
from benchmarks.objectives.run import OURS, checkpoints, summary
from benchmarks.objectives.variables import Variable, box, choice

VARIABLES = (
    Variable("a", "float", -2.0, 3.0),
    Variable("b", "float", 1e-4, 1.0, log=True),
    Variable("c", "int", 1, 100, log=True),
    Variable("d", "int", -3, 12),
    choice("e", "left", "right"),
)
EACH = pytest.mark.parametrize("variable", VARIABLES, ids=lambda variable: variable.name)


def toy(constraints: int = 0) -> Problem:
    def evaluate(x):
        y = np.array([(x[0] - 0.2) ** 2, (x[0] - 0.8) ** 2 + x[1]])
        return y, np.array([x[1] - 0.5] * constraints)

    return Problem("toy", "two", 0, box([(0, 1)] * 2), evaluate, np.zeros(2), np.ones(2), constraints)


@EACH
def test_values_and_places_are_inverse(variable: Variable) -> None:
    for unit in np.linspace(0, 0.999, 23):
        value = variable.drawn(unit)
        assert variable.nearest(variable.unit(value)) == pytest.approx(value) or variable.kind == "choice"
        assert 0 <= variable.unit(value) <= 1
    if variable.kind != "float":
        assert variable.nearest(0) != variable.nearest(1)
        assert len(set(variable.places)) == variable.high - variable.low + 1


def test_a_choice_is_found_again() -> None:
    side = VARIABLES[-1]
    assert [side.nearest(side.unit(each)) for each in side.choices] == list(side.choices)


@pytest.mark.parametrize("number", PAIRS)
def test_the_ideal_point_of_a_pair_is_below_its_nadir_and_all_values(number: int) -> None:
    pytest.importorskip("cocoex")
    pair, rng = problem("bbob-biobj", f"f{number}", 1), np.random.default_rng(0)
    assert np.all(pair.ideal < pair.reference)
    assert all(np.all(pair(x)[0] >= pair.ideal) for x in rng.uniform(-5, 5, (50, 5)))


@pytest.mark.parametrize("name", MODELS)
def test_models_are_deterministic(name: str) -> None:
    small = [variable.drawn(0.2) for variable in problem("models", name, 0).variables]
    first, again = (problem("models", name, 0)(small)[0] for _ in range(2))
    assert np.array_equal(first, again)
    assert first.shape == (2,)


def test_a_front_is_what_nothing_dominates_inside_the_reference_point() -> None:
    y = np.random.default_rng(0).random((60, 3)) * 1.2
    brute = [
        point for point in y
        if np.all(point < 1) and not any(np.all(other <= point) and np.any(other < point) for other in y)
    ]  # fmt: skip
    assert np.array_equal(front(np.concatenate([y, y])), np.array(sorted(map(tuple, brute))))


def test_hypervolume_is_the_share_of_points_that_are_dominated() -> None:
    rng = np.random.default_rng(0)
    y, points = rng.random((12, 2)), rng.random((200_000, 2))
    share = np.mean((points[:, None] >= y).all(axis=2).any(axis=1))
    assert hypervolume(y) == pytest.approx(share, abs=5e-3)
    assert hypervolume(y + 1) == 0


def test_hypervolume_is_botorchs() -> None:
    module = pytest.importorskip("botorch.utils.multi_objective.hypervolume")
    import torch

    for count in (2, 3, 4):
        y = np.random.default_rng(count).dirichlet(np.ones(count), 20)
        theirs = module.Hypervolume(-torch.ones(count, dtype=torch.double)).compute(-torch.tensor(y))
        assert hypervolume(y) == pytest.approx(theirs, rel=1e-10)


def test_fronts_are_packed() -> None:
    y = np.array([[0.25, 0.5], [0.125, 0.75]])
    assert np.array_equal(unpack(pack(y)), y)
    assert np.array_equal(union([pack(y[:1]), "", pack(y[1:])]), y[::-1])


@pytest.mark.filterwarnings("ignore")  # the peers' own
@pytest.mark.parametrize("name", ["random", "optuna-tpe", "optuna-nsga2"])
def test_a_method_uses_its_budget(name: str) -> None:
    if name != "random":
        pytest.importorskip("optuna")
    played = play(toy(constraints=2), name, 15)
    assert played.objectives.shape == (15, 2)
    assert played.constraints.shape == (15, 2)
    assert 0 < played.feasible.sum() < 15


def test_hypervolumes_are_kept_at_the_half_and_at_the_end() -> None:
    assert checkpoints(25) == [10, 13, 20, 25]
    assert checkpoints(100) == list(range(10, 101, 10))


def test_the_method_with_more_of_the_known_hypervolume_is_first() -> None:
    pytest.importorskip("scipy")

    def row(method: str, seed: int, y: float) -> dict[str, str]:
        volume = (1 - y) ** 2
        volumes = " ".join([str(volume / 2)] * 9 + [str(volume)])
        run = {"group": "toy", "problem": "two", "method": method, "seed": str(seed), "evaluations": "100"}
        return run | {"objectives": "2", "known": "0", "seconds": "1", "hypervolume": volumes, "front": f"{y} {y}"}

    rows = [row(method, seed, y) for seed in range(3) for method, y in ((OURS, 0.1), ("random", 0.3))]
    first, second = summary("toy", rows)
    assert (first["method"], first["average rank"], first["log10 regret"]) == (OURS, "1.00", "-4.00")
    assert second[f"{OURS} wins:losses"] == "3:0"
    assert float(second["log10 regret"]) == pytest.approx(np.log10(1 - 0.49 / 0.81), abs=0.01)

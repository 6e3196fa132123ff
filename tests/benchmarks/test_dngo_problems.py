"""The tasks of the paper's table 1, and the compiled training against the same training written out."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.dngo.contenders import play
from benchmarks.dngo.logistic import Images, train
from benchmarks.dngo.problems import BRANIN_MINIMUM, TASKS, branin, data, grid


def test_branin_has_its_three_minima() -> None:
    for x in ((-math.pi, 12.275), (math.pi, 2.275), (9.42478, 2.475)):
        assert branin(x) == pytest.approx(BRANIN_MINIMUM, abs=1e-6)


@pytest.fixture
def small_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table out of order, one place of it measured twice."""
    (tmp_path / "hpolib_grids").mkdir()
    lines = ["a,b,loss,time_s", "10,0.1,1,9", "2,0.1,2,9", "2,0.01,3,9", "10,0.01,4,9", "2,0.1,5,9"]
    (tmp_path / "hpolib_grids" / "small.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("SONDE_DATA", str(tmp_path))


@pytest.mark.usefixtures("small_grid")
def test_a_grid_is_searched_by_the_places_of_its_sorted_values() -> None:
    problem = grid("small.csv", "loss", 10.0)
    assert [(variable.kind, variable.low, variable.high) for variable in problem.variables] == [("int", 0, 1)] * 2
    assert [problem(x) for x in ((0, 0), (0, 1), (1, 0), (1, 1))] == [30, 50, 40, 10]


@pytest.mark.usefixtures("small_grid")
def test_data_that_are_missing_are_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.csv is missing; set SONDE_DATA"):
        data("hpolib_grids", "absent.csv")


@pytest.mark.parametrize("name", ["random", "sobol"])
def test_a_run_has_every_value_in_order_and_is_repeatable(name: str) -> None:
    seen: list[float] = []
    problem = TASKS["branin"].problem()

    def noted(x: Sequence[float]) -> float:
        seen.append(branin(x))
        return seen[-1]

    task = replace(TASKS["branin"], budget=12, problem=lambda: replace(problem, evaluate=noted))
    run = play(name, task, seed=3)
    assert run.values == seen
    assert len(run.values) == 12
    assert play(name, task, seed=3).values == run.values


def test_failures_are_survived() -> None:
    problem = TASKS["branin"].problem()
    half = replace(problem, evaluate=lambda x: branin(x) if x[0] > 0 else math.inf)
    task = replace(TASKS["branin"], budget=12, problem=lambda: half)
    values = play("sobol", task, seed=0).values
    assert 0 < sum(map(math.isinf, values)) < 12


def small_images() -> tuple[Images, Images]:
    """Four hundred pictures that are too noisy to be learned, so that training has to stop some time."""
    rng = np.random.default_rng(0)
    classes = rng.integers(10, size=600)
    pixels = np.clip(rng.normal(100, 80, (600, 30)) + 60 * np.eye(10, 30)[classes], 0, 255).astype(np.uint8)
    return Images(pixels[:400], classes[:400]), Images(pixels[400:], classes[400:])


def written_out(training: Images, validation: Images, lrate: float, l2_reg: float, size: int, epochs: int) -> float:
    """HPOlib's loop over iterations, as the data's README tells it."""
    x, y, u, v = (np.asarray(rows) for rows in (*training, *validation))
    weights, bias = np.zeros((x.shape[1], 10)), np.zeros(10)
    batches, best, patience = len(y) // size, math.inf, 5000
    for epoch in range(1, epochs + 1):
        for batch in range(batches):
            rows = slice(batch * size, (batch + 1) * size)
            logits = x[rows] / 256 @ weights + bias
            slope = np.exp(logits - logits.max(1, keepdims=True))
            slope = (slope / slope.sum(1, keepdims=True) - np.eye(10)[y[rows]]) / size
            weights, bias = (
                weights - lrate * (x[rows].T / 256 @ slope + 2 * l2_reg * weights),
                bias - lrate * slope.sum(0),
            )
            iteration = epoch * batches + batch
            if (iteration + 1) % min(batches, 2500) == 0:
                used = len(v) // size * size
                wrong = float(np.mean(np.argmax(u[:used] / 256 @ weights + bias, axis=1) != v[:used]))
                if wrong < 0.995 * best:
                    patience = max(patience, 2 * iteration)
                best = min(best, wrong)
            if patience <= iteration:
                return best
    return best


@pytest.mark.parametrize(
    ("lrate", "l2_reg", "size", "epochs"),
    [
        (0.5, 0.0, 20, 40),
        (0.5, 0.001, 150, 300),
        (0.1, 0.01, 33, 25),
        (0.05, 0.001, 47, 2000),
        (1.0, 0.1, 90, 7),
        (0.0, 0.0, 20, 5),
    ],
)
def test_training_is_that_of_the_loop_written_out(lrate: float, l2_reg: float, size: int, epochs: int) -> None:
    ours = train(*small_images(), lrate, l2_reg, size, epochs)
    assert ours == pytest.approx(written_out(*small_images(), lrate, l2_reg, size, epochs), abs=1e-6)


def test_training_that_diverges_has_failed() -> None:
    assert math.isinf(train(*small_images(), 10.0, 10.0, 20, 50))


def test_the_goal_is_as_near_as_the_paper_prints() -> None:
    assert round(TASKS["logistic"].goal, 4) == 6.89
    assert TASKS["logistic"].goal >= 100 * round(float(np.float32(0.0689)), 7)
    assert TASKS["branin"].goal == pytest.approx(0.398887)


def _data_are_here() -> bool:
    try:
        return data("hpolib_grids").exists()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not _data_are_here(), reason="needs the tables of HPOlib: see SONDE_DATA")
@pytest.mark.parametrize(
    ("name", "shape"), [("lda", (6, 6, 8)), ("svm", (25, 14, 4)), ("logistic-grid", (11, 11, 8, 10))]
)
def test_the_tables_are_whole_and_have_the_optimum_that_is_stated(name: str, shape: tuple[int, ...]) -> None:
    problem = TASKS[name].problem()
    assert tuple(int(variable.high) + 1 for variable in problem.variables) == shape
    values = [problem(x) for x in np.ndindex(*shape)]
    assert min(values) == pytest.approx(TASKS[name].optimum)
    assert not any(map(math.isnan, values))

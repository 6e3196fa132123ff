"""``gp`` and ``fobo`` with kernels of ``sonde.kernels``, users' own included."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import sonde
from sonde.errors import KernelError, NotDifferentiable, OptionError
from sonde.kernels import ARD, RBF, DotProduct, Function, Kernel, Matern12, Matern52, Polynomial
from sonde.strategies import record, resolve_strategy

PLANE = sonde.Space(x=sonde.Float(-1, 1), y=sonde.Float(-1, 1))
MIXED = sonde.Space(
    rate=sonde.Float(1e-4, 1, log=True), n=sonde.Int(1, 9), kind=sonde.Categorical(["a", "b", "c"]), x=sonde.Float(0, 1)
)


class Periodic(Kernel):
    """A kernel that users of the kernels page write themselves."""

    period: float
    lengthscale: float = 1.0

    @property
    def smoothness(self) -> float:
        """Infinite."""
        return math.inf

    def __call__(self, x: Any, y: Any) -> Any:
        """Return the covariance."""
        return jnp.exp(-2 * jnp.sum(jnp.sin(jnp.pi * (x - y) / self.period) ** 2) / self.lengthscale**2)


def bowl(trial: Any) -> float:
    return float((trial["x"] - 0.3) ** 2 + 2 * (trial["y"] + 0.2) ** 2)


def mixed(trial: Any) -> float:
    return (math.log10(trial["rate"]) + 2) ** 2 + trial["n"] / 9 + (trial["kind"] != "b") + (trial["x"] - 0.7) ** 2


def run(strategy: Any, function: Any, count: int, space: sonde.Space = PLANE, seed: int = 0) -> sonde.Study:
    study = sonde.Study(space, strategy=strategy, seed=seed)
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, function(trial))
    return study


def waves(trial: Any) -> float:
    """Periodic, with one best period of many."""
    return math.cos(2 * math.pi * trial["x"] / 1.7 + 1) * math.cos(2 * math.pi * trial["y"] / 1.7) + 0.02 * trial["x"]


def points(count: int, seed: int) -> list[dict[str, float]]:
    return [{"x": x, "y": y} for x, y in np.random.default_rng(seed).uniform(0, 10, (count, 2)).tolist()]


@pytest.mark.parametrize("seed", range(3))
def test_a_kernel_of_ones_own_predicts_better_where_it_fits(seed: int) -> None:
    """Compared at the same observations: the best value found within some trials is a matter of luck."""
    new = points(40, seed + 100)
    own = {name: Periodic(0.17) * RBF(2.0) for name in ("x", "y")}
    errors = []
    for kernel in (own, "matern52"):
        space = sonde.Space(x=sonde.Float(0, 10), y=sonde.Float(0, 10))
        study = sonde.Study(space, strategy=sonde.GP(kernel=kernel), seed=0)
        study.add_trials([{"params": each, "value": waves(each)} for each in points(40, seed)])
        errors.append(np.sqrt(np.mean((study.predict(new).mean - [waves(each) for each in new]) ** 2)))
    assert errors[0] < errors[1] / 4


def test_a_kernel_of_inner_products_finds_the_minimum_of_a_quadratic_at_once() -> None:
    study = run(sonde.GP(kernel=DotProduct(lambda xy: (xy + 1.0) ** 2)), bowl, 12)
    assert study.best_value < 1e-4


@pytest.mark.parametrize("kernel", ["rbf", {"rate": Matern52(0.5), "n": RBF(0.7)}, Matern52(0.5)], ids=repr)
def test_mixed_spaces_with_failures_constraints_noise_and_batches(kernel: Any) -> None:
    study = sonde.Study(MIXED, strategy=sonde.GP(kernel=kernel), seed=0)
    for _ in range(5):
        for trial in study.ask(3):
            if trial["x"] > 0.9:
                study.tell(trial, math.nan)
            else:
                study.tell(trial, mixed(trial), noise=0.01, constraints={"c": trial["n"] - 8})
    waiting = study.ask(2)
    assert len({str(dict(trial)) for trial in waiting}) == 2
    predicted = study.predict([dict(trial) for trial in study.trials[:3]])
    assert np.all(np.isfinite(predicted.mean))
    assert np.all(predicted.std > 0)
    assert "kernel" in study.explain()
    assert str(study.diagnose())


@pytest.mark.parametrize(
    "options",
    [
        {"acquisition": "ucb"}, {"acquisition": "es"}, {"acquisition": "ei", "batch": "joint"}, {"search": "adam"},
        {"hyperparameters": "map"}, {"hyperparameters": "slice"},
    ],
    ids=repr,
)  # fmt: skip
def test_every_option_works_with_a_kernel(options: Any) -> None:
    study = run(sonde.GP(kernel=Matern52(0.5), **options), bowl, 9)
    points = study.ask(2)
    assert all(trial.params in PLANE for trial in points)
    assert points[0].params != points[1].params


def test_a_large_batch_is_chosen_under_a_kernel() -> None:
    study = run(sonde.GP(kernel=RBF(0.5)), bowl, 9)
    assert len({tuple(trial.values()) for trial in study.ask(70)}) == 70


def test_the_function_is_within_the_predicted_deviations() -> None:
    study, at = run(sonde.GP(kernel=ARD(Matern52(), np.ones(2))), bowl, 14), [{"x": 0.1, "y": 0.4}, {"x": -0.6, "y": 0}]
    predicted = study.predict(at)
    assert np.all(predicted.std < 0.2)
    np.testing.assert_array_less(np.abs(predicted.mean - [bowl(each) for each in at]), 3 * predicted.std)


def test_a_study_that_is_opened_again_suggests_the_same(tmp_path: Path) -> None:
    strategy = {"strategy": sonde.GP(kernel=Matern52(0.5)), "seed": 3}
    whole = sonde.Study(PLANE, **strategy)
    for _ in range(9):
        trial = whole.ask()
        whole.tell(trial, bowl(trial))
    code = (
        "import sonde, sys; from sonde.kernels import Matern52\n"
        "space = sonde.Space(x=sonde.Float(-1, 1), y=sonde.Float(-1, 1))\n"
        "s = sonde.Study(space, strategy=sonde.GP(kernel=Matern52(0.5)), seed=3, storage='runs.db', name='s')\n"
        "for _ in range(int(sys.argv[1])):\n"
        "    t = s.ask(); s.tell(t, float((t['x'] - 0.3) ** 2 + 2 * (t['y'] + 0.2) ** 2))\n"
        "print(repr([dict(t) for t in s.trials]))"
    )
    for count in (7, 2):
        command = [sys.executable, "-c", code, str(count)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=200)
    assert eval(done.stdout) == [dict(trial) for trial in whole.trials]


def test_kernels_are_left_out_of_the_text_of_a_strategy_and_names_are_not() -> None:
    assert record(sonde.GP("ucb", kernel=Matern52())) == "gp(acquisition='ucb')"
    assert record(sonde.FOBO(kernel={"x": Matern52()})) == "fobo"
    assert record(sonde.GP(kernel="rbf")) == "gp(kernel='rbf')"
    assert resolve_strategy("gp(kernel='rbf')").options == {"kernel": "rbf"}
    assert "Matern" in repr(sonde.GP(kernel=Matern52()))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (3, "kernel must be matern52, rbf, rational_quadratic, a kernel of sonde.kernels"),
        (lambda x, y: 1.0, "goes in sonde.kernels.Function"),
        ({}, "kernel must be"),
        ({"x": 2}, "kernel must be"),
        ({"x": RBF(), ("x", "y"): RBF()}, "names a parameter twice"),
        ("periodic", "kernel must be one of matern52, rbf, rational_quadratic, got 'periodic'"),
    ],
    ids=["number", "function", "nothing", "number for a name", "a name twice", "unknown name"],
)
@pytest.mark.parametrize("strategy", [sonde.GP, sonde.FOBO])
def test_an_option_that_is_no_kernel_is_refused_at_once(strategy: Any, kernel: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        strategy(kernel=kernel)


@pytest.mark.parametrize(
    ("kernel", "space", "error", "message"),
    [
        ({"z": RBF()}, PLANE, OptionError, "names 'z'; the parameters of this space are x, y"),
        ({"kind": RBF()}, MIXED, OptionError, "names 'kind', whose choices have no order"),
        (RBF(), sonde.Space(n=sonde.Int(1, 99)), OptionError, "this space has none; name the parameters"),
        (ARD(RBF(), np.ones(3)), PLANE, KernelError, "2"),
        (Function(lambda x, y: jnp.log(-1.0 - x @ y)), PLANE, KernelError, "Function is not finite"),
        (Function(lambda x, y: -jnp.exp(-(x - y) @ (x - y))), PLANE, KernelError, "not positive definite"),
        (Function(lambda x, y: x[0]), PLANE, KernelError, "not symmetric"),
        (Function(lambda x, y: x * y), PLANE, KernelError, "must return one number"),
        (Function(lambda x, y: jnp.exp(-jnp.linalg.norm(x - y))), PLANE, KernelError, "squared distance"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_kernel_in_a_space_is_said(kernel: Any, space: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        sonde.Study(space, strategy=sonde.GP(kernel=kernel)).ask()


# with gradients


def quadratic(trial: Any) -> tuple[float, dict[str, float]]:
    return bowl(trial), {"x": 2 * (trial["x"] - 0.3), "y": 4 * (trial["y"] + 0.2)}


def run_first_order(strategy: Any, count: int, *, partial: bool = False) -> sonde.Study:
    study = sonde.Study(PLANE, strategy=strategy, seed=0)
    for i in range(count):
        trial = study.ask()
        value, gradient = quadratic(trial)
        if partial and i % 3:
            gradient.pop("xy"[i % 2])
        study.tell(trial, value, gradient=gradient if not partial or i % 5 else None)
    return study


@pytest.mark.parametrize("partial", [False, True])
def test_fobo_learns_values_and_gradients_under_a_kernel(partial: bool) -> None:
    study = run_first_order(sonde.FOBO(kernel=ARD(Matern52(), np.ones(2)) + 0.1 * Polynomial(2)), 12, partial=partial)
    assert study.best_value < 1e-3
    assert "your kernel Sum" in study.explain()
    at = {"x": -0.5, "y": 0.5}
    assert study.predict(at).mean == pytest.approx(bowl(at), abs=0.1)
    assert str(study.diagnose())


def test_fobo_without_gradients_is_gp_with_the_same_kernel() -> None:
    ours, theirs = (run(strategy(kernel=RBF(0.6)), bowl, 9) for strategy in (sonde.FOBO, sonde.GP))
    added = sonde.Study(PLANE, strategy=sonde.FOBO(kernel=RBF(0.6)), seed=0)
    added.add_trials([{"params": dict(trial), "value": trial.value} for trial in theirs.trials])
    assert dict(added.ask()) == dict(theirs.ask())
    assert "works as gp" in ours.explain()


def test_fobo_has_its_global_model_in_high_dimension_too() -> None:
    d = 44
    space = sonde.Space({f"x{i}": sonde.Float(0, 1) for i in range(d)})
    study = sonde.Study(space, strategy=sonde.FOBO(kernel=RBF(3.0)), seed=0)
    for _ in range(7):
        trial = study.ask()
        x = np.array(list(trial.values()))
        study.tell(trial, float(np.sum((x - 0.4) ** 2)), gradient=2 * (x - 0.4))
    assert study.best_value < 0.5
    assert "your kernel RBF" in study.explain()


def test_fobo_refuses_rough_kernels_and_a_second_trend() -> None:
    with pytest.raises(OptionError, match="Polynomial"):
        sonde.FOBO(kernel=RBF(), trend="quadratic")
    with pytest.raises(NotDifferentiable, match="no gradients"):
        sonde.Study(PLANE, strategy=sonde.FOBO(kernel=Matern12())).ask()

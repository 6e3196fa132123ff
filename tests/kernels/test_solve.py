from __future__ import annotations

import jax
import lineax as lx
import numpy as np
import pytest
from tests.kernels.zoo import points

import sonde.kernels.solve
from sonde.errors import NotPositiveDefinite
from sonde.kernels import (
    ARD,
    RBF,
    DotProduct,
    GradientGram,
    Gram,
    HessianGram,
    Matern52,
    Polynomial,
    ValueGradientGram,
)

KINDS = [Gram, GradientGram, ValueGradientGram, HessianGram]


@pytest.fixture
def iterative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sonde.kernels.solve, "DENSE_SIZE", 0)


@pytest.mark.parametrize(
    ("kind", "noise"), [(kind, 1e-2) for kind in KINDS] + [(KINDS[2], "entries"), (KINDS[2], "all")]
)
def test_cholesky(kind: type, noise: object) -> None:
    operator = kind(RBF(), points(6))
    size, p = operator.in_size(), operator.entries
    rng = np.random.default_rng(0)
    variances = {"entries": rng.uniform(0.01, 0.1, p), "all": rng.uniform(0.01, 0.1, size)}.get(str(noise), noise)
    b = rng.normal(size=size)
    found = operator.solve(b, noise=variances)
    full = np.broadcast_to(np.tile(variances, 6) if str(noise) == "entries" else variances, size)
    expected = np.linalg.solve(np.asarray(operator.as_matrix()) + np.diag(full), b)
    assert found.method == "cholesky"
    assert found.converged
    np.testing.assert_allclose(found.value, expected, rtol=1e-8)
    exact = operator.logdet(noise=variances)
    assert exact.error == 0
    np.testing.assert_allclose(
        exact.value, np.linalg.slogdet(np.asarray(operator.as_matrix()) + np.diag(full))[1], rtol=1e-10
    )


@pytest.mark.parametrize(
    ("kind", "kernel"),
    [
        (Gram, Matern52()),
        (GradientGram, Matern52()),
        (ValueGradientGram, Matern52() + Polynomial(2)),
        (ValueGradientGram, ARD(Matern52(), [0.5, 1.0, 2.0])),
        (HessianGram, RBF()),
    ],
    ids=["values", "gradients", "mixture", "mapped", "hessians"],
)
def test_conjugate_gradients(iterative: None, kind: type, kernel: object) -> None:
    operator = kind(kernel, points(20))
    b = np.random.default_rng(0).normal(size=operator.in_size())
    found = operator.solve(b, noise=1e-2)
    assert found.method == "conjugate gradients"
    assert found.converged
    assert found.residual < 1e-6
    expected = np.linalg.solve(np.asarray(operator.as_matrix()) + 1e-2 * np.eye(len(b)), b)
    np.testing.assert_allclose(found.value, expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max())


def test_the_preconditioner_saves_steps(iterative: None, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = GradientGram(RBF(), 0.3 * points(40, d=10))
    b = np.random.default_rng(0).normal(size=operator.in_size())
    steps = operator.solve(b, noise=1e-4).steps
    monkeypatch.setattr(sonde.kernels.solve, "_preconditioner", lambda operator, variances: lambda z: z)
    other = GradientGram(RBF(), 0.3 * points(40, d=10), memory=2**27)  # another setting: compiled anew
    plain = other.solve(b, noise=1e-4).steps
    assert steps < plain


def test_too_few_steps_are_reported(iterative: None) -> None:
    operator = ValueGradientGram(RBF(), points(20))
    found = operator.solve(np.ones(operator.in_size()), noise=1e-6, max_steps=2)
    assert not found.converged
    assert found.residual > 1e-4


def test_stochastic_lanczos_is_within_its_error(iterative: None) -> None:
    operator = ValueGradientGram(Matern52(), points(30))
    exact = np.linalg.slogdet(np.asarray(operator.as_matrix()) + 0.1 * np.eye(operator.in_size()))[1]
    estimate = operator.logdet(noise=0.1, probes=64, steps=60)
    assert estimate.method == "stochastic Lanczos"
    assert 0 < estimate.error < 0.1 * abs(exact) + 5
    assert abs(estimate.value - exact) < 4 * estimate.error


def test_lineax_can_use_the_operators() -> None:
    operator = GradientGram(Matern52(), points(5))
    assert lx.is_symmetric(operator)
    assert lx.is_positive_semidefinite(operator)
    assert not lx.is_symmetric(GradientGram(Matern52(), points(5), points(5, seed=1)))
    with jax.enable_x64(True):
        b = np.ones(operator.in_size())
        found = lx.linear_solve(operator, b, lx.CG(rtol=1e-10, atol=1e-10))
        np.testing.assert_allclose(operator.mv(found.value), b, atol=1e-7)
        np.testing.assert_allclose(lx.materialise(operator).as_matrix(), operator.as_matrix())


def test_repeated_points_without_noise_are_solved_with_jitter() -> None:
    rows = np.vstack([points(4), points(4)])
    found = ValueGradientGram(RBF(), rows).solve(np.tile(np.ones(4 * 4), 2))
    assert np.all(np.isfinite(np.asarray(found.value)))


def test_a_function_that_is_not_a_covariance_is_refused() -> None:
    with pytest.raises(NotPositiveDefinite, match="check for repeated points"):
        Gram(DotProduct(lambda xy: -xy), points(5)).solve(np.ones(5))


def test_single_precision_has_its_own_jitter_and_says_so() -> None:
    indefinite = DotProduct(lambda xy: -xy)
    with pytest.raises(NotPositiveDefinite, match="with jitter 3e-04"):
        Gram(indefinite, points(6).astype(np.float32)).solve(np.ones(6, np.float32), noise=0.0)
    with pytest.raises(NotPositiveDefinite, match="with jitter 1e-08"):
        Gram(indefinite, points(6)).solve(np.ones(6), noise=0.0)


@pytest.mark.usefixtures("iterative")
def test_kept_coefficients_are_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = GradientGram(Matern52(), points(6), keep=True)
    assert sonde.kernels.solve.with_coefficients(operator) is operator

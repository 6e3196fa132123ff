"""Posteriors under kernels of ``sonde.kernels`` against the closed forms, finite differences and whole matrices."""

from __future__ import annotations

import resource
import time
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.surrogates.gradient_models import full_layout, gradient_covariance, gradients_of, partial_layout, points_of
from tests.surrogates.models import covariance_of, data_of

import sonde.surrogates.gradient.iterative as module
from sonde.kernels import ARD, RBF, Cosine, DirectSum, Function, Kernel, Matern52, NeuralNetwork, Polynomial
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.posterior import ExactPosterior
from sonde.surrogates.gradient.iterative import IterativePosterior
from sonde.surrogates.kernel import evaluation
from sonde.surrogates.kernel.covariance import KernelCovariance
from sonde.surrogates.kernel.family import DEFAULT, NAMED, Family

Array = NDArray[np.float64]

KERNELS: dict[str, Kernel] = {
    "matern": ARD(Matern52(), np.array([0.4, 0.6, 0.8])),
    "sum": RBF(0.5) + 0.3 * Polynomial(2),
    "product": NeuralNetwork(0.7) * Matern52(0.9),
    "cosine": Cosine(np.array([1.0, -2.0, 0.5])) * RBF(0.6),
    "separable": DirectSum((RBF(0.3), RBF(0.4), RBF(0.5))),
    "function": Function(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)) + 0.1 * jnp.sum(x * y)),
}


def family_of(kernel: Kernel, *, with_gradients: bool = True, width: int = 3) -> Family:
    columns = tuple(range(width))
    return Family.of([(kernel, columns)], np.arange(width), DEFAULT, with_gradients=with_gradients)


def covariance_under(kernel: Kernel, **options: Any) -> KernelCovariance:
    family = family_of(kernel, **options)
    theta = family.start + np.random.default_rng(1).normal(0, 0.2, len(family.start))
    theta[family.size :] = np.log(1e-2)
    return KernelCovariance(family, theta)


def closed_form(own: Covariance) -> KernelCovariance:
    """The same covariance as a kernel; theta of the family: length scales, log s, noise, gradient noise."""
    default = DEFAULT if own.profile == "matern52" else NAMED[own.profile]
    family = Family.of([], own.groups, default, with_gradients=True)
    return KernelCovariance(family, own.theta)


def differences(function: Any, x: Array, step: float = 1e-6) -> Array:
    """Central differences of a scalar function of an array."""
    found = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        moved = np.zeros(x.shape)
        moved[index] = step
        found[index] = (function(x + moved) - function(x - moved)) / (2 * step)
    return found


@pytest.mark.parametrize("features", [Features((0, 0)), Features((0, 3, 0, 2))], ids=["numbers", "mixed"])
def test_the_default_kernel_has_the_posterior_of_the_closed_form(features: Features) -> None:
    own = covariance_of(features)
    x, y, noise = data_of(features, 9)
    family = Family.of([], features.groups, DEFAULT, with_gradients=False)
    theirs, ours = (ExactPosterior.of(each, x, y, noise) for each in (own, KernelCovariance(family, own.theta)))
    new = data_of(features, 5, seed=1)[0]
    weights = np.random.default_rng(0).normal(size=(2, 5))
    for a, b in [
        (ours, theirs),
        (ours.condition(new[:2], y[:2, None], 0.1), theirs.condition(new[:2], y[:2, None], 0.1)),
    ]:
        left, right = a.marginals(new), b.marginals(new)
        np.testing.assert_allclose(left.mean, right.mean, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(left.variance, right.variance, rtol=1e-8)
        np.testing.assert_allclose(
            left.vjp(weights[0][:, None], weights[1]), right.vjp(weights[0][:, None], weights[1]), rtol=1e-7, atol=1e-9
        )
        np.testing.assert_allclose(a.pool(new).mean, b.pool(new).mean, rtol=1e-9, atol=1e-11)
    pools = data_of(features, 6, seed=2)[0].reshape(2, 3, -1)
    left, right = ours.joint(pools), theirs.joint(pools)
    np.testing.assert_allclose(left.covariance, right.covariance, rtol=1e-8, atol=1e-10)
    gradients = np.random.default_rng(3).normal(size=(2, 3)), np.random.default_rng(4).normal(size=(2, 3, 3))
    np.testing.assert_allclose(left.vjp(*gradients), right.vjp(*gradients), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.leave_one_out(y), theirs.leave_one_out(y), rtol=1e-8)


def test_an_ard_kernel_is_the_closed_form() -> None:
    own = Covariance(np.arange(3), np.array([*np.log([0.4, 0.6, 0.8]), 0.0, np.log(1e-4)]))
    family = family_of(KERNELS["matern"], with_gradients=False)
    x, y = points_of(8), points_of(5, seed=1)
    ours = KernelCovariance(family, family.start)
    np.testing.assert_allclose(ours.cross(x, y).values, own.cross(x, y).values, rtol=1e-12)
    assert ours.noise == own.noise


@pytest.mark.parametrize("profile", ["matern52", "rbf", "rational_quadratic"])
@pytest.mark.parametrize("layout_of", [full_layout, partial_layout])
def test_covariances_of_gradients_are_those_of_the_closed_forms(profile: str, layout_of: Any) -> None:
    own = gradient_covariance(profile)
    ours, layout, x = closed_form(own), layout_of(points_of(7)), points_of(4, seed=1)
    np.testing.assert_allclose(ours.between(layout, layout), own.between(layout, layout), rtol=1e-9, atol=1e-11)
    weights = np.random.default_rng(0).normal(size=(4, len(layout)))
    left, right = ours.toward(x, layout), own.toward(x, layout)
    np.testing.assert_allclose(left.values, right.values, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(left.vjp(weights), right.vjp(weights), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", KERNELS)
def test_vector_jacobian_products_are_finite_differences(name: str) -> None:
    covariance, layout = covariance_under(KERNELS[name]), partial_layout(points_of(6))
    y, noise = np.random.default_rng(2).normal(size=len(layout)), np.full(len(layout), 1e-2)
    posterior = ExactPosterior.after(covariance, layout, y, noise)
    posterior = posterior.condition(points_of(1, seed=5), np.ones((1, 1)))
    x, (a, b) = points_of(3, seed=3), np.random.default_rng(4).normal(size=(2, 3))

    def scalar(x: Array) -> float:
        predicted = posterior.marginals(x)
        return float(a @ predicted.mean[:, 0] + b @ predicted.variance)

    found = posterior.marginals(x).vjp(a[:, None], b)
    np.testing.assert_allclose(found, differences(scalar, x), rtol=1e-5, atol=1e-6)
    means, _ = gradients_of(posterior, x)
    slopes = posterior.marginals(x).vjp(np.ones((3, 1)), np.zeros(3))
    np.testing.assert_allclose(means, slopes, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("with_gradients", [False, True], ids=["values", "gradients"])
def test_the_gradient_of_the_marginal_likelihood_is_that_of_finite_differences(name: str, with_gradients: bool) -> None:
    covariance = covariance_under(KERNELS[name], with_gradients=with_gradients)
    layout = partial_layout(points_of(7)) if with_gradients else ObservationLayout(points_of(7))
    rng = np.random.default_rng(5)
    data = Evidence(layout, rng.normal(size=len(layout)), rng.random(7) / 10, np.array([1.0, 2.0, 0.5]))

    def density(theta: Array) -> float:
        return data.value(KernelCovariance(covariance.family, theta))

    value, gradient = data(covariance)
    assert value == pytest.approx(density(covariance.theta), rel=1e-12)
    np.testing.assert_allclose(gradient, differences(density, covariance.theta, 1e-5), rtol=1e-5, atol=1e-6)


def test_parameters_of_every_kind_become_theta_and_come_back() -> None:
    kernel = Polynomial(2, offset=-0.5) + 2.0 * RBF(0.3)
    family = family_of(kernel)
    np.testing.assert_allclose(family.start[:3], [-0.5, np.log(0.3), np.log(2.0)])
    again = family.at(family.start)
    x, y = points_of(2)
    assert float(again(x, y)) == pytest.approx(float(kernel(x, y)))
    assert len(family_of(KERNELS["function"]).start) == 3  # no parameters but s and the two noise variances


def test_sizes_between_two_paddings_compile_nothing_anew() -> None:
    kernel, x = Matern52(0.7), points_of(64)
    evaluation.values(kernel, x[:40], x[:40])
    before = evaluation._values._cached._cache_size()
    for count in (33, 50, 64):
        evaluation.values(kernel, x[:count], x[:count])
    assert evaluation._values._cached._cache_size() == before
    np.testing.assert_allclose(
        evaluation.values(kernel, x[:40], x[:33]), [[float(kernel(a, b)) for b in x[:33]] for a in x[:40]], rtol=1e-6
    )


@pytest.mark.parametrize("name", KERNELS)
def test_the_iterative_mean_is_that_of_the_whole_matrix(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOLERANCE", 1e-12)
    monkeypatch.setattr(module, "STEPS", 1000)
    covariance, layout = covariance_under(KERNELS[name]), partial_layout(points_of(16))
    rng = np.random.default_rng(3)
    y, noise, rows = rng.normal(size=len(layout)), rng.uniform(0.01, 0.02, len(layout)), np.array([1, 4, 9])
    few = ExactPosterior.after(covariance, ObservationLayout(layout.x[rows]), y[rows], noise[rows])
    ours = IterativePosterior.after(few, rows, layout, y, noise)
    theirs, new = ExactPosterior.after(covariance, layout, y, noise), points_of(5, seed=1)
    np.testing.assert_allclose(ours.marginals(new).mean, theirs.marginals(new).mean, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours.mean(new)[1], gradients_of(theirs, new)[0], rtol=1e-5, atol=1e-6)


def test_ten_thousand_derivatives_need_no_matrix() -> None:
    """A matrix of 500 values and 10,000 derivatives would have 880 MB."""
    n, d = 500, 20
    x = np.random.default_rng(0).random((n, d)) - 0.5
    values, gradients = np.sum(np.sin(2 * x), axis=1), 2 * np.cos(2 * x)
    covariance = covariance_under(ARD(Matern52(), np.full(d, 2.0)), width=d)
    layout, y = full_layout(x), np.concatenate([values, gradients.ravel()])
    noise, rows = np.full(len(y), 1e-6), np.arange(20)
    few = ExactPosterior.after(covariance, full_layout(x[rows]), *_of(rows, y, noise, n, d))
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    posterior = IterativePosterior.after(few, rows, layout, y, noise)
    assert time.process_time() - started < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB
    new = np.random.default_rng(1).random((50, d)) - 0.5
    truth = np.sum(np.sin(2 * new), axis=1)
    ours, subset = (each.marginals(new).mean[:, 0] - truth for each in (posterior, few))
    assert np.sqrt(np.mean(ours**2)) < np.sqrt(np.mean(subset**2)) / 3
    assert np.abs(posterior.mean(x[:5])[1] - gradients[:5]).max() < 0.05


def _of(rows: NDArray[np.intp], y: Array, noise: Array, n: int, d: int) -> tuple[Array, Array]:
    chosen = np.concatenate([rows, (n + rows[:, None] * d + np.arange(d)).ravel()])
    return y[chosen], noise[chosen]

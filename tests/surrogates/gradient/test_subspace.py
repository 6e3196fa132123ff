"""The Gaussian process on the subspace equals the one on the whole space."""

import numpy as np
import pytest

from sonde.surrogates.gradient.covariance import GradientCovariance
from sonde.surrogates.gradient.fitting import Observations, ScaledObservations, scale_observations
from sonde.surrogates.gradient.gp import GradientPosterior
from sonde.surrogates.gradient.marginal_likelihood import Evidence, log_evidence, noise_of
from sonde.surrogates.gradient.subspace import Subspace
from sonde.surrogates.outputs import Scale

WIDTH, COUNT = 11, 3


def results(seed: int = 0, width: int = WIDTH, count: int = COUNT) -> Observations:
    rng = np.random.default_rng(seed)
    x, gradients = rng.random((count, width)) - 0.5, rng.standard_normal((count, width))
    return Observations(x, rng.standard_normal(count), np.full(count, np.nan), gradients)


def partly(observations: Observations, *columns: int) -> Observations:
    """The same without the gradients of some columns, and one observation without any."""
    gradients = observations.gradients.copy()
    gradients[:, list(columns)] = np.nan
    gradients[-1] = np.nan
    return observations._replace(gradients=gradients)


def covariance(width: int, trend: str | None, profile: str, complement_dim: int = 0) -> GradientCovariance:
    theta = np.log([0.7, 1.3, 1e-3, *([0.4] if trend else []), 1e-3])
    return GradientCovariance(
        np.zeros(width, dtype=np.intp), theta, trend is not None, profile, trend or "quadratic", complement_dim
    )


def both(
    observations: Observations, trend: str | None, profile: str
) -> tuple[Subspace, list[tuple[GradientCovariance, ScaledObservations]]]:
    """Covariance and observations on the subspace and on the whole space, with the same noise of gradients."""
    subspace, scale = Subspace.of(observations), Scale.of(observations.values)
    few = scale_observations(subspace.reduce(observations), scale, complement_dim=subspace.complement_dim)
    whole = scale_observations(observations, scale)._replace(
        mean_squares=np.full(observations.x.shape[1], few.mean_squares[0])
    )
    width = subspace.axes.shape[1] + 1
    return subspace, [
        (covariance(width, trend, profile, subspace.complement_dim), few),
        (covariance(observations.x.shape[1], trend, profile), whole),
    ]


@pytest.mark.parametrize("profile", ["matern52", "rbf", "rational_quadratic"])
@pytest.mark.parametrize("trend", [None, "quadratic", "bowl"])
@pytest.mark.parametrize("without", [(), (2, 7)])
class TestReduced:
    def test_the_marginal_likelihood_and_its_gradient_are_those_of_the_whole_space(
        self, trend: str | None, profile: str, without: tuple[int, ...]
    ) -> None:
        _, pair = both(partly(results(), *without) if without else results(), trend, profile)
        (one, gradient), (other, whole_gradient) = (
            log_evidence(k, d.layout, d.y, d.known_noise, d.mean_squares) for k, d in pair
        )
        assert one == pytest.approx(other, rel=1e-10)
        np.testing.assert_allclose(gradient, whole_gradient, rtol=1e-7, atol=1e-8)

    def test_so_they_are_with_misfits(self, trend: str | None, profile: str, without: tuple[int, ...]) -> None:
        """The noise of a local model, see ``region``."""
        _, pair = both(partly(results(), *without) if without else results(), trend, profile)
        found, values, slopes = [], *np.random.default_rng(1).uniform(0.5, 2.0, (2, COUNT))
        for k, d in pair:
            k.theta[2] = -60.0  # a local model has no other noise
            misfits = np.concatenate([values, slopes[d.layout.gradients[0]]])
            found.append(Evidence(d.layout, d.y, d.known_noise, d.mean_squares, misfits)(k))
        (one, gradient), (other, whole_gradient) = found
        assert one == pytest.approx(other, rel=1e-9)
        np.testing.assert_allclose(gradient, whole_gradient, rtol=1e-6, atol=1e-7)

    def test_means_are_those_of_the_whole_space(
        self, trend: str | None, profile: str, without: tuple[int, ...]
    ) -> None:
        observations = partly(results(1), *without) if without else results(1)
        subspace, pair = both(observations, trend, profile)
        few, whole = (
            GradientPosterior.after(k, d.layout, d.y, noise_of(k, d.layout, d.known_noise, d.mean_squares))
            for k, d in pair
        )
        inside = observations.x[:1] + 0.2 * np.nan_to_num(observations.gradients[1:2])
        x = np.concatenate([np.random.default_rng(2).random((4, WIDTH)) - 0.5, inside])
        prediction, expected = few.marginals(subspace(x)), whole.marginals(x)
        np.testing.assert_allclose(prediction.mean, expected.mean, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(prediction.variance[-1], expected.variance[-1], rtol=1e-6, atol=1e-9)
        weights = np.ones((len(x), 1)), np.zeros(len(x))
        np.testing.assert_allclose(
            subspace.vjp(prediction.vjp(*weights), x), expected.vjp(*weights), rtol=1e-6, atol=1e-8
        )


def test_axes_are_orthonormal_and_span_points_and_gradients() -> None:
    observations = results(3, width=30, count=4)
    subspace = Subspace.of(observations)
    np.testing.assert_allclose(subspace.axes.T @ subspace.axes, np.eye(subspace.axes.shape[1]), atol=1e-12)
    assert (subspace.axes.shape[1], subspace.complement_dim) == (8, 22)
    np.testing.assert_allclose(
        subspace(np.concatenate([observations.x, observations.gradients]))[:, -1], 0.0, atol=1e-10
    )


def test_directions_that_repeat_count_once() -> None:
    observations = results(4, width=30, count=4)
    observations = observations._replace(gradients=np.repeat(observations.gradients[:1], 4, axis=0))
    assert Subspace.of(observations).axes.shape[1] == 5


def test_columns_without_gradients_are_axes_of_their_own() -> None:
    observations = partly(results(5, width=30, count=4), 3, 28)
    subspace = Subspace.of(observations)
    np.testing.assert_allclose(subspace.axes.T @ subspace.axes, np.eye(subspace.axes.shape[1]), atol=1e-12)
    assert (subspace.axes.shape[1], subspace.complement_dim) == (4 + 3 + 2, 21)
    reduced = subspace.reduce(observations)
    np.testing.assert_allclose(reduced.x[:, -3:-1], observations.x[:, [3, 28]])
    assert np.isfinite(reduced.gradients).sum() == 3 * 7
    np.testing.assert_allclose(
        np.linalg.norm(reduced.gradients[:3, :7], axis=1), np.sqrt(np.nansum(observations.gradients[:3] ** 2, axis=1))
    )


def test_the_rotated_columns_keep_most_derivatives() -> None:
    observations = results(5, width=30, count=6)
    observations.gradients[:3, 10:] = np.nan  # 3 results with 10 gradients, 3 with all 30: 90 by these, 60 by those
    assert Subspace.of(observations).rotated.all()
    observations.gradients[3, 2:] = np.nan  # a single one has 2
    np.testing.assert_array_equal(
        np.flatnonzero(Subspace.of(observations).rotated), np.arange(30)
    )  # still 60 by two of 30
    observations.gradients[4, 25] = np.nan  # 5 by 10: 50
    assert Subspace.of(observations).rotated.sum() == 29  # two by 29


def test_a_gradient_that_lacks_many_columns_is_unknown() -> None:
    observations = results(5, width=30, count=4)
    observations.gradients[2, 7:] = np.nan
    subspace = Subspace.of(observations)
    assert subspace.axes.shape[1] == 7
    assert np.isnan(subspace.reduce(observations).gradients[2]).all()
    assert np.isfinite(subspace.reduce(observations).gradients[[0, 1, 3], :-1]).all()


def test_huge_gradients_do_not_hide_the_points() -> None:
    observations = results(6, width=30, count=3)
    observations = observations._replace(gradients=1e12 * observations.gradients)
    assert Subspace.of(observations).axes.shape[1] == 6

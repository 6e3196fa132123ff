"""The Gaussian process on the subspace equals the one on the whole space."""

from dataclasses import replace

import numpy as np
import pytest
from tests.surrogates.gradient_models import ALL, TRENDS, gradient_covariance, points_of
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gradient.fitting import Observations, scale_observations
from sonde.surrogates.gradient.subspace import Subspace, complement_evidence
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


def covariance(width: int, trend: str | None, profile: str, complement_dim: int = 0) -> Covariance:
    theta = np.log([0.7, 1.3, 1e-3, *([0.4] if trend else []), 1e-3])
    return Covariance(np.zeros(width, dtype=np.intp), theta, trend, profile, complement_dim)


def log_evidence(covariance: Covariance, evidence: Evidence) -> tuple[float, np.ndarray]:
    """That of the observations, and of the zero derivatives along the complement."""
    value, gradient = evidence(covariance)
    more, its_gradient = complement_evidence(covariance, evidence)
    return value + more, gradient + its_gradient


def both(
    observations: Observations, trend: str | None, profile: str
) -> tuple[Subspace, list[tuple[Covariance, Evidence]]]:
    """Covariance and observations on the subspace and on the whole space, with the same noise of gradients."""
    subspace, scale = Subspace.of(observations), Scale.of(observations.values)
    width = subspace.axes.shape[1] + 1
    few = replace(scale_observations(subspace.reduce(observations), scale), mean_squares=np.full(width, 0.7))
    whole = replace(scale_observations(observations, scale), mean_squares=np.full(observations.x.shape[1], 0.7))
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
        (one, gradient), (other, whole_gradient) = (log_evidence(*each) for each in pair)
        assert one == pytest.approx(other, rel=1e-10)
        np.testing.assert_allclose(gradient, whole_gradient, rtol=1e-7, atol=1e-8)

    def test_so_they_are_with_misfits(self, trend: str | None, profile: str, without: tuple[int, ...]) -> None:
        """The noise of a local model, see ``region``."""
        _, pair = both(partly(results(), *without) if without else results(), trend, profile)
        found, values, slopes = [], *np.random.default_rng(1).uniform(0.5, 2.0, (2, COUNT))
        for k, d in pair:
            k.theta[2] = -60.0  # a local model has no other noise
            misfits = np.concatenate([values, slopes[d.layout.gradients[0]]])
            found.append(log_evidence(k, replace(d, misfits=misfits)))
        (one, gradient), (other, whole_gradient) = found
        assert one == pytest.approx(other, rel=1e-9)
        np.testing.assert_allclose(gradient, whole_gradient, rtol=1e-6, atol=1e-7)

    def test_means_are_those_of_the_whole_space(
        self, trend: str | None, profile: str, without: tuple[int, ...]
    ) -> None:
        observations = partly(results(1), *without) if without else results(1)
        subspace, pair = both(observations, trend, profile)
        few, whole = (evidence.posterior(covariance) for covariance, evidence in pair)
        inside = observations.x[:1] + 0.2 * np.nan_to_num(observations.gradients[1:2])
        x = np.concatenate([np.random.default_rng(2).random((4, WIDTH)) - 0.5, inside])
        prediction, expected = few.marginals(subspace(x)), whole.marginals(x)
        np.testing.assert_allclose(prediction.mean, expected.mean, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(prediction.variance[-1], expected.variance[-1], rtol=1e-6, atol=1e-9)
        weights = np.ones((len(x), 1)), np.zeros(len(x))
        np.testing.assert_allclose(
            subspace.vjp(prediction.vjp(*weights), x), expected.vjp(*weights), rtol=1e-6, atol=1e-8
        )


@pytest.mark.parametrize("profile", ALL)
@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize("misfitting", [False, True])
def test_the_gradient_of_the_marginal_likelihood_of_the_complement(
    profile: str, trend: str | None, misfitting: bool
) -> None:
    """The last column is the distance from the subspace: no observation has one."""
    rng, x = np.random.default_rng(0), points_of(5, 4)
    x[:, -1] = 0.0
    known = np.arange(5)[:, None].repeat(3, axis=1)[:4]  # the last point has no gradient
    layout = ObservationLayout(x, np.stack([known.ravel(), np.tile(np.arange(3), 4)]))
    plain = gradient_covariance(profile, trend, np.zeros(4, dtype=np.intp), noise=1e-26, gradient_noise=0.1)
    reduced = replace(plain, complement_dim=6)
    misfits = np.append(rng.uniform(0.5, 2.0, 5), rng.uniform(0.5, 2.0, 5)[layout.gradients[0]])
    evidence = Evidence(layout, rng.normal(size=17), np.zeros(5), np.full(4, 1.3), misfits if misfitting else None)
    value, gradient = complement_evidence(reduced, evidence)
    expected = numeric_gradient(
        lambda theta: complement_evidence(replace(reduced, theta=theta), evidence)[0], reduced.theta, step=1e-5
    )
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)
    assert abs(value) > 1e-3
    assert complement_evidence(plain, evidence)[0] == 0.0


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

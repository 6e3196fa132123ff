"""Few results in a wide space: the turned process is the whole one."""

import numpy as np
import pytest

from sonde.surrogates.gradient.covariance import GradientCovariance
from sonde.surrogates.gradient.fitting import Observed, Seen, fit_near, observed
from sonde.surrogates.gradient.gp import GradientPosterior
from sonde.surrogates.gradient.marginal_likelihood import log_evidence, noise_of
from sonde.surrogates.gradient.subspace import Subspace
from sonde.surrogates.outputs import Scale

WIDTH, COUNT = 11, 3


def results(seed: int = 0, width: int = WIDTH, count: int = COUNT) -> Seen:
    rng = np.random.default_rng(seed)
    x, gradients = rng.random((count, width)) - 0.5, rng.standard_normal((count, width))
    return Seen(x, rng.standard_normal(count), np.full(count, np.nan), gradients)


def partly(seen: Seen, *columns: int) -> Seen:
    """The same without the gradients of some columns, and one result without any."""
    gradients = seen.gradients.copy()
    gradients[:, list(columns)] = np.nan
    gradients[-1] = np.nan
    return seen._replace(gradients=gradients)


def covariance(width: int, trend: str | None, profile: str, hidden: int = 0) -> GradientCovariance:
    theta = np.log([0.7, 1.3, 1e-3, *([0.4] if trend else []), 1e-3])
    return GradientCovariance(
        np.zeros(width, dtype=np.intp), theta, trend is not None, profile, trend or "quadratic", hidden
    )


def both(seen: Seen, trend: str | None, profile: str) -> tuple[Subspace, list[tuple[GradientCovariance, Observed]]]:
    """The turned process and the whole one, with the same noise of gradients."""
    span, scale = Subspace.of(seen), Scale.of(seen.values)
    few = observed(span.reduce(seen), scale, hidden=span.hidden)
    whole = observed(seen, scale)._replace(power=np.full(seen.x.shape[1], few.power[0]))
    width = span.axes.shape[1] + 1
    return span, [
        (covariance(width, trend, profile, span.hidden), few),
        (covariance(seen.x.shape[1], trend, profile), whole),
    ]


@pytest.mark.parametrize("profile", ["matern52", "rbf", "rational_quadratic"])
@pytest.mark.parametrize("trend", [None, "quadratic", "bowl"])
@pytest.mark.parametrize("untold", [(), (2, 7)])
class TestTurned:
    def test_the_evidence_and_its_gradient_are_those_of_the_whole(
        self, trend: str | None, profile: str, untold: tuple[int, ...]
    ) -> None:
        _, pair = both(partly(results(), *untold) if untold else results(), trend, profile)
        (one, slope), (other, whole_slope) = (log_evidence(k, d.sites, d.y, d.told, d.power) for k, d in pair)
        assert one == pytest.approx(other, rel=1e-10)
        np.testing.assert_allclose(slope, whole_slope, rtol=1e-7, atol=1e-8)

    def test_means_are_those_of_the_whole_everywhere(
        self, trend: str | None, profile: str, untold: tuple[int, ...]
    ) -> None:
        seen = partly(results(1), *untold) if untold else results(1)
        span, pair = both(seen, trend, profile)
        few, whole = (GradientPosterior.after(k, d.sites, d.y, noise_of(k, d.sites, d.told, d.power)) for k, d in pair)
        inside = seen.x[:1] + 0.2 * np.nan_to_num(seen.gradients[1:2])
        x = np.concatenate([np.random.default_rng(2).random((4, WIDTH)) - 0.5, inside])
        belief, expected = few.marginals(span(x)), whole.marginals(x)
        np.testing.assert_allclose(belief.mean, expected.mean, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(belief.variance[-1], expected.variance[-1], rtol=1e-6, atol=1e-9)
        weights = np.ones((len(x), 1)), np.zeros(len(x))
        np.testing.assert_allclose(span.vjp(belief.vjp(*weights), x), expected.vjp(*weights), rtol=1e-6, atol=1e-8)


def test_axes_are_orthonormal_and_hold_points_and_gradients() -> None:
    seen = results(3, width=30, count=4)
    span = Subspace.of(seen)
    np.testing.assert_allclose(span.axes.T @ span.axes, np.eye(span.axes.shape[1]), atol=1e-12)
    assert (span.axes.shape[1], span.hidden) == (8, 22)
    np.testing.assert_allclose(span(np.concatenate([seen.x, seen.gradients]))[:, -1], 0.0, atol=1e-10)


def test_directions_that_repeat_count_once() -> None:
    seen = results(4, width=30, count=4)
    seen = seen._replace(gradients=np.repeat(seen.gradients[:1], 4, axis=0))
    assert Subspace.of(seen).axes.shape[1] == 5


def test_columns_without_slopes_are_axes_of_their_own() -> None:
    seen = partly(results(5, width=30, count=4), 3, 28)
    span = Subspace.of(seen)
    np.testing.assert_allclose(span.axes.T @ span.axes, np.eye(span.axes.shape[1]), atol=1e-12)
    assert (span.axes.shape[1], span.hidden) == (4 + 3 + 2, 21)
    turned = span.reduce(seen)
    np.testing.assert_allclose(turned.x[:, -3:-1], seen.x[:, [3, 28]])
    assert np.isfinite(turned.gradients).sum() == 3 * 7
    np.testing.assert_allclose(
        np.linalg.norm(turned.gradients[:3, :7], axis=1), np.sqrt(np.nansum(seen.gradients[:3] ** 2, axis=1))
    )


def test_the_columns_to_turn_are_those_by_which_most_slopes_count() -> None:
    seen = results(5, width=30, count=6)
    seen.gradients[:3, 10:] = np.nan  # 3 results with 10 gradients, 3 with all 30: 90 by these, 60 by those
    assert Subspace.of(seen).told.all()
    seen.gradients[3, 2:] = np.nan  # a single one has 2
    np.testing.assert_array_equal(np.flatnonzero(Subspace.of(seen).told), np.arange(30))  # still 60 by two of 30
    seen.gradients[4, 25] = np.nan  # 5 by 10: 50
    assert Subspace.of(seen).told.sum() == 29  # two by 29


def test_a_gradient_that_lacks_much_is_not_told() -> None:
    seen = results(5, width=30, count=4)
    seen.gradients[2, 7:] = np.nan
    span = Subspace.of(seen)
    assert span.axes.shape[1] == 7
    assert np.isnan(span.reduce(seen).gradients[2]).all()
    assert np.isfinite(span.reduce(seen).gradients[[0, 1, 3], :-1]).all()


def test_huge_gradients_do_not_drown_the_points() -> None:
    seen = results(6, width=30, count=3)
    seen = seen._replace(gradients=1e12 * seen.gradients)
    assert Subspace.of(seen).axes.shape[1] == 6


def test_a_fit_in_a_thousand_dimensions_is_that_of_few_axes() -> None:
    """A bowl in a thousand dimensions: the mean foretells values away from the results, along their gradients."""
    rng = np.random.default_rng(7)
    x = 0.2 * (rng.random((6, 1000)) - 0.5)
    centre = np.full(1000, 0.05)
    seen = Seen(x, np.sum((x - centre) ** 2, axis=1), np.full(6, np.nan), 2 * (x - centre))
    span = Subspace.of(seen)
    turned = span.reduce(seen)
    fitted = fit_near(
        np.zeros(turned.x.shape[1], dtype=np.intp), turned, "matern52", (None, "bowl"), hidden=span.hidden
    )
    scale, posterior = fitted.posterior(turned)
    there = x[:1] - 0.4 * seen.gradients[:1]
    mean, _ = scale.restore(posterior.marginals(span(there)).mean[:, 0], np.zeros(1))
    assert mean[0] == pytest.approx(np.sum((there - centre) ** 2), rel=0.02)

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import sonde.surrogates.gradient.global_trend as module
from sonde.surrogates.gradient.global_trend import APART, REACH, fit_global_trends, ripples_of, spread_out

Array = NDArray[np.float64]


def bowl_data(
    count: int, d: int, bottom: Array, *, ripples: float = 0.0, waves: float = 20.0, seed: int = 0
) -> tuple[Array, Array, Array]:
    """Points of the centred cube, with values, standardised, and gradients of a bowl with ripples."""
    x = np.random.default_rng(seed).random((count, d)) - 0.5
    turn = waves * (x - bottom) + np.arange(d)
    y = np.sum((x - bottom) ** 2 + ripples * np.cos(turn), axis=1)
    gradients = 2 * (x - bottom) - ripples * waves * np.sin(turn)
    return x, (y - y.mean()) / y.std(), gradients / y.std()


def draws(x: Array, y: Array, gradients: Array, count: int = 400, low: NDArray[np.bool_] | None = None) -> Array:
    bowls = fit_global_trends(x, y, gradients, np.zeros(len(x), dtype=bool) if low is None else low)
    return np.array([bowls.bottom(np.random.default_rng([7, i])) for i in range(count)])


@pytest.mark.parametrize(("d", "count"), [(1, 3), (2, 3), (4, 4), (10, 6)])
def test_an_exact_bowl_is_found_from_few_points_with_slopes(d: int, count: int) -> None:
    bottom = np.linspace(-0.3, 0.2, d)
    found = draws(*bowl_data(count, d, bottom), count=100)
    assert np.abs(np.median(found, axis=0) - bottom).max() < 0.05


def test_an_exact_bowl_is_found_from_values_alone() -> None:
    bottom = np.array([0.2, -0.1])
    x, y, gradients = bowl_data(20, 2, bottom)
    found = draws(x, y, np.full_like(gradients, np.nan), count=100)
    assert np.abs(np.median(found, axis=0) - bottom).max() < 0.05


def test_slopes_tell_more_than_values_alone() -> None:
    bottom = np.array([0.2, -0.1, 0.0])
    x, y, gradients = bowl_data(5, 3, bottom, ripples=0.003)
    with_slopes, without = draws(x, y, gradients), draws(x, y, np.full_like(gradients, np.nan))
    assert np.abs(with_slopes - bottom).mean() < 0.5 * np.abs(without - bottom).mean()


def test_among_ripples_the_bottom_is_the_surer_the_more_is_seen() -> None:
    bottom = np.array([0.2, -0.15])
    errors = [
        np.mean([np.abs(draws(*bowl_data(n, 2, bottom, ripples=0.05, seed=s), 50) - bottom).mean() for s in range(6)])
        for n in (4, 16, 80)
    ]
    assert errors[0] > 1.3 * errors[1] > 1.3**2 * errors[2]
    assert errors[2] < 0.12


def test_draws_know_how_wrong_they_may_be() -> None:
    """Over many rippled bowls the truth lies among the draws as often as it should."""
    inside, d = [], 2
    for seed in range(30):
        bottom = REACH * np.random.default_rng([seed, 1]).normal(size=d)
        found = draws(*bowl_data(12, d, bottom, ripples=0.03, seed=seed), 80)
        inside += ((found < bottom).mean(axis=0) > 0.1).tolist()
        inside += ((found < bottom).mean(axis=0) < 0.9).tolist()
    assert 0.75 < np.mean(inside) <= 1.0


def radial_data(count: int, d: int, bottom: Array, power: float, seed: int) -> tuple[Array, Array, Array]:
    """|x - bottom|^power with a little noise on gradients, standardised."""
    rng = np.random.default_rng(seed)
    x = rng.random((count, d)) - 0.5
    way = x - bottom
    radius = np.linalg.norm(way, axis=1, keepdims=True)
    y, gradients = radius[:, 0] ** power, power * radius ** (power - 2) * way
    gradients += 0.5 * gradients.std() * rng.normal(size=gradients.shape)
    return x, (y - y.mean()) / y.std(), gradients / y.std()


@pytest.mark.parametrize("power", [0.5, 4.0])
def test_a_bowl_need_not_be_a_parabola(power: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A spike and a trough: what a parabola takes for ripples says where the bottom is."""
    d = 6

    def error() -> float:
        found = []
        for seed in range(6):
            bottom = 0.25 * np.random.default_rng([seed, 2]).normal(size=d)
            found.append(np.abs(draws(*radial_data(40, d, bottom, power, seed), 20) - bottom).mean())
        return float(np.mean(found))

    ours = error()
    monkeypatch.setattr(module, "WARPS", (0.0,))
    assert ours < 0.8 * error()


def ackley(u: Array) -> tuple[Array, Array]:
    """Values and gradients: a cone, with ripples that are the same everywhere."""
    radius = np.sqrt(np.mean(u * u, axis=1, keepdims=True))
    cone, waves = np.exp(-0.2 * radius), np.exp(np.mean(np.cos(2 * np.pi * u), axis=1, keepdims=True))
    gradients = (4 * cone * u / radius + 2 * np.pi * waves * np.sin(2 * np.pi * u)) / u.shape[1]
    return (-20 * cone - waves)[:, 0], gradients


def test_a_cone_is_found_among_ripples_that_are_the_same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """In exp(k y) the ripples are far larger at the rim than at the bottom."""
    d, side = 4, 10.0

    def error() -> float:
        found = []
        for seed in range(12):
            rng = np.random.default_rng([seed, 3])
            bottom = 0.3 * (rng.random(d) - 0.5)
            way = (rng.random((30, d)) - 0.5 - bottom) * rng.random((30, 1))
            y, gradients = ackley(side * way)
            found.append(
                np.abs(draws(bottom + way, (y - y.mean()) / y.std(), side * gradients / y.std(), 20) - bottom).mean()
            )
        return float(np.mean(found))

    ours = error()
    monkeypatch.setattr(module, "WARPS", (0.0,))
    assert ours < 0.5 * error()


@pytest.mark.parametrize(("n", "size", "even"), [(3, 8, False), (8, 8, False), (12, 5, False), (5, 9, True)])
def test_the_belief_is_the_same_by_the_smaller_matrix_and_by_products(n: int, size: int, even: bool) -> None:
    rng = np.random.default_rng(0)
    rows, values, diagonal = rng.normal(size=(n, size)), 0.1 + rng.random(n), 0.5 + rng.random(size)
    moment, products = rng.normal(size=size), None
    if even:
        diagonal[:-2], products = 0.7, rows[:, :-2] @ rows[:, :-2].T
    precision = np.diag(diagonal) + rows.T @ np.diag(1 / values) @ rows
    covariance = np.linalg.inv(precision)
    mean, spread, unsure, volume = module._belief(rows, values, diagonal, moment, products)
    np.testing.assert_allclose(mean, covariance @ moment)
    expected = np.diagonal(covariance).copy()
    if even:
        expected[:-2] = expected[:-2].mean()
    np.testing.assert_allclose(spread, expected)
    np.testing.assert_allclose(unsure, np.diagonal(rows @ covariance @ rows.T))
    assert volume == pytest.approx(np.log(np.linalg.eigvalsh(precision)).sum())


@pytest.mark.parametrize("untold", [False, True])
def test_many_parameters_are_fitted_the_same_with_and_without_products(
    untold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, gradients = bowl_data(12, 40, np.full(40, 0.1), ripples=0.01)
    if untold:
        gradients[::3] = np.nan
    low = np.arange(12) % 4 == 0
    found = []
    for most in (30, 128):
        monkeypatch.setattr(module, "MOST", most)
        found.append(fit_global_trends(x, y, gradients, low))
    for one, other in zip(*(bowls.each for bowls in found), strict=True):
        assert one.score == pytest.approx(other.score, rel=1e-4)
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-5)


def test_results_that_are_steep_here_and_there_count_less(monkeypatch: pytest.MonkeyPatch) -> None:
    bottom, found = np.array([0.2, -0.1, 0.15, 0.0]), []
    for tails in (module.TAILS, 1e9):
        monkeypatch.setattr(module, "TAILS", tails)
        errors = []
        for seed in range(6):
            x, y, gradients = bowl_data(24, 4, bottom, ripples=0.002, seed=seed)
            gradients[::4] += 40 * np.random.default_rng(seed).normal(size=gradients[::4].shape)
            noisy = y + np.random.default_rng(seed).normal(size=len(y))  # what values say is little
            errors.append(np.abs(draws(x, noisy, gradients, 20) - bottom).mean())
        found.append(np.mean(errors))
    assert found[0] < 0.6 * found[1]


def test_as_far_as_a_bowl_is_sure_bottoms_are_nearer_to_its_mean_than_draws() -> None:
    bottom = np.full(10, 0.1)
    bowls = fit_global_trends(*bowl_data(30, 10, bottom, ripples=0.01), np.zeros(30, dtype=bool))
    best = max(bowls.each, key=lambda bowl: bowl.score)
    assert bowls.sure > 0.999
    bottoms, drawn = (
        np.mean([np.abs(one(np.random.default_rng(i))[:10] - best.mean[:10]).mean() for i in range(200)])
        for one in (bowls.bottom, best.draw)
    )
    assert bottoms == pytest.approx(0.5 * drawn, rel=0.25)


def test_points_share_their_ripples_as_far_as_bottoms_are_apart() -> None:
    bottoms = np.array([[0.0, 0.0], [0.04, 0.0], [0.0, 0.06], [0.4, 0.4]])
    assert ripples_of(bottoms) == pytest.approx(0.5 * 0.05)  # 0.04, 0.04, 0.06 and 0.36 to the next
    assert ripples_of(bottoms[[0, 3]]) == APART
    assert ripples_of(bottoms[:1]) == APART
    assert len(spread_out(bottoms, 0.025)) == 4
    assert len(spread_out(bottoms)) == 2


def test_without_a_bowl_the_bottom_may_be_anywhere() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((30, 3)) - 0.5, rng.normal(size=30)
    found = draws(x, y, 30 * rng.normal(size=(30, 3)))
    assert found.std(axis=0) == pytest.approx(np.full(3, REACH), rel=0.35)
    assert np.abs(found.mean(axis=0)).max() < 0.15


@pytest.mark.parametrize("d", [1, 3])
def test_one_flat_result_says_nothing_of_where_the_bottom_is(d: int) -> None:
    x = np.zeros((1, d))
    found = draws(x, np.zeros(1), np.full((1, d), np.nan))
    assert found.std(axis=0) == pytest.approx(np.full(d, REACH), rel=0.25)
    assert np.abs(found.mean(axis=0)).max() < 0.1


def test_one_slope_says_on_which_side_the_bottom_is() -> None:
    found = draws(np.zeros((1, 2)), np.zeros(1), np.array([[3.0, -3.0]]), 2000)
    assert np.mean(found[:, 0] < 0) > 0.54
    assert np.mean(found[:, 1] > 0) > 0.54


def test_parameters_without_slopes_may_have_their_bottom_anywhere() -> None:
    x, _, gradients = bowl_data(20, 2, np.array([0.2, 0.2]))
    gradients[:, 1] = np.nan
    gradients[::2, 0] = np.nan
    found = draws(x, np.random.default_rng(0).normal(size=20), gradients)
    assert np.median(np.abs(found[:, 0] - 0.2)) < 0.5 * np.median(np.abs(found[:, 1]))


@pytest.mark.parametrize("shift", [-0.5, 1.0])
def test_a_shift_of_the_values_does_not_matter(shift: float) -> None:
    """The level is free, up to a wide prior."""
    x, y, gradients = bowl_data(12, 2, np.array([0.2, -0.1]), ripples=0.02)
    np.testing.assert_allclose(draws(x, y + shift, gradients, 50), draws(x, y, gradients, 50), atol=0.05)


def test_turning_the_cube_around_turns_the_bottom_around() -> None:
    x, y, gradients = bowl_data(12, 2, np.array([0.2, -0.1]), ripples=0.02)
    there, mirrored = draws(x, y, gradients), draws(-x, y, -gradients)
    np.testing.assert_allclose(mirrored.mean(axis=0), -there.mean(axis=0), atol=0.02)


def test_a_cluster_counts_once() -> None:
    x, y, gradients = bowl_data(10, 2, np.array([0.2, -0.1]), ripples=0.05)
    crowd = np.repeat(np.arange(10), [50, *[1] * 9])
    near = x[crowd] + 1e-4 * np.arange(len(crowd))[:, None] * (crowd == 0)[:, None]
    np.testing.assert_allclose(draws(near, y[crowd], gradients[crowd], 50), draws(x, y, gradients, 50), atol=1e-6)


def test_points_that_are_apart_are_kept_in_order() -> None:
    x = np.array([[0.0, 0.0], [0.05, 0.05], [0.0, 1.01 * APART], [0.0, 0.5], [0.02, 0.51]])
    assert spread_out(x).tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("y", "gradients"),
    [
        (np.zeros(6), np.zeros((6, 2))),
        (np.zeros(6), np.full((6, 2), 1e150)),
        (np.array([1e6, 0, 0, 0, 0, 0]), np.full((6, 2), -1e9)),
        (np.linspace(-1, 1, 6), np.full((6, 2), 1e-300)),
    ],
)
def test_odd_numbers_leave_the_bottom_finite(y: Array, gradients: Array) -> None:
    x = np.random.default_rng(0).random((6, 2)) - 0.5
    assert np.isfinite(draws(x, y, gradients, 20)).all()


def test_the_same_generator_draws_the_same() -> None:
    data = bowl_data(8, 3, np.zeros(3), ripples=0.02)
    one, other = (fit_global_trends(*data, np.zeros(8, dtype=bool)).bottom(np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert np.abs(fit_global_trends(*data, np.zeros(8, dtype=bool)).bottom(np.random.default_rng(4)) - one).max() > 0


def test_bottoms_of_basins_tell_more_than_hillsides() -> None:
    """Ten points on the bowl itself, at another level, among thirty with ripples that are taller than it."""
    bottom, rng = np.array([0.2, -0.1, 0.05]), np.random.default_rng(5)
    x = rng.random((40, 3)) - 0.5
    low = np.arange(40) < 10
    y = 4 * np.sum((x - bottom) ** 2, axis=1) + np.where(low, -3.0, 2 * rng.standard_normal(40))
    gradients = np.where(low[:, None], 0.0, 20 * rng.standard_normal((40, 3)))
    y = (y - y.mean()) / y.std()
    told, untold = (
        np.abs(draws(x, y, gradients, 100, each) - bottom).mean() for each in (low, np.zeros(40, dtype=bool))
    )
    assert told < 0.05
    assert told < untold / 2

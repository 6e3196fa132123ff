from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from tests.surrogates.gradient_models import full_layout, partial_layout, points_of
from tests.surrogates.models import numeric_gradient

from sonde.surrogates.gaussian_process.observations import ObservationLayout
from sonde.surrogates.gaussian_process.trends import TRENDS, IsotropicQuadratic, Quadratic

B, RHO = 0.7, 0.6
NAMES = list(TRENDS)


def plain(name: str, x: np.ndarray, y: np.ndarray) -> float:
    """k of one pair, as the formula is written."""
    if name == "quadratic":
        return float(B * (x @ y / RHO + 1) ** 2)
    return float(B * (x @ y / RHO + (x @ x) * (y @ y) / RHO**2))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_formula(name: str) -> None:
    x, y = points_of(4), points_of(5, seed=1)
    expected = [[plain(name, a, b) for b in y] for a in x]
    np.testing.assert_allclose(TRENDS[name](B, RHO).cross(x, y).values, expected, rtol=1e-13)


def stencils(layout: ObservationLayout, step: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Points, and for each observation the weights of their values: central differences are exact for a quadratic."""
    points: list[np.ndarray] = list(layout.x)
    sums = [{i: 1.0} for i in range(len(layout.x))]
    axes = step * np.eye(layout.x.shape[1])

    def difference(point: int, moves: dict[tuple[float, ...], float]) -> dict[int, float]:
        points.extend(layout.x[point] + np.array(move) for move in moves)
        return dict(enumerate(moves.values(), len(points) - len(moves)))

    for i, c in layout.gradients.T:
        sums.append(difference(i, {tuple(axes[c]): 0.5 / step, tuple(-axes[c]): -0.5 / step}))
    for i, c, e in layout.curvatures.T:
        moves: dict[tuple[float, ...], float] = {}
        for one, other in product((-1, 1), repeat=2):
            move = tuple(one * axes[c] + other * axes[e])
            moves[move] = moves.get(move, 0.0) + one * other * 0.25 / step**2
        sums.append(difference(i, moves))
    matrix = np.zeros((len(sums), len(points)))
    for row, entries in enumerate(sums):
        matrix[row, list(entries)] = list(entries.values())
    return np.array(points), matrix


@pytest.mark.parametrize("name", NAMES)
def test_gradients_and_curvatures_are_differences_of_values(name: str) -> None:
    x = points_of(6)
    x[1] = x[0]
    x[2] = 0.0
    trend, whole = TRENDS[name](B, RHO), full_layout(x, curvatures=True)
    pairs = [(whole, whole)]
    pairs += [
        (partial_layout(x, curvatures=True, seed=seed), partial_layout(x, curvatures=True, seed=seed + 10))
        for seed in (1, 2)
    ]
    for a, b in pairs:
        (left, sum_left), (right, sum_right) = stencils(a), stencils(b)
        expected = sum_left @ trend.cross(left, right).values @ sum_right.T
        np.testing.assert_allclose(trend.between(a, b), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_curvature_is_symmetric_in_its_columns(name: str) -> None:
    trend, x = TRENDS[name](B, RHO), points_of(3)
    one = ObservationLayout(x, curvatures=np.array([[0, 1, 2], [0, 2, 1], [1, 0, 1]]))
    other = ObservationLayout(x, curvatures=one.curvatures[[0, 2, 1]])
    layout = full_layout(x, curvatures=True)
    np.testing.assert_allclose(trend.between(one, layout), trend.between(other, layout), rtol=1e-14)
    np.testing.assert_allclose(trend.between(layout, one), trend.between(layout, other), rtol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_the_diagonal_and_its_gradient(name: str) -> None:
    trend, x = TRENDS[name](B, RHO), points_of(6).reshape(2, 3, 3)
    values, gradient = trend.diagonal(x)
    np.testing.assert_allclose(values, np.diagonal(trend.cross(x, x).values, axis1=1, axis2=2), rtol=1e-13)
    np.testing.assert_allclose(
        gradient, numeric_gradient(lambda at: float(np.sum(trend.diagonal(at)[0])), x), rtol=1e-7, atol=1e-8
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout_of", [full_layout, partial_layout])
def test_variances_are_the_diagonal(name: str, layout_of: Callable[..., ObservationLayout]) -> None:
    trend, layout = TRENDS[name](B, RHO), layout_of(points_of(5), curvatures=True)
    np.testing.assert_allclose(trend.variances(layout), np.diagonal(trend.between(layout, layout)), rtol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_its_vjp_is_its_derivative(name: str) -> None:
    trend, x, y = TRENDS[name](B, RHO), points_of(8).reshape(2, 4, 3), points_of(10, seed=1).reshape(2, 5, 3)
    weights = np.random.default_rng(0).normal(size=(2, 4, 5))
    expected = numeric_gradient(lambda at: float(np.sum(weights * trend.cross(at, y).values)), x)
    np.testing.assert_allclose(trend.cross(x, y).vjp(weights), expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("curvatures", [False, True])
@pytest.mark.parametrize("gradients", [False, True])
def test_its_vjp_with_observations_is_its_derivative(name: str, curvatures: bool, gradients: bool) -> None:
    trend, x = TRENDS[name](B, RHO), points_of(4, seed=1)
    layout = partial_layout(points_of(5), curvatures=curvatures)
    layout = layout if gradients else ObservationLayout(layout.x, curvatures=layout.curvatures)
    weights = np.random.default_rng(0).normal(size=(4, len(layout)))
    expected = numeric_gradient(lambda at: float(np.sum(weights * trend.between(ObservationLayout(at), layout))), x)
    np.testing.assert_allclose(trend.toward_vjp(x, layout, weights), expected, rtol=1e-7, atol=1e-8)


def test_the_quadratic_has_a_coefficient_for_every_monomial_and_the_isotropic_one_p_plus_1() -> None:
    layout = full_layout(points_of(12, 4), curvatures=True)
    for trend, numbers in ((Quadratic(B, RHO), 15), (IsotropicQuadratic(B, RHO), 5)):
        spectrum = np.linalg.eigvalsh(trend.between(layout, layout))
        assert np.sum(spectrum > 1e-10 * spectrum[-1]) == numbers
        assert spectrum[0] > -1e-12 * spectrum[-1]


@pytest.mark.parametrize("name", NAMES)
def test_a_function_of_its_kind_is_learnt_from_few_observations(name: str) -> None:
    """Value, gradient and Hessian at one point are all there is to know of a quadratic."""
    trend, centre = TRENDS[name](B, RHO), np.array([0.2, -0.1, 0.3])
    twist = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 3.0]]) if name == "quadratic" else np.eye(3)

    def function(x: np.ndarray) -> np.ndarray:
        value = 0.5 * np.sum((x - centre) @ twist * (x - centre), axis=-1)
        return value if name == "quadratic" else value - 0.5 * centre @ centre  # an isotropic trend is 0 at 0

    x = np.array([[-0.3, 0.4, 0.1]])
    layout = full_layout(x, curvatures=True)
    y = np.concatenate([function(x), twist @ (x[0] - centre), twist[np.triu_indices(3)]])
    new = points_of(5, seed=3)
    solved = np.linalg.lstsq(trend.between(layout, layout), y, rcond=1e-12)[0]
    np.testing.assert_allclose(trend.between(ObservationLayout(new), layout) @ solved, function(new), atol=1e-9)

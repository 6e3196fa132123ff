"""Structured products equal plain automatic differentiation; lazy, kept and blocked ones equal the dense matrix."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from tests.kernels.zoo import ROUGH, SMOOTH, D, compositions, points, without_structure

from sonde.kernels import (
    RBF,
    DirectProduct,
    DirectSum,
    Function,
    GradientGram,
    Gram,
    HessianGram,
    Kernel,
    Matern52,
    Polynomial,
    RationalQuadratic,
    ValueGradientGram,
    ValueGradientHessianGram,
)

EVERY = [(name, made) for name, (made, _, _) in SMOOTH.items()] + list(ROUGH.items())


def relative(got: Any, expected: Any) -> float:
    got, expected = np.asarray(got), np.asarray(expected)
    return float(np.max(np.abs(got - expected)) / max(np.max(np.abs(expected)), 1e-300))


def vector(operator: Any, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=operator.in_size())


def overlapping() -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns with two points in common: on the diagonal and off it."""
    rows = points(6)
    return rows, np.vstack([rows[:2], points(3, seed=1)])


@pytest.mark.parametrize(("name", "made"), EVERY, ids=[name for name, _ in EVERY])
def test_structured_equals_autodiff(name: str, made: Any) -> None:
    check_against_autodiff(ValueGradientGram, made())


@pytest.mark.parametrize("name", ["sum", "spectral mixture", "direct product"])
@pytest.mark.parametrize("kind", [Gram, GradientGram])
def test_values_only_and_gradients_only(name: str, kind: Any) -> None:
    check_against_autodiff(kind, SMOOTH[name][0]())


def check_against_autodiff(kind: Any, kernel: Kernel) -> None:
    operator, plain = kind(kernel, *overlapping()), kind(without_structure(kernel), *overlapping())
    assert plain.paths == ("autodiff",)
    v, expected = vector(operator), plain.as_matrix()
    assert relative(operator.as_matrix(), expected) < 1e-12
    assert relative(operator.mv(v), expected @ v) < 1e-12


@pytest.mark.parametrize("name", ["rbf", "sum", "direct product", "cosine"])
def test_products_by_autodiff(name: str) -> None:
    plain = ValueGradientGram(without_structure(SMOOTH[name][0]()), *overlapping())
    v = vector(plain)
    assert relative(plain.mv(v), plain.as_matrix() @ v) < 1e-12


SECOND_ORDER = ["rbf", "rational quadratic", "matern 7/2", "polynomial", "exponentiated dot", "neural network",
                "rbf network", "product", "ard", "low rank", "user: inner products", "cosine"]  # fmt: skip


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_second_derivatives_equal_autodiff(name: str) -> None:
    rows = points(3)
    operator = ValueGradientHessianGram(SMOOTH[name][0](), rows, np.vstack([rows[:1], points(1, seed=1)]))
    v = vector(operator)
    assert relative(operator.mv(v), operator.as_matrix() @ v) < 1e-10


def test_hessians_only() -> None:
    operator = HessianGram(RBF(), points(3))
    v = vector(operator)
    assert relative(operator.mv(v), operator.as_matrix() @ v) < 1e-10


@pytest.mark.parametrize("name", SMOOTH)
def test_path_of_each_kernel(name: str) -> None:
    made, first, second = SMOOTH[name]
    assert set(GradientGram(made(), points(2)).paths) == {first}
    assert set(HessianGram(made(), points(2)).paths) == {second}


def test_a_summand_without_structure_leaves_the_others_structured() -> None:
    kernel = RBF() + 2.0 * Function(lambda x, y: x @ y) + Polynomial(2)
    operator = ValueGradientGram(kernel, points(4))
    assert operator.paths == ("structured", "autodiff")
    v = vector(operator)
    assert relative(operator.mv(v), ValueGradientGram(without_structure(kernel), points(4)).mv(v)) < 1e-12


@settings(max_examples=8, deadline=None)
@given(kernel=compositions())
def test_random_compositions(kernel: Kernel) -> None:
    rows = points(4)
    operator, plain = ValueGradientGram(kernel, rows), ValueGradientGram(without_structure(kernel), rows)
    assert operator.paths == ("structured",)
    v = vector(operator)
    assert relative(operator.mv(v), plain.mv(v)) < 1e-10
    matrix = np.asarray(operator.as_matrix())
    assert relative(matrix.T, matrix) < 1e-12
    assert np.linalg.eigvalsh(matrix).min() > -1e-9 * np.abs(matrix).max()


KEPT = ["sum", "rbf network", "two maps", "warped", "vertical scaling", "spectral mixture", "direct product"]


@pytest.mark.parametrize("name", KEPT)
def test_kept_and_blocked_products_equal_lazy_ones(name: str) -> None:
    check_kept_and_blocks(ValueGradientGram, name)


@pytest.mark.parametrize("kind", [Gram, GradientGram])
def test_kept_and_blocked_products_of_one_order(kind: Any) -> None:
    check_kept_and_blocks(kind, "sum")


def check_kept_and_blocks(kind: Any, name: str) -> None:
    kernel, rows, columns = SMOOTH[name][0](), points(7), points(5, seed=1)
    lazy = kind(kernel, rows, columns)
    v = vector(lazy)
    assert relative(kind(kernel, rows, columns, keep=True).mv(v), lazy.mv(v)) < 1e-12
    assert relative(kind(kernel, rows, columns, memory=1000).mv(v), lazy.mv(v)) < 1e-12


def test_hessian_products_in_blocks() -> None:
    whole, blocks = HessianGram(RBF(), points(5)), HessianGram(RBF(), points(5), memory=1)
    v = vector(whole)
    assert relative(blocks.mv(v), whole.mv(v)) < 1e-12


@pytest.mark.parametrize("kind", [DirectSum, DirectProduct])
@pytest.mark.parametrize("parts", [[RBF(0.5), RBF(1.0), RBF(2.0)], [RBF(0.5), RationalQuadratic(), Polynomial(2)]])
def test_direct_kernels_are_their_parts_composed(kind: Any, parts: list[Kernel]) -> None:
    kernel, (x, y) = kind(parts, columns=[2, 0, 1]), points(2)
    np.testing.assert_allclose(kernel(x, y), kernel.assembled()(x, y), rtol=1e-6)


@pytest.mark.parametrize("kind", [GradientGram, ValueGradientGram, HessianGram])
def test_symmetric_positive_semidefinite_diagonal_and_transpose(kind: Any) -> None:
    kernel = RBF(0.8) * Polynomial(2)
    operator = kind(kernel, points(5))
    matrix = np.asarray(operator.as_matrix())
    assert relative(matrix.T, matrix) < 1e-12
    assert np.linalg.eigvalsh(matrix).min() > -1e-9 * np.abs(matrix).max()
    assert relative(operator.diagonal(), np.diag(matrix)) < 1e-12
    cross = kind(kernel, points(4), points(3, seed=1))
    assert relative(cross.T.as_matrix(), np.asarray(cross.as_matrix()).T) < 1e-12
    v = np.random.default_rng(0).normal(size=cross.out_size())
    assert relative(cross.T.mv(v), np.asarray(cross.as_matrix()).T @ v) < 1e-12


@pytest.mark.parametrize("kernel", [Matern52(), Matern52() + Polynomial(2)], ids=["matern", "mixture"])
def test_points_that_nearly_coincide(kernel: Kernel) -> None:
    plain = without_structure(kernel)
    for distance in (0.0, 1e-12, 1e-8, 1e-4):
        rows = np.vstack([points(3), points(3) + distance])
        operator = ValueGradientGram(kernel, rows)
        v = vector(operator)
        assert relative(operator.mv(v), ValueGradientGram(plain, rows).as_matrix() @ v) < 1e-10


def test_points_far_from_the_origin() -> None:
    near = points(6)
    v = np.random.default_rng(0).normal(size=6 * (D + 1))
    for shift in (1e2, 1e4):
        moved = ValueGradientGram(RBF(), near + shift).mv(v)
        assert relative(moved, ValueGradientGram(RBF(), near).mv(v)) < 1e-10


@pytest.mark.parametrize("name", ["sum", "ard", "direct product"])
def test_float32(name: str) -> None:
    kernel, rows = SMOOTH[name][0](), points(5)
    single = ValueGradientGram(kernel, rows.astype(np.float32))
    v = vector(single).astype(np.float32)
    product = single.mv(v)
    assert product.dtype == np.float32
    assert relative(product, ValueGradientGram(kernel, rows).mv(v.astype(float))) < 1e-4
    with jax.enable_x64(True):
        assert single.mv(v).dtype == np.float32


def test_the_configuration_of_jax_does_not_change() -> None:
    before = jax.config.jax_enable_x64  # type: ignore[attr-defined]
    assert GradientGram(RBF(), points(4)).mv(np.ones(4 * D)).dtype == np.float64
    assert jax.config.jax_enable_x64 == before  # type: ignore[attr-defined]


def test_a_vector_may_have_one_row_per_point() -> None:
    operator = ValueGradientGram(RBF(), points(5))
    v = vector(operator)
    assert operator.mv(v.reshape(5, D + 1)).shape == (5, D + 1)
    assert relative(operator.mv(v.reshape(5, D + 1)).reshape(-1), operator @ v) == 0


def test_jit_vmap_and_gradients_in_parameters() -> None:
    rows = points(5)
    with jax.enable_x64(True):
        vectors = np.random.default_rng(0).normal(size=(3, 5 * D))

        def energy(lengthscale: Any, v: Any) -> Any:
            return v @ GradientGram(RBF(lengthscale), rows).mv(v)

        at, step = np.asarray(0.8), 1e-6
        gradient = jax.jit(jax.grad(energy))(at, vectors[0])
        difference = (energy(at + step, vectors[0]) - energy(at - step, vectors[0])) / (2 * step)
        assert relative(gradient, difference) < 1e-6
        batched = jax.vmap(lambda v: GradientGram(RBF(0.8), rows).mv(v))(vectors)
        single = [GradientGram(RBF(0.8), rows).mv(v) for v in vectors]
        assert relative(batched, np.stack(single)) < 1e-12

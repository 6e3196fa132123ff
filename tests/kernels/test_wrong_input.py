from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from tests.kernels.zoo import points

import sonde
from sonde.errors import KernelError, NotDifferentiable
from sonde.kernels import (
    ARD,
    RBF,
    Categorical,
    Cosine,
    DirectSum,
    Exponential,
    Function,
    GradientGram,
    Gram,
    HessianGram,
    Linear,
    Matern,
    Matern12,
    Matern32,
    Matern52,
    Polynomial,
    RationalQuadratic,
    SpectralMixture,
    ValueGradientGram,
    White,
)


@pytest.mark.parametrize(
    "kernel",
    [
        Matern12(), Matern32(), Exponential(), White(), Categorical(), RBF() + White(0.1), RBF() * Matern32(),
        2 * Matern12(), ARD(Matern32(), [1.0, 1.0, 1.0]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [GradientGram, ValueGradientGram])
def test_rough_kernels_have_no_gradients(kernel: Any, kind: Any) -> None:
    with pytest.raises(NotDifferentiable, match=r"no gradients.*Matern-5/2.*RBF"):
        kind(kernel, points(3))
    assert Gram(kernel, points(3)).as_matrix().shape == (3, 3)


def test_matern_five_halves_has_no_hessians() -> None:
    with pytest.raises(NotDifferentiable, match=r"no Hessians.*Matern-7/2"):
        HessianGram(Matern52(), points(3))
    HessianGram(Matern(3), points(3))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros(3), r"shape \(3,\)"),
        (np.zeros((2, 3, 4)), "one point per row"),
        (np.zeros((0, 3)), "one point per row"),
        ([["a", "b"]], "array of numbers"),
        (np.array([[1.0, np.nan], [0.0, 0.0]]), "not finite in row 0"),
        (np.array([[1.0, 1.0], [np.inf, 0.0]]), "not finite in row 1"),
        (np.array([[1j, 2j]]), "array of numbers"),
    ],
)
def test_wrong_points(given: Any, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        Gram(RBF(), given)


def test_lists_and_whole_numbers_are_points() -> None:
    assert Gram(RBF(), [[1, 2], [3, 4]]).as_matrix().dtype == np.float64


def test_points_that_do_not_match() -> None:
    with pytest.raises(KernelError, match="same number of columns"):
        Gram(RBF(), points(3), points(3, d=2))
    with pytest.raises(KernelError, match="same precision"):
        Gram(RBF(), points(3), points(3).astype(np.float32))


def test_wrong_vectors_noise_and_memory() -> None:
    operator = GradientGram(RBF(), points(3))
    with pytest.raises(KernelError, match=r"shape \(4,\), expected \(9,\) or \(3, 3\)"):
        operator.mv(np.ones(4))
    with pytest.raises(KernelError, match="right-hand side"):
        operator.solve(np.ones(4))
    with pytest.raises(KernelError, match="not finite"):
        operator.solve(np.full(9, np.nan))
    with pytest.raises(KernelError, match="noise has shape"):
        operator.solve(np.ones(9), noise=np.ones(5))
    with pytest.raises(KernelError, match="variance"):
        operator.solve(np.ones(9), noise=-1.0)
    with pytest.raises(KernelError, match="square"):
        GradientGram(RBF(), points(3), points(2)).solve(np.ones(6))
    with pytest.raises(KernelError, match="square"):
        GradientGram(RBF(), points(3), points(2)).diagonal()
    with pytest.raises(KernelError, match="memory"):
        GradientGram(RBF(), points(3), memory=0)
    with pytest.raises(KernelError, match="probes"):
        operator.logdet(probes=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RBF(0.0), lambda: RBF(-1.0), lambda: RBF(np.nan), lambda: RationalQuadratic(alpha=0.0),
        lambda: Matern(-1), lambda: Matern(1.5), lambda: Polynomial(0), lambda: Polynomial(True),
        lambda: RBF() ** 0, lambda: RBF() ** 0.5, lambda: RBF() * "2", lambda: RBF() * -1.0, lambda: RBF() + object(),
        lambda: ARD(RBF(), 2.0), lambda: ARD(RBF(), [1.0, -1.0]), lambda: Linear(RBF(), [1.0, 2.0]),
        lambda: Cosine(1.0), lambda: SpectralMixture([1.0], [[0.1]], [[0.1, 0.2]]),
        lambda: DirectSum([]), lambda: DirectSum([RBF(), RBF()], [[0], [0]]), lambda: DirectSum([RBF()], [[0], [1]]),
    ],
)  # fmt: skip
def test_wrong_parameters(make: Any) -> None:
    with pytest.raises(KernelError):
        make()


def test_a_kernel_takes_one_pair() -> None:
    with pytest.raises(KernelError, match=r"sonde\.kernels\.Gram"):
        RBF()(jnp.zeros((2, 3)), jnp.zeros((2, 3)))
    with pytest.raises(KernelError, match="same length"):
        RBF()(jnp.zeros(2), jnp.zeros(3))


def test_a_plain_function_must_be_wrapped() -> None:
    with pytest.raises(KernelError, match=r"sonde\.kernels\.Function"):
        Gram(lambda x, y: x @ y, points(3))  # type: ignore[arg-type]
    assert Gram(Function(lambda x, y: x @ y), points(3)).as_matrix().shape == (3, 3)


def test_kernels_are_part_of_sonde() -> None:
    assert sonde.kernels.RBF is RBF


@pytest.mark.parametrize("kind", [Gram, GradientGram, ValueGradientGram])
@pytest.mark.parametrize(
    "kernel",
    [ARD(RBF(), np.ones(10)), 2 * ARD(RBF(), np.ones(10)) + RBF(), RBF() * ARD(Matern52(), jnp.ones(10))],
)
def test_a_wrong_number_of_lengthscales_is_refused_before_compilation(kernel: Any, kind: Any) -> None:
    with pytest.raises(
        KernelError, match="the kernel has 10 lengthscales, and the points have 3; give one for each"
    ) as caught:
        kind(kernel, points(4))
    assert "\n" not in str(caught.value)
    with pytest.raises(KernelError, match="10 lengthscales, and the points have 3"):
        kernel(points(1)[0], points(1)[0])


def test_one_lengthscale_is_not_broadcast_and_a_matrix_must_match_the_points() -> None:
    with pytest.raises(KernelError, match="1 lengthscales, and the points have 3"):
        Gram(ARD(RBF(), [1.0]), points(4))
    with pytest.raises(KernelError, match="3 lengthscales, and the points have 1"):
        Gram(ARD(RBF(), [1.0, 1.0, 1.0]), points(4, d=1))
    with pytest.raises(KernelError, match="a matrix for 2 columns, and the points have 3"):
        Gram(Linear(RBF(), np.ones((4, 2))), points(4))

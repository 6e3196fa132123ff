"""Kernels of the measurements (Ament & Gomes 2022: tables and figures are those of this paper)."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from sonde.kernels import (
    ARD,
    RBF,
    Cosine,
    DirectProduct,
    DirectSum,
    ExponentiatedDot,
    Function,
    Kernel,
    Linear,
    Matern52,
    NeuralNetwork,
    Polynomial,
    RationalQuadratic,
    RBFNetwork,
    SpectralMixture,
    VariableLinearRegression,
    VerticalScaling,
    Warp,
)

SCALED = {  # figures 2 and 3
    "rational quadratic": RationalQuadratic(),
    "exponentiated dot": ExponentiatedDot(),
    "neural network": NeuralNetwork(),
}


def without_structure(kernel: Kernel) -> Kernel:
    """Return the kernel as a function of unknown structure: its derivatives use plain automatic differentiation."""
    return Function(kernel, kernel.smoothness)


def families(d: int) -> dict[str, Kernel]:
    """Return one kernel of every family of table 1, section 3.2 and figure 1, for d inputs."""
    rng = np.random.default_rng(1)
    means = 0.3 * rng.normal(size=(2, d)) / np.sqrt(d)
    low_rank = rng.normal(size=(4, d)) / np.sqrt(d)
    network = rng.normal(size=(16, d)) / np.sqrt(d), rng.normal(size=(4, 16)) / 4
    scales = rng.uniform(0.7, 1.5, size=d)
    return {
        "RBF": RBF(),
        "spectral mixture (SM)": SpectralMixture([1.0, 0.5], means, rng.uniform(0.02, 0.05, size=(2, d))),
        "neural network (NN)": NeuralNetwork(),
        "Matern-5/2": Matern52(),
        "rational quadratic": RationalQuadratic(),
        "polynomial": Polynomial(2),
        "exponentiated dot": ExponentiatedDot(),
        "cosine (stationary, c.r)": Cosine(means[0]),
        "RBF network": RBFNetwork(),
        "sum": Matern52() + Polynomial(2) + NeuralNetwork(),
        "product": RationalQuadratic() * Polynomial(2),
        "power (chain rule)": NeuralNetwork() ** 3,
        "vertical scaling": VerticalScaling(RBF(), output_scale),
        "diagonal warping (ARD)": ARD(RBF(), scales),
        "linear warping, rank 4": Linear(RBF(), low_rank),
        "warping by a network": Warp(RBF(), lambda x: jnp.tanh(network[1] @ jnp.tanh(network[0] @ x))),
        "variable linear regression": VariableLinearRegression(jnp.sin, low_rank, RBF()),
        "direct sum": DirectSum([RBF(scale) for scale in scales]),
        "direct product": DirectProduct([RBF(3 * scale) for scale in scales]),
    }


def output_scale(x: Array) -> Array:
    """Return a smooth positive function of a point."""
    return jnp.exp(-0.1 * jnp.sum(x**2) + 0.3 * x[0])

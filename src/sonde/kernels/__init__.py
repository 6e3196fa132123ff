"""A kernel is a scalar function of a few scalars of its two inputs; everything about its derivatives follows from them.

The scalars are inner products (x.x, x.y, y.y), squared distances r.r and values of functions f(x), f(y), under one or
several input maps. ``structure`` says which a kernel depends on, ``pairwise`` differentiates it in them, and
``products`` multiplies by the n d by n d matrix of all its derivatives in O(n^2 d) without forming it. A kernel whose
dependence is unknown goes through plain automatic differentiation instead.

Write a kernel for *one pair*; ``Gram`` and its kin do all batching.
"""

from sonde.extras import require

require("jax", "equinox", "lineax", extra="jax")

from sonde.kernels.compose import Power, Product, Scaled, Sum, VerticalScaling
from sonde.kernels.discrete import Categorical, Constant, White
from sonde.kernels.dot import Dot, ExponentiatedDot, NeuralNetwork, Polynomial, RBFNetwork
from sonde.kernels.gram import (
    GradientGram,
    Gram,
    HessianGram,
    ValueGradientGram,
    ValueGradientHessianGram,
)
from sonde.kernels.inputs import ARD, Linear, Warp
from sonde.kernels.isotropic import RBF, Exponential, Matern, Matern12, Matern32, Matern52, RationalQuadratic
from sonde.kernels.kernel import Kernel
from sonde.kernels.mixtures import Cosine, SpectralMixture, VariableLinearRegression
from sonde.kernels.separable import DirectProduct, DirectSum
from sonde.kernels.user import DotProduct, Function, InnerProducts, Isotropic

__all__ = [
    "ARD",
    "RBF",
    "Categorical",
    "Constant",
    "Cosine",
    "DirectProduct",
    "DirectSum",
    "Dot",
    "DotProduct",
    "Exponential",
    "ExponentiatedDot",
    "Function",
    "GradientGram",
    "Gram",
    "HessianGram",
    "InnerProducts",
    "Isotropic",
    "Kernel",
    "Linear",
    "Matern",
    "Matern12",
    "Matern32",
    "Matern52",
    "NeuralNetwork",
    "Polynomial",
    "Power",
    "Product",
    "RBFNetwork",
    "RationalQuadratic",
    "Scaled",
    "SpectralMixture",
    "Sum",
    "ValueGradientGram",
    "ValueGradientHessianGram",
    "VariableLinearRegression",
    "VerticalScaling",
    "Warp",
    "White",
]

"""Covariance functions, and fast products with the covariance matrices of their gradients and Hessians.

A kernel is a function of a few scalars of its two inputs: inner products (x.x, x.y, y.y), the squared distance r.r, and
values f(x), f(y) of functions, after one or several input maps. ``structure`` says which scalars a kernel uses,
``pairwise`` computes and differentiates in them, and ``products`` multiplies by the n d by n d covariance matrix of the
gradients in O(n^2 d) without forming it. A kernel of unknown structure uses plain automatic differentiation instead.

A kernel is written for *one pair* of points; ``Gram`` and the other four operators do the batching.
"""

from sonde.extras import require

require("jax", "equinox", "lineax", extra="jax")

from sonde.kernels.discrete import Categorical, White
from sonde.kernels.dot import Dot, ExponentiatedDot, NeuralNetwork, Polynomial, RBFNetwork
from sonde.kernels.gram import GradientGram, Gram, HessianGram, ValueGradientGram, ValueGradientHessianGram
from sonde.kernels.inputs import ARD, Linear, Warp
from sonde.kernels.isotropic import RBF, Exponential, Matern, Matern12, Matern32, Matern52, RationalQuadratic
from sonde.kernels.kernel import Constant, Kernel, Power, Product, Scaled, Sum
from sonde.kernels.mixtures import Cosine, SpectralMixture, VariableLinearRegression, VerticalScaling
from sonde.kernels.separable import DirectProduct, DirectSum
from sonde.kernels.user import DotProduct, Function, InnerProducts, Isotropic

__all__ = [
    "ARD", "RBF", "Categorical", "Constant", "Cosine", "DirectProduct", "DirectSum", "Dot", "DotProduct",
    "Exponential", "ExponentiatedDot", "Function", "GradientGram", "Gram", "HessianGram", "InnerProducts",
    "Isotropic", "Kernel", "Linear", "Matern", "Matern12", "Matern32", "Matern52", "NeuralNetwork", "Polynomial",
    "Power", "Product", "RBFNetwork", "RationalQuadratic", "Scaled", "SpectralMixture", "Sum", "ValueGradientGram",
    "ValueGradientHessianGram", "VariableLinearRegression", "VerticalScaling", "Warp", "White",
]  # fmt: skip

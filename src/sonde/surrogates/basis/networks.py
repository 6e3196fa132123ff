"""Adaptive basis functions: networks side by side, whose last hidden layers are the basis of a linear model.

A suggestion evaluates them at few points at a time, many times, with gradients in closed form and nothing to compile.

Symbols: M networks, m points, p inputs, H units of a layer, D = M (H + 1) basis functions: each network's last hidden
layer and a constant; 2 p more with a quadratic mean, x_k and x_k^2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GAIN = np.sqrt(12.0)  # features of a number range over [-1/2, 1/2]: this makes their variance one
DEPTH, WIDTH = 3, 50
# What each layer does to its input; the derivative is a function of what came out.
ACTIVATIONS = {
    "tanh": ("tanh",) * DEPTH,
    "relu": ("relu",) * DEPTH,
    "relu+tanh": ("relu",) * (DEPTH - 1) + ("tanh",),
}


class Layer(NamedTuple):
    """Weights (M, inputs, units) and biases (M, 1, units)."""

    weights: Array
    biases: Array


class Basis(NamedTuple):
    """Basis functions (m, D) at points; ``vjp`` carries gradients (m, D) in them back to gradients (m, p) in the points."""

    values: Array
    vjp: Callable[[Array], Array]


@dataclass(frozen=True)
class Network:
    """M networks with the same layers."""

    layers: tuple[Layer, ...]
    activation: str = "tanh"
    quadratic: bool = False

    @classmethod
    def untrained(
        cls, inputs: int, count: int, rng: np.random.Generator, *, activation: str = "tanh", width: int = WIDTH,
        quadratic: bool = False, biases: float = 0.0,
    ) -> Network:  # fmt: skip
        """Return networks with random weights, of a size that keeps the variance from layer to layer.

        ``biases`` is the deviation of the biases.
        """
        kinds = ACTIVATIONS[activation]
        sizes = [inputs] + [width] * len(kinds)
        layers = []
        for kind, before, after in zip(kinds, sizes[:-1], sizes[1:], strict=True):
            deviation = np.sqrt((2.0 if kind == "relu" else 1.0) / before)
            weights = deviation * rng.standard_normal((count, before, after))
            shifts = biases * rng.standard_normal((count, 1, after)) if biases else np.zeros((count, 1, after))
            layers.append(Layer(weights, shifts))
        return cls(tuple(layers), activation, quadratic)

    @property
    def count(self) -> int:
        """How many networks, M."""
        return len(self.layers[0].weights)

    @property
    def inputs(self) -> int:
        """How many inputs, p."""
        return self.layers[0].weights.shape[1]

    @property
    def units(self) -> int:
        """Basis functions of each network, H + 1."""
        return self.layers[-1].weights.shape[-1] + 1

    def members(self, chosen: slice) -> Network:
        """Return some of the networks."""
        return replace(self, layers=tuple(Layer(*(each[chosen] for each in layer)) for layer in self.layers))

    def hidden(self, x: Array) -> list[Array]:
        """Return what goes into the layers and comes out of the last, [(m, p), (M, m, H), ...]."""
        outputs = [GAIN * x]
        for kind, layer in zip(ACTIVATIONS[self.activation], self.layers, strict=True):
            raw = outputs[-1] @ layer.weights
            raw += layer.biases
            outputs.append(np.tanh(raw, out=raw) if kind == "tanh" else np.maximum(raw, 0.0, out=raw))
        return outputs

    def basis(self, x: Array) -> Basis:
        """Return the basis functions at x (m, p)."""
        outputs = self.hidden(x)
        values = np.ones((len(x), self.count, self.units))
        values[:, :, :-1] = outputs[-1].swapaxes(0, 1)

        def vjp(gradients: Array) -> Array:
            back = gradients.reshape(values.shape)[:, :, :-1].swapaxes(0, 1)
            stages = zip(ACTIVATIONS[self.activation], self.layers, outputs[1:], strict=True)
            for kind, layer, out in reversed(list(stages)):
                back = back * (1 - out * out if kind == "tanh" else out > 0)
                back = back @ layer.weights.swapaxes(-1, -2)
            return np.asarray(GAIN * back.sum(axis=0))

        flat = values.reshape(len(x), self.count * self.units)
        if not self.quadratic:
            return Basis(flat, vjp)
        width = x.shape[1]

        def vjp_all(gradients: Array) -> Array:
            linear, square = gradients[:, -2 * width : -width], gradients[:, -width:]
            return vjp(gradients[:, : -2 * width]) + linear + 2 * x * square

        return Basis(np.concatenate([flat, x, x * x], axis=1), vjp_all)


def side_by_side(networks: Sequence[Network]) -> Network:
    """Return all of the networks as one."""
    stages = zip(*(network.layers for network in networks), strict=True)
    layers = (Layer(*map(np.concatenate, zip(*stage, strict=True))) for stage in stages)
    return replace(networks[0], layers=tuple(layers))

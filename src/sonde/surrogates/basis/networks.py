"""Fully connected networks whose last hidden layers are the basis functions of a linear model, in NumPy.

A suggestion evaluates the basis often and at few points at a time, so gradients are in closed form and nothing is
compiled. All networks have the same shape and are stacked along the first axis.

Symbols: M networks, m points, p features, H units of a layer, D = M (H + 1) basis functions: each network's last hidden
layer and a constant. A quadratic mean function adds 2 p basis functions, x_k and x_k^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sonde.arrays import Array

GAIN = np.sqrt(12.0)  # a numeric feature is uniform on [-1/2, 1/2]; this factor makes its variance one
DEPTH, WIDTH = 3, 50
# The activation of each layer; its derivative is a function of the layer's output.
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
    """Basis functions (m, D) at m points; ``vjp`` maps gradients (m, D) in them to gradients (m, p) in the points."""

    values: Array
    vjp: Callable[[Array], Array]


@dataclass(frozen=True)
class Network:
    """A stack of M networks of the same shape."""

    layers: tuple[Layer, ...]
    activation: str = "tanh"
    quadratic: bool = False

    @classmethod
    def untrained(
        cls, inputs: int, count: int, rng: np.random.Generator, *, activation: str = "tanh", width: int = WIDTH,
        quadratic: bool = False, biases: float = 0.0, gain: float = 1.0,
    ) -> Network:  # fmt: skip
        """Return networks with random weights, scaled to keep the variance from layer to layer (He, LeCun).

        ``biases`` is the standard deviation of the biases; ``gain`` multiplies that of the weights.
        """
        kinds = ACTIVATIONS[activation]
        sizes = [inputs] + [width] * len(kinds)
        layers = []
        for kind, before, after in zip(kinds, sizes[:-1], sizes[1:], strict=True):
            deviation = gain * np.sqrt((2.0 if kind == "relu" else 1.0) / before)
            weights = deviation * rng.standard_normal((count, before, after))
            shifts = biases * rng.standard_normal((count, 1, after)) if biases else np.zeros((count, 1, after))
            layers.append(Layer(weights, shifts))
        return cls(tuple(layers), activation, quadratic)

    @property
    def count(self) -> int:
        """Number of networks, M."""
        return len(self.layers[0].weights)

    @property
    def inputs(self) -> int:
        """Number of features, p."""
        return self.layers[0].weights.shape[1]

    @property
    def units(self) -> int:
        """Number of basis functions of each network, H + 1."""
        return self.layers[-1].weights.shape[-1] + 1

    def members(self, chosen: slice) -> Network:
        """Return the stack of the chosen networks."""
        return replace(self, layers=tuple(Layer(*(each[chosen] for each in layer)) for layer in self.layers))

    def hidden(self, x: Array) -> list[Array]:
        """Return the scaled input (m, p) and the output (M, m, H) of every layer."""
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
            steps = zip(ACTIVATIONS[self.activation], self.layers, outputs[1:], strict=True)
            for kind, layer, out in reversed(list(steps)):
                back = back * (1 - out * out if kind == "tanh" else out > 0)
                back = back @ layer.weights.swapaxes(-1, -2)
            return np.asarray(GAIN * back.sum(axis=0))

        flat = values.reshape(len(x), self.count * self.units)
        if not self.quadratic:
            return Basis(flat, vjp)
        p = x.shape[1]

        def vjp_all(gradients: Array) -> Array:
            linear, square = gradients[:, -2 * p : -p], gradients[:, -p:]
            return vjp(gradients[:, : -2 * p]) + linear + 2 * x * square

        return Basis(np.concatenate([flat, x, x * x], axis=1), vjp_all)

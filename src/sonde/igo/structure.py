"""Structure learning: named groups of bits that select parts of a network while its weights are trained.

Every training step draws masks, computes the loss of each on a mini-batch, updates the weights by their gradient (eq.
13) and tells the losses, which moves the probabilities of the bits (eq. 14). Masks are NumPy arrays, so any framework
can train the network.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sonde.arrays import Array, Mask
from sonde.errors import OptionError
from sonde.igo.search import PBIL

Masks: TypeAlias = dict[str, Mask]


class Structure:
    """A distribution over masks: which layers, units or connections of a network to use.

    >>> structure = Structure({"layers": 31, "units": (3, 1024)}, seed=0)
    >>> masks = structure.draw()
    >>> masks["units"].shape
    (2, 3, 1024)
    >>> structure.tell([0.7, 0.5])
    >>> structure.likeliest()["layers"].shape
    (31,)

    Parameters
    ----------
    shapes
        The shape of each group of bits, by name.
    adapt
        ``"epsilon"`` (default): two masks a step, and a smaller step size where the loss is noisy. ``"lambda"``: more
        masks instead, each with its own mini-batch.
    seed
        Of the random draws.
    settings
        Further settings of ``IGO``.
    """

    def __init__(
        self,
        shapes: Mapping[str, int | tuple[int, ...]],
        adapt: str | None = "epsilon",
        *,
        seed: int | None = None,
        **settings: Any,
    ) -> None:
        if not isinstance(shapes, Mapping):
            raise OptionError(f"shapes must be a dict such as {{'layers': 31}}, got {shapes!r}")
        self.shapes = {
            name: tuple(shape) if isinstance(shape, Sequence) else (shape,) for name, shape in shapes.items()
        }
        self._sizes = [math.prod(shape) for shape in self.shapes.values()]
        lengths = [each for shape in self.shapes.values() for each in shape]
        if not self._sizes or not all(isinstance(each, int | np.integer) and each >= 1 for each in lengths):
            raise OptionError(f"shapes must name at least one group with at least one bit each, got {dict(shapes)!r}")
        self.search = PBIL(sum(self._sizes), adapt, seed=seed, **settings)
        self._drawn: Mask | None = None

    @property
    def theta(self) -> dict[str, Array]:
        """The probability of each bit."""
        return self._split(self.search.theta)

    def draw(self) -> Masks:
        """Draw the masks of a step: for each group an array with one row for each mask."""
        self._drawn = self.search.ask()
        return self._split(self._drawn)

    def tell(self, losses: ArrayLike) -> None:
        """Take a step from the losses of the masks drawn last, in their order."""
        if self._drawn is None:
            raise OptionError("tell() needs masks: call draw() first, once for every tell()")
        self.search.tell(self._drawn, losses)
        self._drawn = None

    def likeliest(self) -> Masks:
        """Return the mask to use after training: the bits whose probability is at least one half."""
        return self._split(self.search.theta >= 0.5)

    def save(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return self.search.save()

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from the state that ``save`` returned."""
        self.search.restore(saved)
        self._drawn = None

    def _split(self, flat: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Split the last axis into the groups and give each its shape."""
        parts = np.split(flat, np.cumsum(self._sizes)[:-1], axis=-1)
        named = zip(self.shapes.items(), parts, strict=True)
        return {name: part.reshape((*flat.shape[:-1], *shape)) for (name, shape), part in named}

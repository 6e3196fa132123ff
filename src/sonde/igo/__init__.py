"""Parameterless stochastic natural gradient for discrete optimization (Nishida et al. 2018).

A search holds a distribution P_theta over samples. ``ask`` draws samples and the caller evaluates their losses.
``tell`` moves theta along the natural gradient of the expected preference, and adapts the number of samples or the step
size to the noise of that gradient. No setting is required. The package needs NumPy only.

    >>> from sonde.igo import PBIL
    >>> search = PBIL(100, seed=0)
    >>> while search.theta.min() < 0.9:
    ...     bits = search.ask()
    ...     search.tell(bits, 100 - bits.sum(axis=1))

``families`` has the distributions, ``preference`` turns losses into weights, ``search`` steps and adapts, with cGA,
UMDA and PBIL as special cases, ``structure`` is for training loops.
"""

from sonde.igo.families import Bernoulli, Categorical, Family, Gaussian, Product
from sonde.igo.search import IGO, PBIL, cga, umda
from sonde.igo.structure import Structure

__all__ = ["IGO", "PBIL", "Bernoulli", "Categorical", "Family", "Gaussian", "Product", "Structure", "cga", "umda"]

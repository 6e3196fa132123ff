"""Parameterless stochastic natural gradient (Nishida et al. 2018): a distribution over discrete things that learns.

A search holds a distribution P_theta of samples. ``ask`` draws some, the caller finds their losses, ``tell`` moves
theta along the natural gradient of the expected preference and adapts how many samples, or how long a step, the
noise of that gradient calls for. Nothing has to be set. NumPy is all it needs.

    >>> from sonde.igo import PBIL
    >>> search = PBIL(100, seed=0)
    >>> while search.theta.min() < 0.9:
    ...     bits = search.ask()
    ...     search.tell(bits, 100 - bits.sum(axis=1))

``families`` are the distributions, ``preference`` turns losses into weights, ``adaptation`` measures signal and noise,
``search`` puts them together, ``classics`` has cGA, UMDA and PBIL as settings of it, ``structure`` serves training
loops.
"""

from sonde.igo.classics import PBIL, cga, umda
from sonde.igo.families import Bernoulli, Categorical, Family, Gaussian, Product
from sonde.igo.search import IGO
from sonde.igo.structure import Structure

__all__ = ["IGO", "PBIL", "Bernoulli", "Categorical", "Family", "Gaussian", "Product", "Structure", "cga", "umda"]

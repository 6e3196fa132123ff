"""The global model of ``fobo`` with a kernel of the user's: a Gaussian process on all values and gradients."""

from __future__ import annotations

from typing import Any

from sonde.space import Space
from sonde.strategies.bayesian.own_kernel import OwnKernel
from sonde.strategies.first_order.gradient_model import GradientModel
from sonde.surrogates.gradient.fitting import TREND_NAMES, Observations
from sonde.surrogates.kernel.fitting import KernelFit
from sonde.trials import History


class OwnKernelGradientModel(GradientModel):
    """The user's kernel is that of the global model, in any dimension; local models keep theirs."""

    in_any_dimension = True

    def __init__(self, given: Any) -> None:
        super().__init__("matern52", TREND_NAMES)
        self._own = OwnKernel(given)

    def check(self, space: Space) -> None:
        """Raise if the kernel is wrong, or wrong for this space."""
        self._own.family(space, with_gradients=True)

    def fitted(self, space: Space, history: History, *, plain: bool = False) -> KernelFit:
        """Return the parameters of the kernel; ``plain`` ones are of the values without a logarithm."""
        return self._own.fit(space, self.observations(space, history), with_gradients=True, plain=plain)

    def describe(self, space: Space, history: History) -> str:
        """Name the kernel."""
        return f"with {self._own}"

    def observations(self, space: Space, history: History) -> Observations:
        """Return the observations of a history; a posterior under a kernel of the user's has no Hessians."""
        return super().observations(space, history)._replace(hessians=None)

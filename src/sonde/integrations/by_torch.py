"""Derivatives by PyTorch: the function runs once, forward, and its graph is followed backward.

Twice backward gives the Hessian row by row. Both ways leave the ``grad`` of the function's own parameters alone. A
parameter that does not enter the graph has no known derivative rather than zero: ``math.log(p["x"])`` leaves the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from sonde.integrations.derivatives import Derivatives, Function, no_number, symmetric
from sonde.trials.outcome import real


class ByTorch:
    """Differentiates one function."""

    def __init__(self, fun: Function, hessian: bool) -> None:
        self._fun, self._hessian = fun, hessian

    def __call__(self, params: Mapping[str, Any], names: tuple[str, ...]) -> Derivatives:
        """Return value and derivatives with respect to the named floats."""
        with torch.enable_grad():
            leaves = {name: torch.tensor(params[name], dtype=torch.float64, requires_grad=True) for name in names}
            result = self._fun({**params, **leaves})
            if not names and not isinstance(result, torch.Tensor):
                return Derivatives(real(result, "the function's return value"))
            value = _scalar(result)
            if not value.requires_grad:
                return Derivatives(value.item())
            return self._backward(value, leaves)

    def _backward(self, value: Any, leaves: Mapping[str, Any]) -> Derivatives:
        found = torch.autograd.grad(value, list(leaves.values()), create_graph=self._hessian, allow_unused=True)
        slopes = {name: slope for name, slope in zip(leaves, found, strict=True) if slope is not None}
        gradient = {name: slope.item() for name, slope in slopes.items()} or None
        if not (self._hessian and slopes):
            return Derivatives(value.item(), gradient)
        reached = {name: leaves[name] for name in slopes}
        rows = {name: _row(slope, reached) for name, slope in slopes.items()}
        return Derivatives(value.item(), gradient, symmetric(rows, list(slopes)))


def _row(slope: Any, leaves: Mapping[str, Any]) -> dict[str, Any]:
    if not slope.requires_grad:  # constant: the function is linear in this parameter
        return dict.fromkeys(leaves, 0.0)
    bends = torch.autograd.grad(
        slope, list(leaves.values()), retain_graph=True, allow_unused=True, materialize_grads=True
    )
    return dict(zip(leaves, bends, strict=True))


def _scalar(result: Any) -> Any:
    known = isinstance(result, torch.Tensor)
    if not known or result.ndim or result.is_complex() or result.dtype == torch.bool:
        raise no_number(result, "a tensor that is one real number (itself, not its item() or float())")
    return result

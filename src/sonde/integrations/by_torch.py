"""Derivatives by PyTorch: one forward pass, then a backward pass through its graph.

A second backward pass for each parameter gives the rows of the Hessian. Neither changes the ``grad`` of the function's
own tensors. A parameter outside the graph has no known derivative rather than zero: ``math.log(p["x"])`` leaves the
graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from sonde.integrations.derivatives import UserFunction, not_a_number, symmetric
from sonde.trials import Evaluation
from sonde.trials.outcome import real


class ByTorch:
    """Differentiates one function with PyTorch."""

    def __init__(self, fun: UserFunction, hessian: bool) -> None:
        self._fun, self._hessian = fun, hessian

    def __call__(self, params: Mapping[str, Any], names: tuple[str, ...]) -> Evaluation:
        """Return value and derivatives with respect to the named floats."""
        with torch.enable_grad():
            leaves = {name: torch.tensor(params[name], dtype=torch.float64, requires_grad=True) for name in names}
            result = self._fun({**params, **leaves})
            if not names and not isinstance(result, torch.Tensor):
                return Evaluation(real(result, "the function's return value"))
            value = _scalar(result)
            if not value.requires_grad:
                return Evaluation(value.item())
            return self._backward(value, leaves)

    def _backward(self, value: Any, leaves: Mapping[str, Any]) -> Evaluation:
        computed = torch.autograd.grad(value, list(leaves.values()), create_graph=self._hessian, allow_unused=True)
        partials = {name: partial for name, partial in zip(leaves, computed, strict=True) if partial is not None}
        gradient = {name: partial.item() for name, partial in partials.items()} or None
        if not (self._hessian and partials):
            return Evaluation(value.item(), gradient=gradient)
        in_graph = {name: leaves[name] for name in partials}
        rows = {name: _row(partial, in_graph) for name, partial in partials.items()}
        return Evaluation(value.item(), gradient=gradient, hessian=symmetric(rows, list(partials)))


def _row(partial: Any, leaves: Mapping[str, Any]) -> dict[str, Any]:
    if not partial.requires_grad:  # constant: the function is linear in this parameter
        return dict.fromkeys(leaves, 0.0)
    second_partials = torch.autograd.grad(
        partial, list(leaves.values()), retain_graph=True, allow_unused=True, materialize_grads=True
    )
    return dict(zip(leaves, second_partials, strict=True))


def _scalar(result: Any) -> Any:
    known = isinstance(result, torch.Tensor)
    if not known or result.ndim or result.is_complex() or result.dtype == torch.bool:
        raise not_a_number(result, "a tensor that is one real number (itself, not its item() or float())")
    return result

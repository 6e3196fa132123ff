"""The first use compiles few programs: each costs a user a tenth of a second or more before anything is computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import pytest
from tests.kernels.zoo import points

import sonde.kernels.solve
from sonde.kernels import ARD, Matern52, Polynomial, ValueGradientGram


@pytest.fixture
def compiled() -> Iterator[list[str]]:
    """The programs that XLA has compiled."""
    programs: list[str] = []

    def listener(event: str, duration: float, **_: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            programs.append(event)

    jax.monitoring.register_event_duration_secs_listener(listener)
    yield programs
    jax.monitoring.unregister_event_duration_listener(listener)


def use(n: int) -> None:
    """Do what the page's first example does, with a number of points that no other test has."""
    operator = ValueGradientGram(ARD(Matern52(), [0.5, 0.5, 0.5]) + 0.1 * Polynomial(2), points(n))
    v = operator.mv([1.0] * operator.in_size())
    assert operator.solve(v, noise=1e-2).converged
    operator.logdet(noise=1e-2)
    assert operator.paths == ("structured",)


def test_products_cholesky_and_log_determinants(compiled: list[str]) -> None:
    use(19)
    assert 2 <= len(compiled) <= 5  # the product and the matrix; operation by operation there were 37


def test_conjugate_gradients_and_lanczos(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sonde.kernels.solve, "DENSE_SIZE", 0)
    use(23)
    assert 4 <= len(compiled) <= 12  # the product, coefficients and both iterations, and what random keys take

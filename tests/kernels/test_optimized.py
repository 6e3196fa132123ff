"""Large operators, compiled as for users: in a process of its own, since XLA reads its flags once."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import equinox as eqx
import jax
import numpy as np
from sonde.kernels import Matern52, Polynomial, ValueGradientGram

rows = np.random.default_rng(0).normal(size=(200, 100))
for kernel in (Matern52(), Matern52() + 0.1 * Polynomial(2)):
    operator = ValueGradientGram(kernel, rows / 10)
    found = operator.solve(np.random.default_rng(0).normal(size=operator.in_size()), noise=1e-4)
    assert (found.method, found.converged) == ("conjugate gradients", True)
    assert found.residual < 1e-7

# Conjugate gradients start from the zero vector; the compiler once returned NaN for it at this size.
for keep in (False, True):
    with jax.enable_x64(True):
        operator = ValueGradientGram(Matern52(), rows, keep=keep)
        product = eqx.filter_jit(lambda operator: operator.mv(np.zeros(operator.in_size())))(operator)
    assert np.all(np.asarray(product) == 0)
"""


@pytest.mark.jax
@pytest.mark.usefixtures("compiled_as_for_users")
def test_twenty_thousand_entries_and_a_constant_zero() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr

"""A spring and a damper fitted to a measured swing, with the gradient that JAX makes of the simulation.

    python examples/gradients.py

The simulation is a thousand steps of an integrator. Its derivatives in stiffness and damping come from running it
backward; the order of the integrator has none and is tried as it is. An argument is the number of trials.
"""

import sys
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

import sonde

SPACE = sonde.Space(
    stiffness=sonde.Float(1, 1000, log=True),
    damping=sonde.Float(0.01, 10, log=True),
    order=sonde.Categorical([1, 2]),
)
STEP, STEPS = 0.002, 1000


def swing(stiffness: Any, damping: Any, order: int) -> jax.Array:
    """Return where a mass of one is over time, let go at one."""

    def force(state: jax.Array) -> jax.Array:
        place, speed = state
        return jnp.stack([speed, -stiffness * place - damping * speed])

    def advance(state: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        middle = state + STEP / 2 * force(state) if order == 2 else state
        state = state + STEP * force(middle)
        return state, state[0]

    return jax.lax.scan(advance, jnp.array([1.0, 0.0]), length=STEPS)[1]


@sonde.autograd
def misfit(params: Mapping[str, Any]) -> jax.Array:
    """Return the mean squared distance from what was measured."""
    time = STEP * jnp.arange(1, STEPS + 1)
    measured = jnp.exp(-0.75 * time) * jnp.cos(7.0 * time)
    return jnp.mean((swing(**params) - measured) ** 2)


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    result = sonde.minimize(misfit, SPACE, trials, seed=0, progress=False)
    for trial in result.trials[-3:]:
        slopes = ", ".join(f"{name} {slope:+.2e}" for name, slope in (trial.gradient or {}).items())
        print(f"trial {trial.number}: misfit {trial.value:.5f}, slopes {slopes}")
    print(f"best misfit {result.best_value:.5f} at {result.best_params}")


if __name__ == "__main__":
    main()

"""Which layers of a network to keep, learned while its weights are: an Equinox model, trained by Optax.

    python examples/structure_jax.py

Twelve layers are on offer for scikit-learn's digits. Every step draws two masks that skip some of them, moves the
weights by the mean gradient of both losses, and tells the losses: masks that help become likelier. An argument is the
number of steps.
"""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sonde.igo import Structure

LAYERS, WIDTH, BATCH = 12, 32, 64
OPTIMIZER = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(2e-3))


class Network(eqx.Module):
    """Layers that add to what came before them, where the mask says so."""

    first: eqx.nn.Linear
    layers: list[eqx.nn.Linear]
    last: eqx.nn.Linear

    def __init__(self, key: jax.Array) -> None:
        first, last, *keys = jax.random.split(key, LAYERS + 2)
        self.first = eqx.nn.Linear(64, WIDTH, key=first)
        self.layers = [eqx.nn.Linear(WIDTH, WIDTH, key=own) for own in keys]
        self.last = eqx.nn.Linear(WIDTH, 10, key=last)

    def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
        """Return the scores of one image."""
        x = jax.nn.relu(self.first(x))
        for layer, used in zip(self.layers, mask, strict=True):
            x = x + used * jax.nn.relu(layer(x))
        return self.last(x)


def mean_loss(network: Network, masks: jax.Array, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the mean over the masks, and the loss of each."""

    def loss(mask: jax.Array) -> jax.Array:
        scores = jax.vmap(network, (0, None))(x, mask)
        return optax.softmax_cross_entropy_with_integer_labels(scores, y).mean()

    losses = jax.vmap(loss)(masks)
    return losses.mean(), losses


@eqx.filter_jit
def step(
    network: Network, state: optax.OptState, masks: jax.Array, x: jax.Array, y: jax.Array
) -> tuple[Network, optax.OptState, jax.Array]:
    """Return the network and the optimizer's state after a step, and the losses of the masks."""
    gradient, losses = eqx.filter_grad(mean_loss, has_aux=True)(network, masks, x, y)
    updates, state = OPTIMIZER.update(gradient, state)
    return eqx.apply_updates(network, updates), state, losses


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    x, y = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split((x / 16).astype(np.float32), y, test_size=0.25, random_state=0)
    network = Network(jax.random.key(0))
    state = OPTIMIZER.init(eqx.filter(network, eqx.is_array))
    structure = Structure({"layers": LAYERS}, seed=0)
    rng = np.random.default_rng(0)
    for number in range(1, steps + 1):
        rows = rng.integers(len(x), size=BATCH)
        masks = structure.draw()["layers"]
        network, state, losses = step(network, state, masks, x[rows], y[rows])
        structure.tell(losses)
        if number % max(1, steps // 4) == 0:
            print(f"step {number}: loss {losses.mean():.4f}, theta {structure.theta['layers'].round(2)}")
    mask = structure.likeliest()["layers"]
    wrong = jax.vmap(network, (0, None))(x_test, jnp.asarray(mask)).argmax(axis=1) != y_test
    print(f"layers kept: {np.flatnonzero(mask).tolist()} of {LAYERS}; test error {100 * wrong.mean():.1f} %")


if __name__ == "__main__":
    main()

"""The searches of ``hitting`` that draw two samples at a time, on a GPU: all seeds in parallel, one program for each.

A hundred million calls at 3000 bits take a core twenty minutes. Here a run is one program of a Pallas kernel, whose
loop keeps probabilities, signal and random numbers in registers. ``Pairs.step`` is that of ``sonde.igo.PBIL`` at two
samples, step for step (tests compare them, in Pallas's interpreter); samples come from another stream of random
numbers, so single runs differ.

Every bit has its own generator, xoshiro128++ (Blackman & Vigna 2021): probabilities are exact to 2^-32.
"""

import functools
import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array, lax
from jax import numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from benchmarks.igo.hitting import Hit
from sonde.igo import PBIL

CHUNK = 1_000_000  # steps of one call of the kernel: a second or two
WARPS = 16  # that share a program's bits
NEVER = -1


class State(NamedTuple):
    """The state of a run."""

    theta: Array  # (padded,)
    s: Array  # (padded,)
    words: tuple[Array, Array, Array, Array]  # (padded,) each
    reference: Array
    gamma: Array
    calls: Array  # when the optimum was drawn


class Pairs(NamedTuple):
    """The constant settings: those of a ``PBIL`` with two samples."""

    n: int
    function: str
    adapted: bool  # whether the step size adapts
    longest: float
    smallest: float
    largest: float
    alpha: float

    @classmethod
    def of(cls, search: PBIL, function: str) -> "Pairs":
        """Return the settings of a search that has made no step yet."""
        adaptation = search._adaptation
        if search.adapt == "lambda" or search.sample_size != 2:
            raise ValueError("only searches that always draw two samples run in pairs")
        bounds = float(adaptation.smallest), float(adaptation.largest)
        return cls(search.family.free, function, search.adapt == "epsilon", search.step_size, *bounds, adaptation.alpha)

    @property
    def padded(self) -> int:
        """The number of bits as a kernel holds them."""
        return 1 << max(4, (self.n - 1).bit_length())

    @property
    def numbers(self) -> Array:
        """Each bit's number."""
        return lax.broadcasted_iota(jnp.int32, (self.padded,), 0)

    def start(self, seed: int) -> State:
        """Return the initial state of a run."""
        words = np.random.SeedSequence(seed).generate_state(4 * self.padded, np.uint32).reshape(4, -1)
        half, zero = jnp.full(self.padded, 0.5, dtype=jnp.float64), jnp.zeros(self.padded, dtype=jnp.float64)
        a, b, c, d = (jnp.asarray(each) for each in words)
        scalars = jnp.float64(self.smallest), jnp.float64(0.0), jnp.int64(NEVER)
        return State(half, zero, (a, b, c, d), *scalars)

    def loss(self, bits: Array) -> Array:
        """Return how many bits (padded,) are zero, or do not belong to the ones at the front."""
        if self.function == "leadingones":
            return self.n - jnp.min(jnp.where(bits, self.n, self.numbers))
        return jnp.sum(jnp.where(bits, 0, 1).astype(jnp.int32))

    def drawn(self, state: State) -> tuple[State, Array, Array]:
        """Return two samples (padded,); the padding is ones."""
        words, pair = state.words, []
        for _ in range(2):
            number, words = _random(*words)
            pair.append((number.astype(jnp.float64) < state.theta * 2.0**32) | (self.numbers >= self.n))
        return state._replace(words=words), pair[0], pair[1]

    def step(self, state: State, one: Array, other: Array, calls: Array) -> State:
        """Take a step from two samples that were drawn after ``calls`` calls: natural gradient, then adaptation."""
        losses = self.loss(one), self.loss(other)
        hit = jnp.where(losses[0] == 0, calls + 1, jnp.where(losses[1] == 0, calls + 2, NEVER))
        state = state._replace(calls=jnp.where(state.calls == NEVER, hit, state.calls))
        sign = jnp.sign(losses[1] - losses[0]).astype(jnp.float64)  # equal losses: no step
        gradient = sign * (one.astype(jnp.float64) - other.astype(jnp.float64))
        step = self.longest / (state.reference / self.smallest) if self.adapted else self.longest
        margin = min(1 / self.n, 0.25)
        theta = jnp.clip(state.theta + step * gradient, margin, 1 - margin)
        if not self.adapted:
            return state._replace(theta=theta)
        keep, take = 1 - step, step * (2 - step)
        fresh = jnp.sqrt(take / (2.0 * self.n))  # eq. (10), with eq. (11) for the noise: weights 2 and -2
        s = keep * state.s + fresh * gradient * lax.rsqrt(state.theta * (1 - state.theta))
        gamma = keep * keep * state.gamma + take
        grown = state.reference * jnp.exp(step * (gamma - jnp.sum(s * s) / self.alpha))  # eq. (12)
        moved = sign != 0
        return state._replace(
            theta=theta,
            s=jnp.where(moved, s, state.s),
            gamma=jnp.where(moved, gamma, state.gamma),
            reference=jnp.where(moved, jnp.clip(grown, self.smallest, self.largest), state.reference),
        )


def hit_together(
    search: PBIL, seeds: Sequence[int], function: str, limit: int, *, interpret: bool = False
) -> list[Hit]:
    """Run a search with each of the seeds until a sample is the optimum, or until ``limit`` calls.

    The total time is divided evenly among the runs.
    """
    with jax.enable_x64(True):
        pairs = Pairs.of(search, function)
        started, calls = time.perf_counter(), 0
        states = jax.tree.map(lambda *each: jnp.stack(each), *[pairs.start(seed) for seed in seeds])
        while calls < limit and bool((states.calls == NEVER).any()):
            steps = min(CHUNK, -(-(limit - calls) // 2))
            states = _advanced(pairs, states, calls, steps, interpret=interpret)
            calls += 2 * steps
        seconds = (time.perf_counter() - started) / len(seeds)
        ends = [int(each) if int(each) != NEVER else math.inf for each in states.calls]
    return [Hit(int(min(end, limit)), end <= limit, 2, seconds) for end in ends]


@functools.partial(jax.jit, static_argnames=("pairs", "interpret"))
def _advanced(pairs: Pairs, states: State, calls: int, steps: int, *, interpret: bool = False) -> State:
    """Return runs (many, ...) after ``steps`` more steps."""
    leaves, tree = jax.tree.flatten(states)

    def kernel(*refs: Any) -> None:
        begin, count = refs[0][0], refs[0][1]
        given, results = refs[1 : len(leaves) + 1], refs[len(leaves) + 1 :]
        state = jax.tree.unflatten(tree, [ref[0] if len(ref.shape) == 1 else ref[0, :] for ref in given])

        def one_more(i: Array, state: State) -> State:
            state, one, other = pairs.drawn(state)
            return pairs.step(state, one, other, begin + 2 * i)

        state = lax.fori_loop(jnp.int64(0), count, one_more, state)
        for ref, leaf in zip(results, jax.tree.leaves(state), strict=True):
            ref[...] = leaf.reshape(ref.shape)

    specs = [pl.BlockSpec((1, *leaf.shape[1:]), lambda i, more=leaf.ndim - 1: (i, *[0] * more)) for leaf in leaves]
    made = pl.pallas_call(
        kernel,
        out_shape=[jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves],
        grid=(len(leaves[0]),),
        in_specs=[pl.BlockSpec((2,), lambda i: (0,)), *specs],
        out_specs=specs,
        compiler_params=triton.CompilerParams(num_warps=WARPS),
        interpret=interpret,
    )(jnp.stack([jnp.int64(calls), jnp.int64(steps)]), *leaves)
    return jax.tree.unflatten(tree, made)


def _random(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, tuple[Array, Array, Array, Array]]:
    """Return 32 random bits and the next words, all uint32."""
    number = _rotated(a + d, 7) + a
    shifted = b << jnp.uint32(9)
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    return number, (a, b, c ^ shifted, _rotated(d, 11))


def _rotated(word: Array, by: int) -> Array:
    return (word << jnp.uint32(by)) | (word >> jnp.uint32(32 - by))

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from tests.space.spaces import examples

from sonde.surrogates.basis.data import (
    BLOCK,
    HOLD_OUT_EVERY,
    HOLD_OUT_FROM,
    LOWEST_LOG_DENSITY,
    Table,
    held_out,
    log_score,
)


def table_of(count: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    return Table(rng.random((count, 2)), rng.normal(size=count), rng.random(count))


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 1])
def test_a_sum_over_blocks_is_over_all_rows_once(count: int) -> None:
    data = table_of(count)
    known: dict[bytes, np.ndarray] = {}
    sizes: list[int] = []

    def products(block: Table) -> np.ndarray:
        sizes.append(len(block.y))
        return block.x.T @ block.x

    np.testing.assert_allclose(data.summed(known, products), data.x.T @ data.x, rtol=1e-12)
    assert sizes == [count % BLOCK] + [BLOCK] * (count // BLOCK)
    assert len(known) == count // BLOCK


def test_whole_blocks_are_summed_once_as_data_grow() -> None:
    more = 7 * BLOCK + 2
    data, known = table_of(more), {}
    sizes: list[int] = []

    def count(block: Table) -> int:
        sizes.append(len(block.y))
        return len(block.y)

    assert data.rows(slice(2 * BLOCK + 1)).summed(known, count) == 2 * BLOCK + 1
    assert data.summed(known, count) == more
    assert sizes == [1, BLOCK, BLOCK, 2, *[BLOCK] * 5]  # the first two blocks are cached the second time
    other = table_of(more, seed=1)
    assert other.summed(known, count) == more
    assert len(known) == 14  # cached sums of other data are not used


def test_rows_are_chosen_by_slices_and_by_indexes() -> None:
    data = table_of(9)
    for one, other in zip(data.rows(slice(2, 5)), data.rows(np.array([2, 3, 4])), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(data.rows(slice(9, None)).y) == 0
    assert data.rows(slice(0)).x.shape == (0, 2)


@examples(30)
@given(count=st.integers(0, 300), more=st.integers(0, 100))
def test_a_fifth_of_many_rows_is_held_out_and_stays_held_out(count: int, more: int) -> None:
    held = held_out(count)
    assert held.shape == (count,)
    assert held.sum() == (count // HOLD_OUT_EVERY if count >= HOLD_OUT_FROM else 0)
    if count >= HOLD_OUT_FROM:
        np.testing.assert_array_equal(held_out(count + more)[:count], held)


def test_other_data_have_another_digest() -> None:
    data = table_of(12)
    data = data._replace(targets=np.stack([data.y, -data.y], axis=1))
    wide = np.asfortranarray(np.concatenate([data.x, data.x], axis=1))[:, :2]
    assert data.targets is not None
    assert Table(wide, data.y.copy(), data.noise, data.targets).digest() == data.digest()
    names = {data.digest(), data.rows(slice(11)).digest(), table_of(12).digest()}
    for column in range(4):
        changed = [each.copy() for each in data if each is not None]
        changed[column].flat[5] += 1e-15
        names.add(Table(*changed).digest())
    assert len(names) == 7


def test_the_score_is_the_mean_log_density() -> None:
    errors, variances = np.array([0.1, -1.0, 2.0]), np.array([0.5, 1.0, 3.0])
    assert log_score(errors, variances) == pytest.approx(norm(0, np.sqrt(variances)).logpdf(errors).mean())


def test_the_log_density_of_an_outlier_is_clipped() -> None:
    variances = np.full(4, 0.01)
    outlier, larger = (log_score(np.array([0.0, 0.1, 0.1, size]), variances) for size in (10.0, 1e150))
    assert outlier == larger > log_score(np.full(4, 10.0), variances) == LOWEST_LOG_DENSITY

"""Repeated evaluations under noise, once a finite space is used up."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.trials.histories import add_pending, history_of

import sonde
from sonde.space import Categorical, Int, Space
from sonde.strategies.repeating import most_promising
from sonde.trials import Evaluation, History, failure, to_outcome

SPACE = Space(n=Int(0, 3))
ROWS = list(SPACE.rows())


def history(*observations: tuple[int, float | None], noise: float = 1.0) -> History:
    """A history of (n, value) pairs; None is a failure."""
    return history_of(
        SPACE,
        [
            ({"n": n}, failure("why") if value is None else to_outcome(Evaluation(value, noise=noise), SPACE))
            for n, value in observations
        ],
    )


def chosen(known: History, taken: Counter[bytes] | None = None, seed: int = 0) -> int:
    return int(most_promising(known, ROWS, taken or Counter(), np.random.default_rng(seed))[0])


def test_the_lowest_mean_is_repeated_where_noise_is_small() -> None:
    assert chosen(history((0, 3.0), (1, 1.0), (2, 2.0), (3, 4.0), noise=0.01)) == 1


def test_means_count_not_single_values() -> None:
    known = history((0, 3.0), (1, -1.0), (1, 9.0), (2, 2.0), (3, 4.0), noise=0.01)
    assert chosen(known) == 2


def test_a_configuration_with_few_evaluations_is_explored() -> None:
    known = history((0, 1.0), *[(1, 0.9)] * 20, (2, 5.0), (3, 5.0), noise=1.0)
    assert chosen(known) == 0


def test_pending_points_and_points_of_the_batch_count_as_evaluations() -> None:
    known = history((0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0))
    add_pending(known, np.array([ROWS[0], ROWS[1]]))
    assert {chosen(known, seed=seed) for seed in range(20)} == {2, 3}
    assert {chosen(known, Counter({ROWS[2].tobytes(): 1}), seed) for seed in range(20)} == {3}


def test_a_configuration_that_always_failed_is_not_repeated() -> None:
    known = history((0, None), (1, 1e9), (2, None), (3, 1e9 + 1), noise=0.01)
    assert chosen(known) == 1
    nothing = history((0, None), (1, None), (2, None), (3, None))
    assert len({chosen(nothing, seed=seed) for seed in range(40)}) == 4


def test_huge_values_do_not_overflow() -> None:
    huge = 1.7e308
    known = history(
        (0, huge), (0, huge), (0, -huge), (0, -huge), (0, -huge), (1, 0.0), (2, huge), (3, huge), noise=huge
    )
    assert 0 <= chosen(known) <= 3


@pytest.mark.parametrize("strategy", ["igo", "gp"])
def test_in_a_used_up_space_the_best_configuration_is_repeated_most(strategy: str) -> None:
    space = Space(kind=Categorical(["a", "b", "c"]), n=Int(0, 2))
    rng = np.random.default_rng(0)

    def truth(params: dict[str, object]) -> float:
        return {"a": 1.0, "b": 0.0, "c": 2.0}[str(params["kind"])] + 0.5 * int(str(params["n"]))

    study = sonde.Study(space, strategy=strategy, seed=0)
    for _ in range(45):
        trial = study.ask()
        study.tell(trial, truth(dict(trial)) + 0.4 * rng.standard_normal(), noise=0.4)
    tries = Counter(tuple(trial.params.values()) for trial in study.trials)
    assert len(tries) == 9
    assert tries[("b", 0)] == max(tries.values()) > 2 * 45 / 9
    assert study.best_params == {"kind": "b", "n": 0}
    assert study.best_value == pytest.approx(0.0, abs=0.3)
    lucky = study.best(by="observed")
    assert lucky.value is not None
    assert abs(lucky.value - truth(dict(lucky))) > 0.4

"""The strategy ``"igo"``, as a whole."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.space.spaces import examples, spaces
from tests.strategies.runs import Run, bits, zeros

import sonde
from sonde.errors import OddHistory, OptionError
from sonde.sampling import Key
from sonde.space import Bool, Categorical, Float, Int, Space
from sonde.strategies.natural_gradient.igo import IGO
from sonde.trials import Evaluation, History, Outcome, State, failure

Array = NDArray[np.float64]

pytestmark = pytest.mark.filterwarnings(
    "ignore::sonde.errors.OddHistory"
)  # many histories here are degenerate on purpose

MIXED = Space(
    on=Bool(),
    kind=Categorical(["a", "b", "c"]),
    way=Categorical(list("pqrstuv")),
    n=Int(1, 50),
    width=Int(1, 1000, log=True),
    x=Float(-1, 1),
    rate=Float(1e-4, 1, log=True),
    deep=Float(0, 1, when={"kind": "b"}),
    deeper=Int(0, 5, when={"kind": ["b", "c"], "on": True}),
)

SPACES = {
    "bits": bits(14),
    "threes": Space({f"c{i}": Categorical(["a", "b", "c"]) for i in range(6)}),
    "sevens": Space({f"c{i}": Categorical(range(7)) for i in range(4)}),
    "ints": Space(n=Int(-5, 40), m=Int(0, 90, step=3)),
    "log ints": Space(n=Int(1, 300, log=True), m=Int(2, 2**20, log=True)),
    "floats": Space(x=Float(-2, 3), rate=Float(1e-6, 1, log=True)),
    "lattices": Space(x=Float(0, 1, step=0.05), y=Float(0.5, 8, step=0.5, log=True)),
    "conditional": Space(kind=Categorical(["a", "b"]), deep=Float(0, 1, when={"kind": "b"})),
    "mixed": MIXED,
    "constrained": MIXED.where("n < 30").where("x + rate < 0.5").where("deep > 0.2"),
    "constrained bits": bits(14).where(lambda p: sum(p.values()) % 3 == 0),
}


def valued(row: Array) -> float:
    """A loss for any space: lower at low numbers, with ties."""
    return float(np.round(np.nansum(np.log1p(np.abs(row))), 1))


def assert_sound(space: Space, rows: Array) -> None:
    """Assert that all rows are feasible and distinct."""
    for row in rows:
        configuration = space.codec.configuration(row)
        assert configuration in space
        assert space.feasible(configuration)
        np.testing.assert_array_equal(space.row(configuration), row)
    assert len({row.tobytes() for row in rows}) == len(rows)


def one_by_one(run: Run, count: int, loss: Callable[[Array], Any] = valued) -> Run:
    for _ in range(count):
        for number in run.ask():
            run.tell(number, loss(run.history.rows[number]))
    return run


# suggestions


@pytest.mark.parametrize("name", SPACES)
def test_suggestions_are_novel_and_in_the_space(name: str) -> None:
    space = SPACES[name]
    run = one_by_one(Run(space), 60)
    run.ask(15)
    run.ask(15)
    assert len(run.history) == 90
    assert_sound(space, run.history.rows)


@pytest.mark.parametrize("adapt", ["lambda", "epsilon", None])
@pytest.mark.parametrize("polish", [True, False])
def test_every_kind_of_search_is_sound(adapt: str | None, polish: bool) -> None:
    run = one_by_one(Run(MIXED, adapt=adapt, polish=polish), 60)
    run.ask(10)
    assert_sound(MIXED, run.history.rows)


def test_one_configuration_is_suggested_once() -> None:
    space = Space(n=Int(3, 3), c=Categorical(["only"]))
    run = Run(space)
    assert run.strategy.explain(space, run.history) == "there is one configuration only"
    assert run.suggest(5).tolist() == [[3.0, 0.0]]
    run.tell(run.ask()[0], 1.0)
    assert run.suggest(5).shape == (0, 2)


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("batch", [1, 3, 50])
@pytest.mark.parametrize(
    "space",
    [
        bits(1),
        bits(2),
        Space(c=Categorical(["a", "b", "c"]), n=Int(0, 4, when={"c": "b"})),
        Space(n=Int(1, 12, log=True)).where("n != 5"),
        bits(5).where("b0 or b1"),
    ],
)
def test_a_finite_space_is_used_up_to_the_last_configuration(space: Space, batch: int, polish: bool) -> None:
    run = Run(space, polish=polish)
    size = sum(space.feasible(configuration) for configuration in space.configurations())
    while numbers := run.ask(batch):
        assert len(numbers) == min(batch, size - numbers[0])
        for number in numbers:
            run.tell(number, valued(run.history.rows[number]))
    assert len(run.history) == size
    assert_sound(space, run.history.rows)


def test_pending_points_use_up_a_finite_space() -> None:
    run = Run(bits(4))
    assert len(run.ask(10)) == 10
    assert len(run.ask(10)) == 6
    assert run.suggest(3).shape == (0, 4)


def test_a_finite_space_that_was_added_completely_has_nothing_left() -> None:
    run = Run(bits(3))
    for row in bits(3).rows():
        run.add(row, zeros(row))
    assert run.suggest(3).shape == (0, 3)
    assert "are evaluated or pending" in run.strategy.explain(run.space, run.history)


@pytest.mark.parametrize("told", [0, 40])
def test_two_hundred_at_once(told: int) -> None:
    run = one_by_one(Run(bits(30)), told, zeros)
    assert len(run.ask(200)) == 200
    assert_sound(run.space, run.history.rows)


def test_two_thousand_bits() -> None:
    run = one_by_one(Run(bits(2000)), 30, zeros)
    run.ask(10)
    assert_sound(run.space, run.history.rows)


def test_cancelled_trials_are_not_suggested_again() -> None:
    run = Run(bits(6))
    for _ in range(20):
        run.tell(run.ask()[0], State.CANCELLED)
        run.tell(run.ask()[0], 1.0)
    assert_sound(run.space, run.history.rows)


@examples(25)
@given(spaces(), st.integers(0, 20), st.data())
def test_any_run_in_any_space_is_sound(space: Space, seed: int, data: st.DataObject) -> None:
    run = Run(space, seed=seed)
    outcomes = st.sampled_from([0.0, 1.0, -1e300, math.nan, failure("why"), State.CANCELLED, State.LOST])
    for _ in range(6):
        numbers = run.ask(data.draw(st.integers(1, 4)))
        for number in data.draw(st.permutations(numbers))[:-1]:
            run.tell(number, data.draw(outcomes))
    assert_sound(space, run.history.rows)


# the state is a function of the observations


def chaos(rng: np.random.Generator, row: Array) -> float | Evaluation | Outcome:
    """Outcomes of every kind, with many ties."""
    value = valued(row) // 2
    kind = rng.integers(10)
    if kind == 0:
        return failure("why")
    if kind == 1:
        return math.nan
    if kind == 2:
        return Evaluation(value - 5, constraints={"memory": float(rng.choice([-1.0, 1.0]))})
    return value


def assert_resumes(run: Run, count: int = 4) -> None:
    other = run.again()
    np.testing.assert_array_equal(run.suggest(count), other.suggest(count))
    assert run.strategy.explain(run.space, run.history) == other.strategy.explain(other.space, other.history)


@pytest.mark.parametrize("name", ["bits", "threes", "log ints", "floats", "mixed", "constrained"])
def test_a_run_can_be_resumed_at_every_step(name: str) -> None:
    run = Run(SPACES[name], seed=3)
    for _ in range(40):
        one_by_one(run, 1)
        assert_resumes(run)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["bits", "conditional", "mixed", "constrained bits"])
def test_a_run_of_many_workers_can_be_resumed_at_every_step(name: str, seed: int) -> None:
    """Trials end in any order, fail, violate constraints; workers die, trials are cancelled."""
    rng, run, running = np.random.default_rng(seed), Run(SPACES[name], seed=seed), list[int]()
    for _ in range(60):
        if not running or (len(running) < 12 and rng.random() < 0.5):
            running += run.ask(int(rng.integers(1, 5)))
        else:
            number = running.pop(int(rng.integers(len(running))))
            row, kind = run.history.rows[number].copy(), rng.integers(12)
            if kind < 2:
                run.tell(number, State.CANCELLED if kind else State.LOST)
            else:
                run.tell(number, chaos(rng, row))
        assert_resumes(run)
    assert_sound(run.space, run.history.rows)


@pytest.mark.parametrize("seed", range(4))
def test_a_run_whose_lost_trials_end_after_all_can_be_resumed_at_every_step(seed: int) -> None:
    """A lost trial is queued once more, as storages do; its worker may return before or after the retry is lost."""
    rng, run = np.random.default_rng(seed), Run(bits(12), seed=seed)
    running, lost, retries = run.ask(4), list[int](), set[int]()
    for _ in range(90):
        number = running.pop(int(rng.integers(len(running))))
        row = run.history.rows[number].copy()
        if rng.random() < 0.4:
            run.tell(number, State.LOST)
            if number not in retries:
                lost.append(number)
                retries.add(run.add(row))
                running.append(len(run.history) - 1)
        else:
            run.tell(number, zeros(row))
        if lost and rng.random() < 0.2:
            late = lost.pop(int(rng.integers(len(lost))))
            run.tell(late, zeros(run.history.rows[late]))
        if len(running) < 4:
            running += run.ask(4)
        assert_resumes(run)
    assert generation(run) > 3


def test_a_small_space_can_be_resumed_until_it_is_used_up() -> None:
    """Many samples are known already, from the local search or from generations before."""
    rng, run = np.random.default_rng(0), Run(bits(5))
    running = run.ask(3)
    while running:
        number = running.pop(int(rng.integers(len(running))))
        run.tell(number, float(run.history.rows[number].sum() // 2))
        running += run.ask(int(rng.integers(1, 3)))
        if number % 3 == 0:
            assert_resumes(run)
    assert len(run.history) == 32


def test_the_state_depends_on_the_observations_not_on_who_asked() -> None:
    """The observations of a run, added to another study in their order, lead to the same state."""
    run = one_by_one(Run(bits(16)), 80, zeros)
    other = Run(bits(16))
    for row in run.history.rows:
        other.add(row, zeros(row))
    np.testing.assert_array_equal(run.suggest(5), other.suggest(5))


def test_another_history_in_between_changes_nothing() -> None:
    one, other = one_by_one(Run(MIXED), 30), one_by_one(Run(bits(9)), 20)
    first = one.suggest(3)
    one.strategy.suggest(other.space, other.history, 2, Key(0, len(other.history)))
    np.testing.assert_array_equal(first, one.suggest(3))
    one.strategy.suggest(one.space, one.history, 2, Key(1, len(one.history)))  # another seed
    np.testing.assert_array_equal(first, one.suggest(3))


def test_other_seeds_give_other_suggestions() -> None:
    assert not np.array_equal(Run(MIXED, seed=0).suggest(5), Run(MIXED, seed=1).suggest(5))


# invariance and failures


@pytest.mark.parametrize("change", [math.exp, lambda v: v**3, lambda v: 1e12 * v - 7, lambda v: math.atan(v) / 1e9])
def test_increasing_transformations_change_nothing(change: Callable[[float], float]) -> None:
    one = one_by_one(Run(MIXED), 60)
    other = one_by_one(Run(MIXED), 60, lambda row: change(valued(row)))
    np.testing.assert_array_equal(one.history.rows, other.history.rows)


def test_maximising_is_minimising_the_negative() -> None:
    down = one_by_one(Run(MIXED), 60)
    up = one_by_one(Run(MIXED, sign=-1.0), 60, lambda row: -valued(row))
    np.testing.assert_array_equal(down.history.rows, up.history.rows)


def test_violated_constraints_rank_like_failures() -> None:
    def told(bad: Callable[[Array], Any]) -> Array:
        run = one_by_one(Run(bits(12)), 60, lambda row: bad(row) if row[0] else zeros(row))
        return run.history.rows

    one = told(lambda row: failure("why"))
    np.testing.assert_array_equal(one, told(lambda row: Evaluation(-50 - row.sum(), constraints={"memory": 0.5})))
    np.testing.assert_array_equal(one, told(lambda row: math.inf))
    assert one[:, 0].mean() < 0.5  # that half is avoided


def test_constant_values_give_a_warning_and_the_search_continues() -> None:
    run = Run(bits(12))
    one_by_one(run, 80, lambda row: 1.0)
    assert_sound(run.space, run.history.rows)
    with pytest.warns(OddHistory, match="all values so far are 1"):
        run.suggest()


def test_failures_only_give_a_warning_and_the_search_continues() -> None:
    run = one_by_one(Run(MIXED), 40, lambda row: failure("why"))
    assert_sound(MIXED, run.history.rows)
    with pytest.warns(OddHistory, match="all trials so far failed"):
        run.suggest()


# the two searches


def generation(run: Run) -> int:
    """Return the number of the current generation, from 1 on."""
    [number] = re.findall(r"generation (\d+), \d+ samples", run.strategy.explain(run.space, run.history))
    return int(number)


def test_without_polish_the_natural_gradient_is_alone() -> None:
    run = one_by_one(Run(bits(10), polish=False), 40, zeros)
    assert generation(run) > 5
    assert "local search" not in run.strategy.explain(run.space, run.history)


def test_the_search_with_the_higher_success_rate_gets_more_trials() -> None:
    run = one_by_one(Run(bits(40)), 30, zeros)
    [share] = re.findall(r"local search .*?(\d+)% of the trials", run.strategy.explain(run.space, run.history))
    assert int(share) > 75  # on OneMax every second flip is an improvement


def test_settings_reach_the_search() -> None:
    run = Run(bits(10), adapt="epsilon", sample_size=6, step_size=0.2, alpha=2.0, largest_sample_size=30)
    one_by_one(run, 60, zeros)  # the step size adapts, the sample size does not
    assert generation(run) > 2
    assert "6 samples each" in run.strategy.explain(run.space, run.history)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"adapt": "mu"}, "adapt must be 'lambda', 'epsilon' or None, got 'mu'"),
        ({"sample_size": 1}, "sample_size must be a whole number of at least 2, got 1"),
        ({"sample_size": 2.5}, "sample_size must be a whole number"),
        ({"largest_sample_size": 1}, "largest_sample_size must be a number of at least 2, got 1"),
        ({"sample_size": 9, "largest_sample_size": 8}, "largest_sample_size must be a number of at least 9"),
        ({"step_size": 0}, "step_size must be a number above 0"),
        ({"step_size": math.nan}, "step_size must be a number above 0"),
        ({"alpha": "high"}, "alpha must be a number of at least 1"),
        ({"polish": "yes"}, "polish must be True or False, got 'yes'"),
        ({"seed": 3}, "there is no setting 'seed'; there are adapt, polish, sample_size"),
        ({"samples": 3}, "there is no setting 'samples'"),
    ],
)
def test_settings_are_checked_at_once(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        sonde.IGO(**settings)


def test_it_explains_itself() -> None:
    run = Run(bits(20))
    said = "draws configurations from a distribution with 20 free parameters that follows the natural gradient"
    local_search = "a bit-flip local search from the incumbent gets"
    assert run.strategy.explain(run.space, run.history) == f"{said}; {local_search} part of the trials"
    run.suggest()
    expected = f"{said} (generation 1, 2 samples each); {local_search} 75% of the trials"
    assert run.strategy.explain(run.space, run.history) == expected
    one_by_one(run, 60, zeros)
    run.suggest()
    assert generation(run) > 1
    assert re.search(rf"{local_search} \d+% of the trials$", run.strategy.explain(run.space, run.history))


def test_before_the_first_suggestion_the_explanation_names_no_generation() -> None:
    """A study that was opened again passes its seed with the first suggestion."""
    run = one_by_one(Run(bits(20), seed=5), 60, zeros).again()
    assert "generation" not in run.strategy.explain(run.space, run.history)
    run.suggest()
    assert "generation" in run.strategy.explain(run.space, run.history)


def test_it_has_no_model() -> None:
    assert IGO().model(MIXED, History(MIXED)) is None


# whole runs


def ones(trial: Mapping[str, Any]) -> float:
    return float(sum(not on for on in trial.values()))


def leading(trial: Mapping[str, Any]) -> float:
    return float(len(trial) - np.cumprod(list(trial.values())).sum())


def rugged(trial: Mapping[str, Any]) -> float:
    """OneMax with its levels swapped in pairs: every second step towards the optimum is worse."""
    missing = int(ones(trial))
    return float(missing if missing == 0 else missing + (1 if missing % 2 else -1) + 1)


@pytest.mark.parametrize("seed", range(2))
def test_onemax_is_solved(seed: int) -> None:
    assert sonde.minimize(ones, bits(40), 600, strategy="igo", seed=seed).best_value == 0


def test_onemax_is_solved_by_the_gradient_alone() -> None:
    assert sonde.minimize(ones, bits(20), 600, strategy=IGO(polish=False), seed=0).best_value == 0


def test_leading_ones_is_solved() -> None:
    assert sonde.minimize(leading, bits(20), 1500, strategy="igo", seed=0).best_value == 0


def test_rugged_onemax_is_solved() -> None:
    assert sonde.minimize(rugged, bits(20), 1200, strategy="igo", seed=0).best_value == 0


def test_batches_find_the_optimum() -> None:
    study = sonde.Study(bits(30), strategy="igo", seed=0, direction="maximize")
    for _ in range(40):
        for trial in study.ask(20):
            study.tell(trial, sum(trial.values()))
    assert study.best_value == 30


def test_a_mixed_space_is_searched_to_near_its_optimum() -> None:
    kinds = {name: Categorical(list("abcdefg"[:size])) for name, size in zip("abcd", (3, 5, 7, 2), strict=True)}
    space = Space(
        x=Float(0, 1), y=Float(-5, 5), rate=Float(1e-4, 1, log=True), n=Int(0, 100), width=Int(1, 1024, log=True),
        **kinds,
    )  # fmt: skip

    def loss(p: Mapping[str, Any]) -> float:
        numbers = [
            p["x"] - 0.3, (p["y"] - 2) / 10, math.log10(p["rate"] / 0.01) / 4, (p["n"] - 70) / 100,
            math.log2(p["width"] / 64) / 10,
        ]  # fmt: skip
        return sum(number**2 for number in numbers) + sum(p[name] != "b" for name in "abcd")

    result = sonde.minimize(loss, space, 500, strategy="igo", seed=1)
    assert all(result.best_params[name] == "b" for name in "abcd")
    assert result.best_value < 0.03


def test_the_best_configuration_next_to_failing_ones_is_found() -> None:
    def broken(trial: Mapping[str, Any]) -> float:
        if trial["b0"] and trial["b1"]:
            raise ValueError("broken")
        return ones(trial)

    result = sonde.minimize(broken, bits(20), 400, strategy="igo", seed=0, catch=ValueError)
    assert result.best_value == 1


# through storage


def test_a_study_that_is_opened_again_for_every_trial_suggests_the_same(tmp_path: Path) -> None:
    whole = sonde.minimize(ones, bits(12), 25, strategy="igo", seed=3)
    for expected in whole.trials:
        with sonde.Study(bits(12), strategy="igo", seed=3, storage=tmp_path / "runs.db", name="study") as study:
            trial = study.ask()
            assert dict(trial) == expected.params
            study.tell(trial, ones(trial))


def test_two_studies_on_one_storage_suggest_as_one(tmp_path: Path) -> None:
    """Two processes get the suggestions that one process would have got."""

    def opened(path: str) -> sonde.Study:
        return sonde.Study(bits(12), strategy="igo", seed=0, storage=tmp_path / path, name="study")

    alone, pair = opened("one.db"), [opened("two.db"), opened("two.db")]
    for i in range(20):
        batch, theirs = alone.ask(2), pair[i % 2].ask(2)
        assert [dict(trial) for trial in batch] == [dict(trial) for trial in theirs]
        for mine, other in zip(reversed(batch), reversed(theirs), strict=True):
            alone.tell(mine, ones(mine))
            pair[(i + mine.number) % 2].tell(other.number, ones(other))
    for study in (alone, *pair):
        study.close()


def assert_opened_again_is_the_same(study: sonde.Study, strategy: IGO, storage: Path) -> None:
    """Assert that a process that opens the storage gives the suggestions of this study's strategy."""
    with sonde.load(storage, study.name) as again:
        rows = [
            each.suggest(opened.space, opened.history, 5, Key(opened.seed, len(opened.history)))
            for each, opened in ((strategy, study), (IGO(), study), (IGO(), again))
        ]
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[1], rows[2])


def test_four_workers_find_the_optimum(tmp_path: Path) -> None:
    def missing(trial: Mapping[str, Any]) -> float:  # pickled by value: workers do not have this module
        return float(sum(not on for on in trial.values()))

    storage, strategy = tmp_path / "runs.db", IGO()
    result = sonde.minimize(missing, bits(20), 250, strategy=strategy, seed=0, workers=4, storage=storage, name="study")
    assert result.best_value == 0
    assert len({tuple(trial.items()) for trial in result.trials}) == len(result.trials) == 250
    assert_opened_again_is_the_same(result.study, strategy, storage)


def test_processes_that_ask_independently_search_as_one(tmp_path: Path) -> None:
    code = """
import sys, sonde
space = sonde.Space({f"b{i}": sonde.Bool() for i in range(16)})
with sonde.Study(space, strategy="igo", seed=0, storage=sys.argv[1], name="study") as study:
    for _ in range(60):
        trial = study.ask()
        study.tell(trial, sum(not on for on in trial.values()))
"""
    storage = tmp_path / "runs.db"
    workers = [subprocess.Popen([sys.executable, "-c", code, str(storage)]) for _ in range(2)]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    strategy = IGO()
    with sonde.load(storage, "study", strategy=strategy) as study:
        assert len({tuple(trial.items()) for trial in study.trials}) == len(study.trials) == 120
        assert study.best_value == 0
        assert_opened_again_is_the_same(study, strategy, storage)


def test_threads_share_a_study() -> None:
    study = sonde.Study(bits(24), strategy="igo", seed=0)

    def work(_: int) -> None:
        for _ in range(60):
            trial = study.ask()
            study.tell(trial, ones(trial))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert study.best_value == 0
    assert len({tuple(trial.items()) for trial in study.trials}) == 240


def test_auto_takes_it_for_bits_and_categories_with_many_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.strategies.auto.EXACT_GP_LIMIT", 20)
    for parameter, taken in ((sonde.Categorical(["a", "b", "c"]), "igo"), (sonde.Int(0, 9), "dngo")):
        space = sonde.Space({f"bit{i}": sonde.Bool() for i in range(8)} | {"other": parameter})
        study = sonde.Study(space, seed=0, strategy="igo")
        for _ in range(21):
            trial = study.ask()
            study.tell(trial, sum(trial[f"bit{i}"] for i in range(8)))
        continued = sonde.Study(space, seed=0)
        continued.add_trials([{"params": dict(trial), "value": trial.value} for trial in study.trials])
        assert f"{taken}, because" in continued.explain()

"""``auto`` weighs the time of suggestions against that of trials, where all parameters are bits or categories."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks.records import read
from benchmarks.report import RESULTS
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.several import TWO
from tests.trials.histories import changed

import sonde
from sonde.sampling import Key
from sonde.strategies import waiting
from sonde.strategies.auto import EXACT_GP_LIMIT, Auto
from sonde.strategies.initial_design import first_count
from sonde.strategies.waiting import PATIENCE, gp_seconds, waited_too_long
from sonde.study import Study
from sonde.trials import Changes, History, Outcome, State, failure

BITS = sonde.Space({f"b{i}": sonde.Bool() for i in range(30)})
MIXED = sonde.Space({"x": sonde.Float(0, 1)} | {f"b{i}": sonde.Bool() for i in range(29)})
DONE = Outcome(State.COMPLETED, value=1.0)


def history_of(
    seconds: Sequence[float | None], space: sonde.Space = BITS, outcome: Outcome = DONE, **declared: sonde.Objectives
) -> History:
    """A history of trials at random points that took so many seconds; None: it is not known."""
    history = History(space, **declared)
    rows = space.codec.decode(np.random.default_rng(0).random((len(seconds), len(space))))
    trials = zip(rows, seconds, strict=True)
    changes = [changed(number, row, outcome, number + 1, took) for number, (row, took) in enumerate(trials)]
    history.update(Changes(len(changes), changes))
    return history


def chosen(history: History) -> str:
    return Auto().chosen(history.space, history).split(",")[0]


COSTS = np.where(np.arange(EXACT_GP_LIMIT) < first_count(BITS), 0.0, gp_seconds(BITS, EXACT_GP_LIMIT))
LAST = int(np.searchsorted(np.cumsum(COSTS), PATIENCE, side="right"))  # results up to which quick trials have gp
PAGE = Path(__file__).parents[2] / "docs" / "strategies.md"


def test_the_patience_ends_between_the_first_hundred_and_the_last_result() -> None:
    assert 100 < LAST < EXACT_GP_LIMIT


def test_the_page_says_how_many_results_that_is() -> None:
    said = re.search(r"first (\d+) results of 25 bits, and the first (\d+) of 100 bits", PAGE.read_text("utf-8"))
    assert said is not None
    for n, last in zip((25, 100), map(int, said.groups()), strict=True):
        space = sonde.Space({f"b{i}": sonde.Bool() for i in range(n)})
        assert chosen(history_of([0.0] * last, space)) == "gp"
        assert chosen(history_of([0.0] * (last + 1), space)) == "igo"


def test_quick_trials_do_not_wait_for_a_gaussian_process() -> None:
    assert chosen(history_of([1e-6] * LAST)) == "gp"
    assert chosen(history_of([1e-6] * (LAST + 1))) == "igo"


def test_the_exact_time_of_quick_trials_decides_nothing() -> None:
    for seconds in np.random.default_rng(0).uniform(0, waiting.INSTANT, (20, LAST + 1)):
        assert chosen(history_of(seconds[:-1])) == "gp"
        assert chosen(history_of(seconds)) == "igo"


@pytest.mark.parametrize("seconds", [2.0, 3600.0, None])
def test_trials_of_seconds_and_of_unknown_time_have_it_up_to_its_limit(seconds: float | None) -> None:
    assert chosen(history_of([seconds] * EXACT_GP_LIMIT)) == "gp"
    assert chosen(history_of([seconds] * (EXACT_GP_LIMIT + 1))) == "igo"


def test_the_formula_is_within_twice_the_seconds_that_were_measured() -> None:
    rows = [row for row in read(RESULTS / "igo_waiting_runs.csv") if int(row["after"]) >= 50]
    assert {row["n"] for row in rows} == {"25", "100"}
    for n, after in {(int(row["n"]), int(row["after"])) for row in rows}:
        measured = [float(row["gp seconds"]) for row in rows if (row["n"], row["after"]) == (str(n), str(after))]
        space = sonde.Space({f"b{i}": sonde.Bool() for i in range(n)})
        assert 0.5 < gp_seconds(space, after)[first_count(space) :].sum() / np.median(measured) < 2


def test_where_a_parameter_has_an_order_time_is_not_weighed() -> None:
    assert chosen(history_of([0.0] * EXACT_GP_LIMIT, MIXED)) == "gp"
    assert chosen(history_of([0.0] * (EXACT_GP_LIMIT + 1), MIXED)) == "dngo"


def test_failures_do_not_show_how_long_a_trial_takes() -> None:
    assert waited_too_long(BITS, history_of([0.0] * EXACT_GP_LIMIT, outcome=failure("no"))) is None


def test_several_objectives_have_as_many_models() -> None:
    told = np.array([1.0, 2.0], dtype="<f8").tobytes()
    outcome = Outcome(State.COMPLETED, objectives=told + np.full(2, math.nan).astype("<f8").tobytes())
    one, two = history_of([0.0] * 900), history_of([0.0] * 900, outcome=outcome, objectives=TWO)
    found = [waited_too_long(BITS, history) for history in (one, two)]
    results = [waited.results for waited in found if waited is not None]
    assert results[1] < 0.6 * results[0]


@given(st.lists(st.none() | st.floats(0, 0.2) | st.floats(0, 1000), max_size=80), st.floats(0, 20))
def test_it_never_goes_back(seconds: list[float | None], patience: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting, "PATIENCE", patience)
        found = [waited_too_long(BITS, history_of(seconds[:n])) for n in range(len(seconds) + 1)]
    first = next((waited for waited in found if waited is not None), None)
    assert [waited for waited in found if waited is not None] == [first] * (len(found) - found.count(None))
    assert found == sorted(found, key=lambda waited: waited is not None)


def test_it_says_why_with_the_numbers_of_the_study() -> None:
    history = history_of([0.01] * (LAST + 50))
    suggestions = COSTS[: LAST + 1].sum()
    waited = waited_too_long(BITS, history)
    assert waited == pytest.approx((LAST + 1, suggestions, 0.01 * (LAST + 1)))
    why = (
        "igo, because all parameters are bits or categories and the trials are too quick to wait for a Gaussian "
        f"process (up to {LAST + 1} results its suggestions take about {suggestions:.0f} s, "
        f"and the trials took {0.01 * (LAST + 1):.3g} s)"
    )
    assert Auto().chosen(BITS, history) == why
    assert Auto().explain(BITS, history).startswith(f"{why}: ")


def ones(trial: sonde.Trial) -> float:
    return float(sum(trial.values()))


def test_a_study_that_changed_over_is_the_same_in_another_process_and_in_a_replay(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 3.0)  # seconds: some fifteen results
    with Study(BITS, storage=sqlite_url, name="s", seed=0, direction="maximize") as study:
        study.optimize(ones, 10, progress=False)
        time.sleep(0.2)
        trial = study.ask()
        time.sleep(0.2)  # a slow trial among quick ones
        study.tell(trial, ones(trial))
        pending = study.ask(3)
        study.optimize(ones, 20, progress=False)
        study.tell(pending[1], ones(pending[1]))
        assert "gp, because" in Auto().chosen(BITS, first_of(study, 12))
        why = Auto().chosen(BITS, study.history)
        assert why.startswith("igo, because")
    with sonde.load(sqlite_url, "s") as again:
        assert Auto().chosen(BITS, again.history) == why
        found = again.verify()
        assert (found.ok, found.checked) == (True, 34)
        first, second = (Auto().suggest(BITS, each.history, 2, Key(0, 99)) for each in (again, study))
        assert np.array_equal(first, second)


def first_of(study: Study, count: int) -> History:
    """The history of the first results of a study."""
    history, found = History(BITS, study.history.sign), study.storage.changes(study._header.key, 0)
    history.update(Changes(count, [row for row in found.rows if row[0] < count]))
    return history


@pytest.mark.parametrize("kept", [True, False])
def test_only_suggested_trials_with_a_result_have_a_time(sqlite_url: str, kept: bool) -> None:
    with Study(BITS, seed=0, strategy="random", storage=sqlite_url if kept else None, name="s") as study:
        study.enqueue(dict.fromkeys(BITS.names, True))
        for trial in study.ask(4):
            time.sleep(0.01)
            if trial.number < 3:
                study.tell(trial, ones(trial))
        study.add_trials([{"params": dict.fromkeys(BITS.names, False), "value": 0.0}])
        seconds, durations = study.history.seconds, [trial.duration for trial in study.trials]
        assert np.isnan(seconds[[0, 3, 4]]).all()  # enqueued, running, added
        assert seconds[1:3] == pytest.approx(np.array(durations[1:3], dtype=float), abs=1e-5)
        assert (seconds[1:3] >= 0.02).all()

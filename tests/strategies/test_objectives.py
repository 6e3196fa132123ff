"""Strategies with several objectives: their contract, what their suggestions depend on, and how good they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.space.spaces import examples, spaces
from tests.strategies.several import NAMES, PLANE, TWO, distances, evaluated, history_of, objectives
from tests.trials.histories import add_pending

import sonde
from sonde.errors import OptionError
from sonde.pareto.fronts import non_dominated
from sonde.pareto.hypervolume import hypervolume
from sonde.sampling import Key
from sonde.space import Bool, Categorical, Float, Int, Space
from sonde.strategies import Strategy, resolve_strategy
from sonde.strategies.natural_gradient.observation_log import ObservationLog, row_fingerprint
from sonde.strategies.repeating import most_promising
from sonde.surrogates.basis import adaptive
from sonde.trials import Evaluation, History, State, failure
from sonde.trials.objectives import Objectives

Array = NDArray[np.float64]

pytestmark = pytest.mark.filterwarnings("ignore::sonde.errors.OddHistory")  # some histories are degenerate on purpose

ALL = ("random", "sobol", "gp", "dngo", "fobo", "igo", "auto")
MODELS = ("gp", "dngo", "fobo")
each = pytest.mark.parametrize("name", ALL)
each_kind = pytest.mark.parametrize("name", ["random", "gp", "igo"])  # with few results, the others are much like gp
each_model = pytest.mark.parametrize("name", MODELS)
CUBE = Space({f"x{i}": Float(0, 1) for i in range(4)})
MIXED = Space(
    x=Float(-1, 1),
    rate=Float(1e-4, 1, log=True),
    n=Int(1, 50),
    kind=Categorical(["a", "b", "c"]),
    deep=Float(0, 1, when={"kind": "b"}),
)
FINITE = Space(n=Int(0, 3), kind=Categorical(["a", "b"]))


def suggested(strategy: str | Strategy, history: History, count: int = 1, seed: int = 1) -> Array:
    return resolve_strategy(strategy).suggest(history.space, history, count, Key(seed, len(history)))


def assert_new(rows: Array, history: History, count: int) -> None:
    """All rows are in the space; none was tried, unless it has a continuous entry."""
    assert len(rows) == count
    space = history.space
    assert all(space.codec.configuration(row) in space for row in rows)
    assert len({row.tobytes() for row in rows}) == count
    assert not any(history.contains(row) for row in rows)


def played(strategy: Any, loss: Callable[[Array], Any], space: Space, count: int, *, seed: int = 0) -> Array:
    """Run a study of two objectives, and return their values (n, 2)."""
    study = sonde.Study(space, objectives={"a": "minimize", "b": "minimize"}, strategy=strategy, seed=seed)
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, loss(np.array(list(trial.params.values()))))
    return study.history.outcomes


def volume(outcomes: Array, reference: float = 1.0) -> float:
    return hypervolume(-outcomes, np.full(outcomes.shape[1], -reference))


# any history


@st.composite
def told(draw: st.DrawFn, declared: Objectives) -> Any:
    """What is told of a trial: values of any size, with NaN and inf, noise or measured constraints; or a state."""
    count = len(declared)
    return draw(
        st.one_of(
            st.sampled_from([State.WAITING, State.RUNNING, State.LOST, State.CANCELLED, failure("why")]),
            st.lists(st.floats(), min_size=count, max_size=count),
            st.lists(st.sampled_from([0.0, 1.0]), min_size=count, max_size=count),
            st.builds(
                lambda level, noise: Evaluation([level] * count, noise={"a": noise}, constraints={"c": level}),
                st.floats(-1, 1),
                st.floats(0, 1),
            ),
        )
    )


@each_kind
@examples(6)
@given(st.data())
def test_suggestions_are_new_and_in_the_space_after_any_history(name: str, data: st.DataObject) -> None:
    space, thresholds = data.draw(spaces()), data.draw(st.sampled_from([None, {"a": 0.5}, {"b": -1e9}]))
    declared = objectives(data.draw(st.integers(2, 4)), maximize="b", thresholds=thresholds)
    points = space.codec.decode(np.random.default_rng(data.draw(st.integers(0, 99))).random((6, len(space))))
    which = data.draw(st.lists(st.integers(0, 5), max_size=10))
    trials = [(space.codec.configuration(points[i]), data.draw(told(declared))) for i in which]
    history = history_of(space, trials, declared)
    known = {row.tobytes() for row in history.rows}
    if space.finite and len(known) + 3 > space.size:
        return  # used up spaces have tests of their own
    assert_new(suggested(name, history, 3), history, 3)


@each_kind
@pytest.mark.parametrize("space", [PLANE, MIXED.where("x + rate < 0.2 and n % 7 != 0")])
def test_a_batch_next_to_pending_points_is_new(name: str, space: Space) -> None:
    history = evaluated(12, space=space)
    add_pending(history, suggested(name, history, 3))
    rows = suggested(name, history, 8)
    assert_new(rows, history, 8)
    distinct = np.concatenate([history.pending.units, space.codec.encode(rows)[0]])
    assert len(np.unique(distinct.round(6), axis=0)) == 11


@each_kind
@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda point: [1.0, 2.0], id="constant"),
        pytest.param(lambda point: [point[0], 2.0], id="one constant"),
        pytest.param(lambda point: [point[0], point[0]], id="equal objectives"),
        pytest.param(lambda point: [point[0], -point[0]], id="opposite objectives"),
        pytest.param(lambda point: [1e-12 * point[0], 1e12 * point[1]], id="far scales"),
        pytest.param(lambda point: [1e300 * point[0], -1e300 * point[1]], id="huge"),
        pytest.param(lambda point: [1.7e308 * (2 * point[0] - 1), 1.7e308 * (1 - 2 * point[1])], id="largest"),
        pytest.param(lambda point: failure("why"), id="failures"),
        pytest.param(lambda point: distances(point) if point[0] < 0.5 else failure("why"), id="half failures"),
        pytest.param(lambda point: Evaluation(distances(point), constraints={"c": point[0] - 0.5}), id="constraint"),
        pytest.param(lambda point: Evaluation(distances(point), constraints={"c": 1.0}), id="never feasible"),
        pytest.param(lambda point: Evaluation(distances(point), noise={"b": 0.5}), id="noise of one"),
    ],
)
def test_odd_results_are_no_obstacle(name: str, loss: Callable[[Array], Any]) -> None:
    history = evaluated(12, loss)
    assert_new(suggested(name, history, 2), history, 2)


@each
def test_a_configuration_told_again_and_again_is_no_obstacle(name: str) -> None:
    history = history_of(PLANE, [({"x": 0.5, "y": 0.5}, [1.0, 2.0])] * 6)
    assert_new(suggested(name, history, 3), history, 3)


@each_kind
@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_any_number_of_objectives(name: str, count: int) -> None:
    history = evaluated(10, lambda point: distances(point, count), declared=objectives(count))
    assert_new(suggested(name, history, 2), history, 2)


def test_a_large_batch() -> None:
    history = evaluated(12)
    rows = suggested("gp", history, 100)
    assert_new(rows, history, 100)
    assert len(np.unique(rows.round(2), axis=0)) > 80


# the same suggestions


@pytest.mark.parametrize("name", ["random", "gp", "dngo", "igo"])
def test_a_study_opened_again_goes_on_as_if_never_closed(name: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "objectives": {"a": "minimize", "b": "maximize"}, "thresholds": {"a": 0.6}, "strategy": name, "seed": 3,
    }  # fmt: skip

    def go(study: sonde.Study, count: int) -> None:
        for _ in range(count):
            for trial in study.ask(2):
                x, y = trial.params["x"], trial.params["n"] / 50
                study.tell(trial, {"a": (x - 0.2) ** 2, "b": -((x - 0.7) ** 2) - y}, gradient={"a": {"x": 2 * x - 0.4}})

    whole = sonde.Study(MIXED, **options)
    go(whole, 5)
    path = f"sqlite:///{tmp_path}/study.db"
    for count in (3, 1, 1):
        with sonde.Study(MIXED, storage=path, name="halves", **options) as study:
            go(study, count)
            found = [dict(trial.params) for trial in study.trials]
    assert found == [dict(trial.params) for trial in whole.trials]


@each
def test_a_maximized_objective_is_the_negative_of_a_minimized_one(name: str) -> None:
    history = evaluated(12)
    mixed = evaluated(12, lambda point: distances(point) * np.array([1, -1]), declared=objectives(maximize="b"))
    np.testing.assert_array_equal(suggested(name, history, 3), suggested(name, mixed, 3))


@each_kind
@pytest.mark.parametrize(("scale", "exact"), [(2.0**40, True), (2.0**-40, True), (1e12, False), (1e-12, False)])
def test_the_unit_of_an_objective_does_not_matter(name: str, scale: float, exact: bool) -> None:
    """A power of two changes no digit; other units change the last ones, and an ascent makes them larger."""
    plain = suggested(name, evaluated(12))
    scaled = suggested(name, evaluated(12, lambda point: distances(point) * np.array([scale, 1])))
    np.testing.assert_allclose(plain, scaled, rtol=0, atol=0 if exact else 1e-3)


@each_model
def test_trials_that_others_dominate_count_for_the_models_but_not_for_the_front(name: str) -> None:
    """The last trial is dominated: its values matter, because the models learn from them."""
    history = evaluated(12)
    bad = [({"x": 0.95, "y": 0.05}, values) for values in ([3.0, 3.0], [5.0, 3.0])]
    trials = [(history.space.codec.configuration(row), list(y)) for row, y in
              zip(history.rows, history.outcomes, strict=True)]  # fmt: skip
    first, second = (suggested(name, history_of(PLANE, [*trials, one])) for one in bad)
    assert not np.array_equal(first, second)


# what is searched


def test_the_hypervolume_is_larger_than_that_of_random_search() -> None:
    def regret(strategy: str, seed: int) -> float:
        return best - volume(played(strategy, distances, CUBE, 30, seed=seed))

    best = volume(np.array([distances(np.full(4, place)) for place in np.linspace(0.2, 0.8, 500)]))
    assert regret("gp", 0) < min(regret("random", seed) for seed in range(5)) / 4


def test_the_distribution_of_igo_moves_to_the_front() -> None:
    space = Space({f"b{i}": Bool() for i in range(24)})

    def loss(bits: Array) -> list[float]:
        return [float(np.sum(bits[:16] == 0)), float(np.sum(bits[8:] == 0)) + float(np.sum(bits[:8]))]

    late = played("igo", loss, space, 600)[-100:]
    drawn = played("random", loss, space, 100)
    assert late.sum(axis=1).mean() < drawn.sum(axis=1).mean() - 4


def test_igo_ranks_a_configuration_by_the_mean_of_its_outcomes() -> None:
    """A failure before or after does not count, nor what breaks a constraint."""
    place = {"x": 0.5, "y": 0.5}
    broken = Evaluation([90.0, 90.0], constraints={"c": 1.0})
    history = history_of(PLANE, [(place, each) for each in (failure("why"), [1.0, 5.0], broken, [3.0, 6.0])])
    log = ObservationLog()
    log.update(history)
    fingerprint = row_fingerprint(history.rows[0])
    np.testing.assert_allclose(log.mean_outcomes(fingerprint, 2), [1.0, 5.0])
    np.testing.assert_allclose(log.mean_outcomes(fingerprint, 3), [2.0, 5.5])


def test_thresholds_keep_the_search_inside() -> None:
    """Along the front, a and b are from 0 to 0.72; b is below 0.1 on a small part of it."""

    def share_inside(declared: Objectives) -> float:
        strategy, history, trials = resolve_strategy("gp"), evaluated(8, declared=declared), []
        for number in range(8, 20):
            row = strategy.suggest(PLANE, history, 1, Key(0, number))[0]
            trials.append(row)
            told = [(PLANE.codec.configuration(each), distances(each)) for each in [*evaluated(8).rows, *trials]]
            history = history_of(PLANE, told, declared)
        return float(np.mean(history.outcomes[10:, 1] < 0.12))

    assert share_inside(objectives(thresholds={"b": 0.1})) > 0.6 > share_inside(TWO)


@each
def test_thresholds_that_nothing_reaches_are_approached(name: str) -> None:
    history = evaluated(12, declared=objectives(thresholds={"a": -1.0, "b": -2.0}))
    rows = suggested(name, history, 3)
    assert_new(rows, history, 3)
    if name in MODELS:  # between the best trade-offs, rather than where the models know least
        assert np.abs(rows[:, 0] - rows[:, 1]).max() < 0.15
        assert np.all(np.abs(rows - 0.5) < 0.4)


def test_gradients_of_each_objective_are_worth_many_results() -> None:
    """Two quadratics that interact; fobo has their gradients."""
    matrix = np.array([[1, 0.7, 0, 0], [0.7, 1, 0, 0], [0, 0, 3, 1], [0, 0, 1, 1]])

    def values(x: Array) -> list[float]:
        return [float((x - place) @ matrix @ (x - place)) for place in (0.3, 0.7)]

    def with_gradients(x: Array) -> Evaluation:
        each = [dict(zip(CUBE.names, 2 * matrix @ (x - place), strict=True)) for place in (0.3, 0.7)]
        return Evaluation(values(x), gradient={"a": each[0], "b": each[1]})

    best = volume(np.array([values(np.full(4, place)) for place in np.linspace(0.3, 0.7, 500)]), 2.0)
    told = best - volume(played("fobo", with_gradients, CUBE, 10), 2.0)
    untold = min(best - volume(played("gp", values, CUBE, 10, seed=seed), 2.0) for seed in range(2))
    assert 0 < told < untold / 2


def test_one_objective_may_have_gradients_and_the_other_none() -> None:
    def loss(point: Array) -> Evaluation:
        gradient = dict(zip(PLANE.names, 2 * (point - 0.2), strict=True))
        return Evaluation(distances(point), gradient={"a": gradient})

    history = evaluated(10, loss)
    assert_new(suggested("fobo", history, 3), history, 3)
    assert not np.array_equal(suggested("fobo", history), suggested("fobo", evaluated(10)))
    np.testing.assert_array_equal(suggested("fobo", evaluated(10)), suggested("gp", evaluated(10)))
    np.testing.assert_array_equal(suggested("fobo", history), suggested("auto", history))


def test_random_trade_offs_need_no_gradient() -> None:
    count = 7

    def loss(point: Array) -> Evaluation:
        places = np.linspace(0.2, 0.8, count)
        gradients = {
            name: dict(zip(PLANE.names, 2 * (point - place), strict=True))
            for name, place in zip(NAMES, places, strict=False)
        }
        return Evaluation(distances(point, count), gradient=gradients)

    history = evaluated(10, loss, declared=objectives(count))
    without = evaluated(10, lambda point: distances(point, count), declared=objectives(count))
    np.testing.assert_array_equal(suggested("fobo", history), suggested("gp", without))


def test_noise_of_one_objective_changes_the_search() -> None:
    def told(**noise: float) -> History:
        return evaluated(12, lambda point: Evaluation(distances(point), noise=noise))

    quiet, noisy = suggested("gp", told()), suggested("gp", told(a=0.3))
    assert not np.allclose(quiet, noisy, atol=1e-3)
    assert not np.allclose(noisy, suggested("gp", told(b=0.3)), atol=1e-3)


def test_auto_begins_as_gp() -> None:
    np.testing.assert_array_equal(suggested("auto", history_of(PLANE), 4), suggested("gp", history_of(PLANE), 4))


# options


@pytest.mark.parametrize("name", ["log_ei", "ei", "pi", "ucb", "sr", "es"])
def test_every_acquisition_function_works(name: str) -> None:
    history = evaluated(10)
    strategy = sonde.GP(acquisition=name)
    assert_new(suggested(strategy, history, 2), history, 2)
    said = "hypervolume" if name in ("log_ei", "ei") else f"maximises {name} of random trade-offs"
    assert said in strategy.explain(PLANE, history)


@pytest.mark.parametrize(("count", "pending"), [(2, 0), (4, 1), (3, 5), (8, 0)])
def test_a_joint_batch_of_any_size(count: int, pending: int) -> None:
    history = evaluated(10)
    if pending:
        add_pending(history, np.random.default_rng(0).random((pending, 2)))
    greedy, joint = (suggested(sonde.GP(batch=batch), history, count) for batch in ("greedy", "joint"))
    assert_new(joint, history, count)
    assert np.array_equal(greedy, joint) or count + pending <= 5 or np.allclose(greedy, joint, atol=1e-4)


@pytest.mark.parametrize("search", ["adam", "random", "direct"])
def test_every_search_finds_a_promising_point(search: str) -> None:
    row = suggested(sonde.GP(search=search), evaluated(14))[0]
    assert np.abs(row[0] - row[1]) < 0.2


def test_thompson_sampling_draws_from_one_trade_off_for_a_batch() -> None:
    history, strategy = evaluated(14), sonde.DNGO(batch="thompson")
    rows = suggested(strategy, history, 8)
    assert_new(rows, history, 8)
    assert np.median(np.abs(rows[:, 0] - rows[:, 1])) < 0.2
    assert "functions drawn from the posterior of random trade-offs" in strategy.explain(PLANE, history)


@pytest.mark.parametrize("basis", ["networks", "radial"])
def test_any_basis_of_dngo(basis: str) -> None:
    history = evaluated(12)
    assert_new(suggested(sonde.DNGO(basis=basis), history, 2), history, 2)


def test_dngo_trains_its_networks_on_all_objectives_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes, train = [], adaptive.train
    monkeypatch.setattr(
        adaptive, "train", lambda *args, **options: shapes.append(args[2].shape) or train(*args, **options)
    )
    history = evaluated(20, lambda point: distances(point, 3), declared=objectives(3))
    assert_new(suggested(sonde.DNGO(basis="networks"), history, 2), history, 2)
    assert {shape[1:] for shape in shapes} == {(3,)}
    once = len(shapes)
    shapes.clear()
    suggested(sonde.DNGO(basis="networks", training="squares"), history)
    assert {len(shape) for shape in shapes} == {1}  # squared errors know one objective
    assert len(shapes) == 3 * once


def test_many_results_are_modelled_by_bases() -> None:
    history = evaluated(260, lambda point: [distances(point)[0], float(np.sign(point[0] - 0.3))])
    row = suggested("dngo", history)
    assert_new(row, history, 1)


def test_the_paper_of_fobo_has_one_objective() -> None:
    with pytest.raises(OptionError, match='strategy="fobo"'):
        suggested(sonde.FOBO.paper(), evaluated(3))


# finite spaces


def finite(values: Callable[[int, str], Any], declared: Objectives = TWO) -> History:
    trials = [(params, values(params["n"], params["kind"])) for params in FINITE.configurations()]
    return history_of(FINITE, trials, declared)


@each
@pytest.mark.parametrize("count", [2, 7])
def test_a_used_up_space_has_no_suggestion_without_noise(name: str, count: int) -> None:
    declared = objectives(count)
    trials = [(params, [float(params["n"])] * count) for params in FINITE.configurations()]
    history = history_of(FINITE, trials[:5], declared)
    assert_new(suggested(name, history, 10), history, 3)
    assert len(suggested(name, history_of(FINITE, trials, declared), 2)) == 0


@each
@pytest.mark.parametrize("count", [2, 7])
def test_with_noise_of_one_objective_a_used_up_space_is_repeated(name: str, count: int) -> None:
    declared = objectives(count)
    trials = [
        (params, Evaluation([float(params["n"])] * count, noise={"b": 0.1})) for params in FINITE.configurations()
    ]
    rows = suggested(name, history_of(FINITE, trials, declared), 6)
    assert len(rows) == 6
    assert all(FINITE.codec.configuration(row) in FINITE for row in rows)


def test_what_is_repeated_may_be_on_the_front() -> None:
    """The front is n = 1 to 3 of kind a."""

    def values(n: int, kind: str) -> Evaluation:
        return Evaluation([n, abs(n - 3) + 5 * (kind == "b" or n == 0)] if n else [5, 5], noise={"a": 1e-3})

    history = finite(values)
    rows = list(FINITE.rows())
    drawn = Counter(
        tuple(FINITE.codec.configuration(most_promising(history, rows, {}, np.random.default_rng(seed))).values())
        for seed in range(60)
    )
    assert set(drawn) == {(n, "a") for n in (1, 2, 3)}


# what a study says


@pytest.mark.parametrize("name", ["gp", "dngo", "fobo", "auto"])
def test_a_study_explains_and_predicts_each_objective(name: str) -> None:
    study = sonde.Study(PLANE, objectives={"cost": "minimize", "gain": "maximize"}, strategy=name, seed=0)
    assert "configurations" in study.explain()
    for x, y in np.random.default_rng(0).random((12, 2)):
        study.add_trials([{"params": {"x": x, "y": y}, "value": {"cost": x + y, "gain": 100 * x - 50 * y}}])
    said = study.explain()
    assert "cost, gain" in said
    assert "hypervolume" in said
    assert "gradient" not in said
    predicted = study.predict({"x": 0.5, "y": 0.25})
    assert set(predicted) == {"cost", "gain"}
    assert predicted["cost"].mean == pytest.approx(0.75, abs=0.05)
    assert predicted["gain"].mean == pytest.approx(37.5, abs=3)
    assert set(study.diagnose()) == {"cost", "gain"}


def test_gradients_are_named_in_explanations() -> None:
    history = evaluated(8, lambda point: Evaluation(distances(point), gradient={"b": dict.fromkeys(PLANE.names, 0.1)}))
    assert "hypervolume, with the gradients that were told" in resolve_strategy("fobo").explain(PLANE, history)
    assert "gradients were told" in resolve_strategy("auto").explain(PLANE, history)


def test_the_front_of_a_run_has_no_dominated_trial() -> None:
    outcomes = played("gp", distances, PLANE, 12)
    assert non_dominated(-outcomes).sum() > 4

"""Which trials are stopped, and which are not."""

import numpy as np
import pytest

from sonde.curves import Curve, CurveModel, PastTrial, should_stop
from sonde.curves.stopping import runs_to_end
from sonde.sampling import Key

STEPS = 30


def curves_of(kind, n, seed=0):
    """Return curves (n, STEPS), lower is better."""
    rng, steps = np.random.default_rng(seed), np.arange(1.0, STEPS + 1)
    ends = np.exp(0.5 * rng.standard_normal((n, 1)))
    if kind == "crossing":  # those that fall slowly end lower
        return ends + 3 * steps ** -(0.3 * ends)
    if kind == "uninformative":
        noise = np.exp(0.5 * rng.standard_normal((n, 1))) + 0.1 * rng.standard_normal((n, STEPS))
        return np.hstack([noise[:, :-1] + 3 / steps[:-1], ends])
    return ends + 3 / steps + 0.02 * rng.standard_normal((n, STEPS))


def curve_of(values, every=1):
    return Curve.of(list(enumerate(values, 1))[every - 1 :: every])


def ended(curves, stop_at=None):
    """Return past trials; the number of steps of those that were stopped is in ``stop_at``, 0 for others."""
    stop_at = np.zeros(len(curves), dtype=int) if stop_at is None else stop_at
    return [
        PastTrial(curve_of(values[:steps]), None) if steps else PastTrial(curve_of(values), float(values[-1]))
        for values, steps in zip(curves, stop_at, strict=True)
    ]


def key_of_one_that_may_be_stopped(model):
    return next(Key(0, number) for number in range(100) if not runs_to_end(model, Key(0, number)))


def first_stop(model, values, every=1):
    """Return the first step at which a trial is stopped; None if it never is."""
    key = key_of_one_that_may_be_stopped(model)
    for steps in range(every, len(values), every):
        if should_stop(model, curve_of(values[:steps], every), key):
            return steps
    return None


def first_stops(kind, n=60, new=200):
    """Return when new trials are stopped, and which of them end among the below all past ones."""
    past, running = curves_of(kind, n), curves_of(kind, new, seed=1)
    model = CurveModel(ended(past))
    return running, [first_stop(model, values) for values in running], best_of(past, running)


def best_of(past, running):
    best = np.flatnonzero(running[:, -1] < past[:, -1].min())
    assert len(best)
    return best


def test_bad_trials_are_stopped_early_and_the_best_are_not():
    running, stops, best = first_stops("informative")
    assert all(stops[i] is None for i in best)
    worse = np.flatnonzero(running[:, -1] > np.median(running[:, -1]))
    assert np.mean([stops[i] is not None and stops[i] <= STEPS // 3 for i in worse]) > 0.9


def test_where_curves_cross_the_best_are_not_stopped():
    running, stops, best = first_stops("crossing")
    assert np.median(running[best, 4]) > np.median(running[:, 4]) - 0.5  # they do not start as the best
    assert np.mean([stops[i] is None for i in best]) > 0.9
    assert sum(stop is not None for stop in stops) > 50


def test_where_curves_tell_nothing_hardly_any_is_stopped():
    _, stops, _ = first_stops("uninformative", n=100, new=100)
    assert sum(stop is not None for stop in stops) <= 3


@pytest.mark.parametrize("known", range(5))
def test_nothing_is_stopped_before_enough_trials_ended(known):
    model = CurveModel(ended(curves_of("informative", known)))
    assert not should_stop(model, curve_of([1e9, 1e9]), Key(0, 0))
    assert model.predict(curve_of([1e9])) is None


def test_a_running_trial_without_reports_goes_on():
    model = CurveModel(ended(curves_of("informative", 30)))
    assert not should_stop(model, Curve.of([]), Key(0, 99))
    assert model.predict(Curve.of([])) is None


def test_beyond_all_past_steps_nothing_is_stopped():
    model = CurveModel(ended(curves_of("informative", 30)))
    assert not should_stop(model, Curve.of([(STEPS + 1, 1e9)]), key_of_one_that_may_be_stopped(model))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_scale_and_shift_of_values_do_not_matter(scale):
    curves, running = curves_of("informative", 40), curves_of("informative", 8, seed=1)
    scaled = CurveModel(ended(scale * (curves - 2)))
    model = CurveModel(ended(curves))
    assert [first_stop(model, each) for each in running] == [first_stop(scaled, scale * (each - 2)) for each in running]
    plain = [model.predict(curve_of(each[:10])) for each in running]
    for one, each in zip(plain, running, strict=True):
        other = scaled.predict(curve_of(scale * (each[:10] - 2)))
        assert other.mean == pytest.approx(scale * (one.mean - 2), rel=1e-6, abs=1e-6 * scale)
        assert other.deviation == pytest.approx(scale * one.deviation, rel=1e-6)


def test_diverged_trials_are_stopped_and_do_not_disturb():
    curves = curves_of("informative", 40)
    curves[::4, 5:] = np.inf
    model = CurveModel(ended(curves))
    diverging = curves_of("informative", 1, seed=1)[0]
    diverging[8:] = np.nan
    assert first_stop(model, diverging) is not None
    good = curves[:, -1].min() - 0.15 + 3 / np.arange(1.0, STEPS + 1)
    assert first_stop(model, good) is None
    prediction = model.predict(curve_of(diverging[:12]))
    assert np.isfinite(prediction).all()


def test_where_all_diverged_nothing_is_known():
    model = CurveModel([PastTrial(curve_of([np.nan] * 5), np.nan) for _ in range(10)])
    assert model.predict(curve_of([np.inf])) is None
    assert not should_stop(model, curve_of([np.inf]), Key(0, 99))
    assert not should_stop(model, curve_of([1.0]), Key(0, 99))


def test_where_all_ends_are_equal_nothing_is_stopped():
    curves = curves_of("informative", 30)
    curves[:, -1] = 1.0
    assert first_stop(CurveModel(ended(curves)), np.full(STEPS, 9.0)) is None


def test_trials_may_report_at_steps_of_their_own():
    curves, running = curves_of("informative", 60), curves_of("informative", 100, seed=1)
    model = CurveModel([PastTrial(curve_of(v, 1 + i % 3), float(v[-1])) for i, v in enumerate(curves)])
    stops = [first_stop(model, values, every=2) for values in running]
    assert all(stops[i] is None for i in best_of(curves, running))
    assert sum(stop is not None for stop in stops) > 50


def test_the_curve_may_be_of_another_metric_than_the_final_value():
    curves, running = curves_of("informative", 60), curves_of("informative", 100, seed=1)
    model = CurveModel([PastTrial(curve_of(-v), 5 * float(v[-1]) - 1000) for v in curves])  # an accuracy: high is good
    stops = [first_stop(model, -values) for values in running]
    assert all(stops[i] is None for i in best_of(curves, running))
    assert sum(stop is not None for stop in stops) > 50


def test_predictions_are_close_to_the_final_values_and_say_how_close():
    curves, running = curves_of("informative", 200), curves_of("informative", 50, seed=1)
    model = CurveModel(ended(curves))
    predictions = [model.predict(curve_of(values[:10])) for values in running]
    errors = np.array([each.mean for each in predictions]) - running[:, -1]
    deviations = np.array([each.deviation for each in predictions])
    assert np.sqrt(np.mean(errors**2)) < 0.5 * running[:, -1].std()
    assert np.mean(np.abs(errors) < 3 * deviations) > 0.9


def test_what_stopped_trials_would_have_reached_is_counted():
    """Without their predictions, the model of early steps would see only trials that turned out well later on."""
    rng = np.random.default_rng(0)
    moves = rng.standard_normal((450, STEPS)) / STEPS**0.5
    curves = np.cumsum(moves, axis=1)
    past, running = curves[:400], curves[400:]
    stop_at = np.where((past[:, 14] > np.median(past[:, 14])) & (np.arange(400) % 20 > 0), 15, 0)
    trials = ended(past, stop_at)
    whole, model = CurveModel(ended(past)), CurveModel(trials)
    survivors = CurveModel([trial for trial in trials if trial.final is not None])

    def bias(other):
        curves_so_far = [curve_of(values[:2]) for values in running]
        return abs(np.mean([other.predict(curve).mean - whole.predict(curve).mean for curve in curves_so_far]))

    assert bias(model) < 0.5 * bias(survivors)


def test_some_trials_run_to_their_end_whatever_their_curves():
    model = CurveModel(ended(curves_of("informative", 40)))
    bad, keys = curve_of(np.full(10, 1e9)), [Key(3, number) for number in range(500)]
    going_on = [key for key in keys if not should_stop(model, bad, key)]
    assert going_on == [key for key in keys if runs_to_end(model, key)]
    assert 25 <= len(going_on) <= 80


def test_decisions_and_predictions_replay():
    past, running = ended(curves_of("informative", 40)), curves_of("informative", 10, seed=1)

    def decisions():
        model = CurveModel(past)
        return [
            (should_stop(model, curve_of(v[:k]), Key(1, i)), model.predict(curve_of(v[:k])))
            for i, v in enumerate(running)
            for k in (3, 9)
        ]

    assert decisions() == decisions()

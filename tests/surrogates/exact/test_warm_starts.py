from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.surrogates.models import MIXED, NUMBERS, units_of

from sonde.surrogates.exact import warm_starts as module
from sonde.surrogates.exact.warm_starts import FORMS, Data, WarmStartedFits, noisy_guess
from sonde.surrogates.features import Features
from sonde.surrogates.gaussian_process.estimates import ModelForm, first_guess, fit, log_posterior
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.outputs import Scale
from sonde.surrogates.priors import default_prior
from sonde.surrogates.refits import checkpoint

PLAIN = (ModelForm(None, None),)
BOTH = (ModelForm(None, None), ModelForm(0.1, "quadratic"))


def history(features: Features, count: int, seed: int = 0) -> Data:
    units = units_of(features, count, seed)
    values = np.sum((features(units) - 0.2) ** 2, axis=1)
    deviations = np.where(np.arange(count) % 3 == 0, 0.01, np.nan)
    return Data(units, values, deviations)


def same(one: module.Fit, other: module.Fit) -> bool:
    return one.form == other.form and one.covariance.theta.tobytes() == other.covariance.theta.tobytes()


def test_checkpoints() -> None:
    grid = sorted({checkpoint(count) for count in range(600)})
    quarters = [octave + octave // 4 * part for octave in (8, 16, 32, 64, 128) for part in range(4)]
    assert grid == [0, *quarters, *range(256, 512, 32), 512, 576]
    assert checkpoint(7) == 0
    assert checkpoint(100_000) == 65536 + 4 * 8192


def test_the_last_checkpoint_is_close_behind() -> None:
    for count in range(8, 5000):
        last = checkpoint(count)
        assert checkpoint(last) == last <= count < 1.25 * last
        assert count < 512 or count < 1.13 * last


@pytest.mark.parametrize("features", [NUMBERS, MIXED], ids=["numbers", "mixed"])
def test_fits_of_a_growing_history_equal_those_of_an_opened_one(features: Features) -> None:
    data = history(features, 26)
    grown = WarmStartedFits(BOTH)
    steps = {count: grown.fit(features, data.first(count)) for count in range(2, 27)}
    for count in (2, 7, 8, 11, 12, 15, 24, 26):
        opened = WarmStartedFits(BOTH).fit(features, data.first(count))
        assert same(opened, steps[count]), count


def test_without_follow_the_fit_is_that_of_the_last_checkpoint() -> None:
    data, fits = history(NUMBERS, 15), WarmStartedFits(BOTH)
    last = fits.fit(NUMBERS, data.first(14))
    assert fits.fit(NUMBERS, data, refine=False) is last
    assert not same(fits.fit(NUMBERS, data), last)
    few = fits.fit(NUMBERS, data.first(5), refine=False)
    assert same(few, fits.fit(NUMBERS, data.first(5)))


def test_noise_that_first_looked_like_signal_is_inferred() -> None:
    """The first values lie on a line. A search from their fit, without noise, would stay in that local optimum."""
    rng = np.random.default_rng(0)
    units = rng.random((32, 1))
    values = np.where(np.arange(32) < 8, units[:, 0], rng.normal(size=32))
    line, data = Features((0,)), Data(units, values, np.full(32, np.nan))
    fitted = WarmStartedFits(PLAIN).fit(line, data)
    x, y = line(units), Scale.of(values)(values)
    evidence, prior = Evidence.of_values(x, y, np.zeros(32)), default_prior(1)
    starts = [first_guess(line.groups), noisy_guess(line.groups)]
    others = [fit(start, prior, evidence, iterations=50)[1] for start in starts]
    got = log_posterior(fitted.covariance, prior, evidence)[0]
    assert got > max(others) - 0.05
    assert fitted.covariance.noise > 0.1


def test_long_histories_are_thinned_and_refitted_at_checkpoints_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REFINED", "COMPARED"):
        monkeypatch.setattr(module, name, 16)
    data = history(NUMBERS, 40)
    grown = WarmStartedFits(BOTH, fitted=24)
    steps = {count: grown.fit(NUMBERS, data.first(count)) for count in range(8, 41)}
    assert same(WarmStartedFits(BOTH, fitted=24).fit(NUMBERS, data), steps[40])
    for before, after in pairwise(range(17, 41)):  # beyond REFINED, hyperparameters change at checkpoints only
        assert same(steps[before], steps[after]) == (checkpoint(before) == checkpoint(after))


def test_thinned_data_are_evenly_spaced() -> None:
    data = history(NUMBERS, 50)
    assert all(np.array_equal(one, two, equal_nan=True) for one, two in zip(data.thinned(50), data, strict=True))
    chosen = [int(np.flatnonzero(data.values == value)[0]) for value in data.thinned(20).values]
    assert len(chosen) == 20
    assert (chosen[0], chosen[-1]) == (0, 49)
    assert set(np.diff(chosen)) == {2, 3}


def test_cached_fits_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    data, fits = history(NUMBERS, 16), WarmStartedFits(PLAIN)
    fitted = fits.fit(NUMBERS, data)
    monkeypatch.setattr(module, "fit", None)
    assert fits.fit(NUMBERS, data) is fitted
    assert fits.fit(NUMBERS, data.first(8)) is not fitted


def test_other_data_have_other_fits() -> None:
    data, fits = history(NUMBERS, 8), WarmStartedFits(PLAIN)
    one = fits.fit(NUMBERS, data)
    moved = Data(data.units, data.values[::-1].copy(), data.deviations)
    noisy = Data(data.units, data.values, np.full(8, 0.3))
    for other in (moved, noisy):
        assert not same(fits.fit(NUMBERS, other), one)
        assert same(fits.fit(NUMBERS, other), WarmStartedFits(PLAIN).fit(NUMBERS, other))


def test_the_cache_keeps_the_fits_used_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 3)
    fits = WarmStartedFits(PLAIN)
    histories = [history(NUMBERS, 8, seed) for seed in range(6)]
    first, second = (fits.fit(NUMBERS, each) for each in histories[:2])
    for each in histories:
        fits.fit(NUMBERS, each)
        assert fits.fit(NUMBERS, histories[0]) is first
    again = fits.fit(NUMBERS, histories[1])
    assert again is not second  # dropped, fitted again
    assert same(again, second)


def test_a_history_with_more_checkpoints_than_the_cache_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 1)
    data = history(NUMBERS, 30)
    assert same(WarmStartedFits(PLAIN).fit(NUMBERS, data), WarmStartedFits(PLAIN).fit(NUMBERS, data))


@pytest.mark.parametrize("count", [16, 40])
def test_values_over_decades_are_modelled_by_their_logarithm(count: int) -> None:
    units = units_of(NUMBERS, count)
    values = 10 ** (6 * np.sum((units - 0.4) ** 2, axis=1) / 0.72)
    fitted = WarmStartedFits().fit(NUMBERS, Data(units, values, np.full(count, np.nan)))
    assert fitted.kappa is not None


@pytest.mark.parametrize("count", [16, 40])
def test_values_of_one_magnitude_keep_their_scale(count: int) -> None:
    units = units_of(NUMBERS, count)
    values = np.sin(5 * units[:, 0]) + np.cos(4 * units[:, 1])
    fitted = WarmStartedFits().fit(NUMBERS, Data(units, values, np.full(count, np.nan)))
    assert fitted.kappa is None


def test_a_mirrored_loss_is_not_modelled_by_its_logarithm() -> None:
    """The logarithm compresses large losses; it does not help where the good values range over decades."""
    units = units_of(NUMBERS, 24)
    values = -(10 ** (6 * np.sum((units - 0.4) ** 2, axis=1) / 0.72))
    fitted = WarmStartedFits().fit(NUMBERS, Data(units, values, np.full(24, np.nan)))
    assert fitted.kappa is None


def test_there_is_a_fit_before_the_first_checkpoint() -> None:
    for count in range(1, 8):
        fitted = WarmStartedFits().fit(NUMBERS, history(NUMBERS, count))
        assert fitted.form == FORMS[0]
        assert np.all(np.isfinite(fitted.covariance.theta))


@pytest.mark.parametrize("values", [np.full(9, 3.0), np.array([1e300, -1e300] * 4 + [0.0]), np.eye(9)[0] * 1e-300],
                         ids=["constant", "huge", "tiny"])  # fmt: skip
def test_degenerate_values_have_fits(values: np.ndarray) -> None:
    fitted = WarmStartedFits().fit(NUMBERS, Data(units_of(NUMBERS, 9), values, np.full(9, np.nan)))
    assert np.all(np.isfinite(fitted.covariance.theta))


def test_inputs_are_warped_only_where_their_scale_is_wrong() -> None:
    units = units_of(NUMBERS, 24)
    deviations = np.full(24, np.nan)
    wrong = np.sum((np.log10(1e-3 + units) + 1.5) ** 2, axis=1)
    right = np.sum((units - 0.4) ** 2, axis=1)
    assert WarmStartedFits().fit(NUMBERS, Data(units, right, deviations), refine=False).features == NUMBERS
    fitted = WarmStartedFits().fit(NUMBERS, Data(units, wrong, deviations), refine=False)
    assert fitted.features.warp
    assert max(fitted.features.warp[:2]) < 0  # stretched near 0

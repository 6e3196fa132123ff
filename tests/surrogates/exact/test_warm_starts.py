from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.surrogates.models import MIXED, NUMBERS, units_of

from sonde.surrogates.exact import warm_starts as module
from sonde.surrogates.exact.fitting import fit, log_posterior, noisy_guess
from sonde.surrogates.exact.warm_starts import FORMS, Data, ModelForm, WarmStartedFits
from sonde.surrogates.features import Features
from sonde.surrogates.outputs import Scale
from sonde.surrogates.priors import default_prior
from sonde.surrogates.refits import checkpoint

PLAIN = (ModelForm(None, False),)
BOTH = (ModelForm(None, False), ModelForm(0.1, True))


def history(features: Features, count: int, seed: int = 0) -> Data:
    units = units_of(features, count, seed)
    values = np.sum((features(units) - 0.2) ** 2, axis=1)
    deviations = np.where(np.arange(count) % 3 == 0, 0.01, np.nan)
    return Data(units, values, deviations)


def same(one: module.Fit, other: module.Fit) -> bool:
    return one.form == other.form and one.covariance.theta.tobytes() == other.covariance.theta.tobytes()


def test_the_grid_of_checkpoints() -> None:
    grid = sorted({checkpoint(count) for count in range(600)})
    quarters = [octave + octave // 4 * part for octave in (8, 16, 32, 64, 128) for part in range(4)]
    assert grid == [0, *quarters, *range(256, 512, 32), 512, 576]
    assert checkpoint(7) == 0
    assert checkpoint(100_000) == 65536 + 4 * 8192


def test_a_checkpoint_is_never_ahead_and_never_far_behind() -> None:
    for count in range(8, 5000):
        last = checkpoint(count)
        assert checkpoint(last) == last <= count < 1.25 * last
        assert count < 512 or count < 1.13 * last


@pytest.mark.parametrize("features", [NUMBERS, MIXED], ids=["numbers", "mixed"])
def test_a_chain_that_grew_is_one_that_was_opened(features: Features) -> None:
    data = history(features, 26)
    grown = WarmStartedFits(BOTH)
    steps = {count: grown.fit(features, data.first(count)) for count in range(2, 27)}
    for count in (2, 7, 8, 11, 12, 15, 24, 26):
        opened = WarmStartedFits(BOTH).fit(features, data.first(count))
        assert same(opened, steps[count]), count


def test_without_following_it_is_the_last_checkpoint() -> None:
    data, chain = history(NUMBERS, 15), WarmStartedFits(BOTH)
    last = chain.fit(NUMBERS, data.first(14))
    assert chain.fit(NUMBERS, data, follow=False) is last
    assert not same(chain.fit(NUMBERS, data), last)
    few = chain.fit(NUMBERS, data.first(5), follow=False)
    assert same(few, chain.fit(NUMBERS, data.first(5)))


def test_noise_that_looked_like_signal_is_found_out() -> None:
    """The first values lie on a line; a climb from their fit, without noise, would stay there."""
    rng = np.random.default_rng(0)
    units = rng.random((32, 1))
    values = np.where(np.arange(32) < 8, units[:, 0], rng.normal(size=32))
    line, data = Features((0,)), Data(units, values, np.full(32, np.nan))
    fitted = WarmStartedFits(PLAIN).fit(line, data)
    x, y = line(units), Scale.of(values)(values)
    starts = [None, noisy_guess(line.groups).theta]
    others = [fit(line.groups, x, y, np.zeros(32), start=start)[1] for start in starts]
    got = log_posterior(fitted.covariance, default_prior(1), x, y, np.zeros(32))[0]
    assert got > max(others) - 0.05
    assert fitted.covariance.noise > 0.1


def test_long_histories_are_thinned_and_followed_less(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FOLLOWED", "COMPARED"):
        monkeypatch.setattr(module, name, 16)
    data = history(NUMBERS, 40)
    grown = WarmStartedFits(BOTH, fitted=24)
    steps = {count: grown.fit(NUMBERS, data.first(count)) for count in range(8, 41)}
    assert same(WarmStartedFits(BOTH, fitted=24).fit(NUMBERS, data), steps[40])
    for before, after in pairwise(range(17, 41)):  # beyond what is followed, it changes at checkpoints alone
        assert same(steps[before], steps[after]) == (checkpoint(before) == checkpoint(after))


def test_evenly_chosen_data_have_no_gaps_and_no_repeats() -> None:
    data = history(NUMBERS, 50)
    assert all(np.array_equal(one, two, equal_nan=True) for one, two in zip(data.thinned(50), data, strict=True))
    chosen = [int(np.flatnonzero(data.values == value)[0]) for value in data.thinned(20).values]
    assert len(chosen) == 20
    assert (chosen[0], chosen[-1]) == (0, 49)
    assert set(np.diff(chosen)) == {2, 3}


def test_what_is_known_is_not_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    data, chain = history(NUMBERS, 16), WarmStartedFits(PLAIN)
    fitted = chain.fit(NUMBERS, data)
    monkeypatch.setattr(module, "fit", None)
    assert chain.fit(NUMBERS, data) is fitted
    assert chain.fit(NUMBERS, data.first(8)) is not fitted


def test_other_data_have_other_fits() -> None:
    data, chain = history(NUMBERS, 8), WarmStartedFits(PLAIN)
    one = chain.fit(NUMBERS, data)
    moved = Data(data.units, data.values[::-1].copy(), data.deviations)
    noisy = Data(data.units, data.values, np.full(8, 0.3))
    for other in (moved, noisy):
        assert not same(chain.fit(NUMBERS, other), one)
        assert same(chain.fit(NUMBERS, other), WarmStartedFits(PLAIN).fit(NUMBERS, other))


def test_few_fits_are_kept_the_last_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 3)
    chain = WarmStartedFits(PLAIN)
    histories = [history(NUMBERS, 8, seed) for seed in range(6)]
    first = chain.fit(NUMBERS, histories[0])
    for each in histories:
        chain.fit(NUMBERS, each)
        assert chain.fit(NUMBERS, histories[0]) is first
        assert len(chain._fits) <= 3
    assert same(
        chain.fit(NUMBERS, histories[1]), WarmStartedFits(PLAIN).fit(NUMBERS, histories[1])
    )  # forgotten, found again


def test_a_history_with_more_checkpoints_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 1)
    data = history(NUMBERS, 30)
    assert same(WarmStartedFits(PLAIN).fit(NUMBERS, data), WarmStartedFits(PLAIN).fit(NUMBERS, data))


@pytest.mark.parametrize("count", [16, 40])
def test_decades_are_modelled_by_their_logarithm(count: int) -> None:
    units = units_of(NUMBERS, count)
    values = 10 ** (6 * np.sum((units - 0.4) ** 2, axis=1) / 0.72)
    fitted = WarmStartedFits().fit(NUMBERS, Data(units, values, np.full(count, np.nan)))
    assert fitted.kappa is not None


@pytest.mark.parametrize("count", [16, 40])
def test_tame_values_are_left_as_they_are(count: int) -> None:
    units = units_of(NUMBERS, count)
    values = np.sin(5 * units[:, 0]) + np.cos(4 * units[:, 1])
    fitted = WarmStartedFits().fit(NUMBERS, Data(units, values, np.full(count, np.nan)))
    assert fitted.kappa is None


def test_a_mirrored_loss_is_not_modelled_by_its_logarithm() -> None:
    """Decades towards the bad side are a slope in the logarithm; decades towards the good side are not."""
    units = units_of(NUMBERS, 24)
    values = -(10 ** (6 * np.sum((units - 0.4) ** 2, axis=1) / 0.72))
    fitted = WarmStartedFits().fit(NUMBERS, Data(units, values, np.full(24, np.nan)))
    assert fitted.kappa is None


def test_before_the_first_checkpoint_there_is_a_fit_too() -> None:
    for count in range(1, 8):
        fitted = WarmStartedFits().fit(NUMBERS, history(NUMBERS, count))
        assert fitted.form == FORMS[0]
        assert np.all(np.isfinite(fitted.covariance.theta))


@pytest.mark.parametrize("values", [np.full(9, 3.0), np.array([1e300, -1e300] * 4 + [0.0]), np.eye(9)[0] * 1e-300],
                         ids=["constant", "huge", "tiny"])  # fmt: skip
def test_odd_values_have_fits(values: np.ndarray) -> None:
    fitted = WarmStartedFits().fit(NUMBERS, Data(units_of(NUMBERS, 9), values, np.full(9, np.nan)))
    assert np.all(np.isfinite(fitted.covariance.theta))


def test_a_parameter_on_the_wrong_scale_is_warped_and_one_on_the_right_scale_is_not() -> None:
    units = units_of(NUMBERS, 24)
    told = np.full(24, np.nan)
    wrong = np.sum((np.log10(1e-3 + units) + 1.5) ** 2, axis=1)
    right = np.sum((units - 0.4) ** 2, axis=1)
    assert WarmStartedFits().fit(NUMBERS, Data(units, right, told), follow=False).features == NUMBERS
    fitted = WarmStartedFits().fit(NUMBERS, Data(units, wrong, told), follow=False)
    assert fitted.features.warp
    assert max(fitted.features.warp[:2]) < 0  # stretched near 0

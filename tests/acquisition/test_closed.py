from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from tests.space.spaces import examples

from sonde.acquisition.closed import BETA, FORMULAS, log_h

UTILITIES: dict[str, Callable[[float, float], float]] = {
    "ei": lambda y, best: max(y - best, 0.0),
    "pi": lambda y, best: float(y > best),
    "sr": lambda y, best: y,
}
POSTERIORS = [(0.3, 1.2, 0.1), (-1.0, 0.5, 0.4), (2.0, 0.1, 1.9), (0.0, 2.0, -3.0), (-1.5, 0.7, 1.0)]


def at(name: str, *inputs: float) -> tuple[float, float, float]:
    value, mean_gradient, deviation_gradient = FORMULAS[name](*(np.array([number]) for number in inputs))
    return float(value[0]), float(mean_gradient[0]), float(deviation_gradient[0])


@pytest.mark.parametrize("inputs", POSTERIORS)
@pytest.mark.parametrize("name", UTILITIES)
def test_closed_form_is_the_expected_utility(name: str, inputs: tuple[float, float, float]) -> None:
    mean, deviation, best = inputs

    def integrand(z: float) -> float:
        return UTILITIES[name](mean + deviation * z, best) * float(norm.pdf(z))

    kink = (best - mean) / deviation
    expected, _ = quad(integrand, -12, 12, points=[kink], epsabs=1e-13)
    assert at(name, *inputs)[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_upper_confidence_bound() -> None:
    assert at("ucb", 0.3, 1.2, 0.1)[0] == pytest.approx(0.3 + np.sqrt(BETA) * 1.2)


@pytest.mark.parametrize(("log", "plain"), [("log_ei", "ei"), ("log_pi", "pi")])
@examples(50)
@given(z=st.floats(-35, 1e6), deviation=st.floats(1e-6, 1e3))
def test_log_forms_are_logarithms(log: str, plain: str, z: float, deviation: float) -> None:
    value = at(plain, z * deviation, deviation, 0.0)[0]
    assert at(log, z * deviation, deviation, 0.0)[0] == pytest.approx(np.log(value), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("inputs", POSTERIORS)
@pytest.mark.parametrize("name", FORMULAS)
def test_gradients_match_finite_differences(name: str, inputs: tuple[float, float, float]) -> None:
    mean, deviation, best = inputs
    _, mean_gradient, deviation_gradient = at(name, *inputs)
    step = 1e-6
    in_mean = (at(name, mean + step, deviation, best)[0] - at(name, mean - step, deviation, best)[0]) / (2 * step)
    in_deviation = (at(name, mean, deviation + step, best)[0] - at(name, mean, deviation - step, best)[0]) / (2 * step)
    assert mean_gradient == pytest.approx(in_mean, rel=1e-6, abs=1e-8)
    assert deviation_gradient == pytest.approx(in_deviation, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", FORMULAS)
@examples(50)
@given(z=st.floats(-1e8, 1e8), deviation=st.floats(1e-6, 1e3))
def test_values_and_gradients_are_finite_everywhere(name: str, z: float, deviation: float) -> None:
    assert np.all(np.isfinite(at(name, z * deviation, deviation, 0.0)))


@pytest.mark.parametrize("name", ["log_ei", "log_pi"])
@pytest.mark.parametrize("z", [-1e8, -1e5, -1001.0, -999.0, -100.0, -1.01, -0.99, 0.0, 5.0])
def test_gradients_of_logarithms_never_vanish(name: str, z: float) -> None:
    _, mean_gradient, deviation_gradient = at(name, z, 1.0, 0.0)
    assert mean_gradient > 0
    assert z > -1 or deviation_gradient > 0


def series(z: float) -> float:
    """log h(z) far below zero: phi(z) / z^2 (1 - 3 / z^2 + 15 / z^4 - 105 / z^6 + 945 / z^8 ...)."""
    w = 1 / z**2
    return -0.5 * z * z - 0.5 * np.log(2 * np.pi) + np.log(w) + np.log1p(-3 * w + 15 * w**2 - 105 * w**3 + 945 * w**4)


@pytest.mark.parametrize("z", [-50.0, -300.0, -999.9, -1000.1, -1e4, -1e6, -1e8])
def test_tail_of_log_h(z: float) -> None:
    assert log_h(np.array(z)) == pytest.approx(series(z), rel=1e-11)


@pytest.mark.parametrize("seam", [-1.0, -1000.0])
def test_log_h_is_continuous_where_its_formulas_meet(seam: float) -> None:
    below, above = log_h(np.array([seam * (1 + 1e-9), seam * (1 - 1e-9)]))
    assert above >= below
    assert above - below < 1e-5 + 3e-9 * seam**2


@pytest.mark.parametrize("z", [-1e2, -1e4, -1e6, -1e8])
def test_gradients_far_below_the_incumbent(z: float) -> None:
    """There, log EI is -z^2 / 2 - 2 log |z|: with deviation 1, its gradients are |z| + 2 / |z| and z^2 + 3."""
    _, mean_gradient, deviation_gradient = at("log_ei", z, 1.0, 0.0)
    assert mean_gradient == pytest.approx(-z - 2 / z, rel=1e-3)
    assert deviation_gradient == pytest.approx(z * z + 3, rel=1e-3)
    _, mean_gradient, deviation_gradient = at("log_pi", z, 1.0, 0.0)
    assert mean_gradient == pytest.approx(-z - 1 / z, rel=1e-3)
    assert deviation_gradient == pytest.approx(z * z + 1, rel=1e-3)

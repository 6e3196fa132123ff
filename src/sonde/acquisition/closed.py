"""Acquisition functions of one point whose posterior is N(mean, deviation^2), in closed form.

Each is a row of ``FORMULAS``: a function of (mean, deviation, best) that returns its value and its derivatives in mean
and deviation. ``best`` is the incumbent's value; higher is better. With z = (mean - best) / deviation, and phi and Phi
the normal density and distribution function:

EI = deviation h(z), h(z) = phi(z) + z Phi(z);  PI = Phi(z);  UCB = mean + sqrt(beta) deviation.

Where EI is small it underflows and its gradient vanishes; that of its logarithm does not (Ament et al. 2023). So log EI
is the default.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from sonde.arrays import Array

Formula = Callable[[Array, Array, Array], tuple[Array, Array, Array]]

BETA = np.sqrt(3.0)  # of the upper confidence bound, as in the experiments of Wilson et al. (2017)
_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)
_FAR = -1e3  # below, phi(z) / z^2 equals h(z) to six digits, and the difference 1 - t has fewer digits


def log_h(z: Array) -> Array:
    """Return log h(z) = log(phi(z) + z Phi(z)), with a few digits less than a float's for any z."""
    near = np.maximum(z, -1.0)
    close = np.log(np.exp(-0.5 * near * near - _LOG_ROOT_2PI) + near * ndtr(near))
    # phi(z) (1 - t), with t = |z| Phi(z) / phi(z) = |z| sqrt(pi / 2) erfcx(|z| / sqrt2) from below 1
    away = np.clip(z, _FAR, -1.0)
    tail = np.log(-np.expm1(np.log(-away * np.sqrt(np.pi / 2) * erfcx(-away / np.sqrt(2.0)))))
    tail = np.where(z < _FAR, -2 * np.log(np.maximum(-z, 1.0)), tail)
    return np.where(z > -1.0, close, -0.5 * z * z - _LOG_ROOT_2PI + tail)


def h(z: Array) -> Array:
    """Return h(z) = phi(z) + z Phi(z), for z that are not far below zero."""
    return np.asarray(np.exp(-0.5 * z * z - _LOG_ROOT_2PI) + z * ndtr(z))


def log_h_far(z: Array) -> Array:
    """Return the leading term of log h(z) for z far below zero: that of phi(z) / z^2."""
    return np.asarray(-0.5 * z * z - _LOG_ROOT_2PI - 2 * np.log(-z))


def mills(z: Array) -> Array:
    """Return phi(z) / Phi(z), the inverse Mills ratio, for any z."""
    return np.sqrt(2 / np.pi) / erfcx(-z / np.sqrt(2.0))


def log_expected_improvement(mean: Array, deviation: Array, best: Array) -> tuple[Array, Array, Array]:
    """Return log EI, with d / d mean = Phi / (deviation h) and d / d deviation = phi / (deviation h)."""
    z = (mean - best) / deviation
    h, near = log_h(z), np.maximum(z, _FAR)
    near_h = log_h(near)
    # Below _FAR, asymptotes stand for Phi / h and phi / h: the difference of their logarithms has no digits left.
    in_mean = np.where(z > _FAR, np.exp(log_ndtr(near) - near_h), -z - 2 / np.minimum(z, -1.0))
    in_deviation = np.where(z > _FAR, np.exp(-0.5 * near * near - _LOG_ROOT_2PI - near_h), z * z + 3)
    return np.log(deviation) + h, in_mean / deviation, in_deviation / deviation


def expected_improvement(mean: Array, deviation: Array, best: Array) -> tuple[Array, Array, Array]:
    """Return EI; its derivatives are Phi and phi."""
    z = (mean - best) / deviation
    return deviation * np.exp(log_h(z)), ndtr(z), np.exp(-0.5 * z * z - _LOG_ROOT_2PI)


def probability_of_improvement(mean: Array, deviation: Array, best: Array) -> tuple[Array, Array, Array]:
    """Return the probability of improvement, Phi(z)."""
    z = (mean - best) / deviation
    in_mean = np.exp(-0.5 * z * z - _LOG_ROOT_2PI) / deviation
    return ndtr(z), in_mean, -z * in_mean


def log_probability_of_improvement(mean: Array, deviation: Array, best: Array) -> tuple[Array, Array, Array]:
    """Return the logarithm of the probability of improvement."""
    z = (mean - best) / deviation
    in_mean = mills(z) / deviation
    return log_ndtr(z), in_mean, -z * in_mean


def upper_confidence_bound(mean: Array, deviation: Array, best: Array) -> tuple[Array, Array, Array]:
    """Return mean + sqrt(beta) deviation."""
    one = np.ones_like(mean)
    return mean + np.sqrt(BETA) * deviation, one, np.sqrt(BETA) * one


def simple_regret(mean: Array, deviation: Array, best: Array) -> tuple[Array, Array, Array]:
    """Return the mean."""
    return mean, np.ones_like(mean), np.zeros_like(mean)


FORMULAS: dict[str, Formula] = {
    "log_ei": log_expected_improvement,
    "ei": expected_improvement,
    "log_pi": log_probability_of_improvement,
    "pi": probability_of_improvement,
    "ucb": upper_confidence_bound,
    "sr": simple_regret,
}

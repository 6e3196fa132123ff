"""Seconds of one evaluation of the log evidence and its gradient: values alone, and the way of values and gradients.

``OMP_NUM_THREADS=1 python -m benchmarks.values_only`` writes ``results/values_only.csv``. Both ways compute the same
numbers from the same values: ``ValueMatrix`` needs s f and its first derivative, ``GradientMatrix`` three derivatives
and the sums over gradients, of which there are none here. The smallest of ``REPEATS`` means, in CPU time.
"""

from time import process_time
from unittest.mock import patch

import numpy as np

from benchmarks.machine import use_one_core
from benchmarks.records import append
from benchmarks.report import RESULTS
from sonde.surrogates.gaussian_process import covariance as module
from sonde.surrogates.gaussian_process.covariance import Covariance
from sonde.surrogates.gaussian_process.derivatives import GradientMatrix
from sonde.surrogates.gaussian_process.estimates import first_guess
from sonde.surrogates.gaussian_process.marginal_likelihood import Evidence
from sonde.surrogates.gaussian_process.observations import ObservationLayout

PATH = RESULTS / "values_only.csv"
REPEATS, CALLS = 7, {20: 200, 100: 40, 256: 10}


def general_matrix(covariance: Covariance, layout: ObservationLayout) -> GradientMatrix:
    """Return the matrix by the way of values and gradients."""
    return GradientMatrix(layout, covariance.roots, covariance.isotropic(layout.x, layout.x, 3))


def seconds(evidence: Evidence, covariance: Covariance, calls: int) -> float:
    """Return the CPU time of one evaluation."""
    means = []
    for _ in range(REPEATS):
        begin = process_time()
        for _ in range(calls):
            evidence(covariance)
        means.append((process_time() - begin) / calls)
    return min(means)


def main() -> None:
    use_one_core()
    PATH.unlink(missing_ok=True)
    for n, calls in CALLS.items():
        for d in (2, 10, 20):
            rng, covariance = np.random.default_rng(0), first_guess(np.arange(d), "quadratic")
            evidence = Evidence.of_values(rng.random((n, d)) - 0.5, rng.normal(size=n), np.zeros(n))
            values = seconds(evidence, covariance, calls)
            with patch.object(module, "stationary_matrix", general_matrix):
                general = seconds(evidence, covariance, calls)
            row = {"n": n, "d": d, "values": f"{values:.6f}", "values and gradients": f"{general:.6f}"}
            append(PATH, {**row, "ratio": f"{general / values:.2f}"})
            print(row, f"{general / values:.2f}")


if __name__ == "__main__":
    main()

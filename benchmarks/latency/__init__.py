"""Seconds per suggestion, beside Optuna's and BoTorch's Gaussian processes in the same run, on Hartmann6.

A *tool* is a generator that yields a batch of points and is sent their values, so that one step of it is a tell, a fit
and a search. ``timing`` steps several in turn, ``values`` compares what their searches reach under one model, ``fresh``
starts processes of its own. ``python -m benchmarks.latency`` runs the parts and draws them.
"""

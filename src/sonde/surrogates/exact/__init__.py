"""The Gaussian process on values: fits of its hyperparameters, and the probability that a configuration is feasible.

``warm_starts`` fits along a growing history, ``warped`` fits an input warp as well, and ``feasibility`` uses posteriors
of failures and of measured constraints.
"""

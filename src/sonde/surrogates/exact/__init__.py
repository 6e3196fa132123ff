"""The exact Gaussian process on values.

``covariance`` is the kernel, ``marginal_likelihood`` scores hyperparameters, ``fitting`` finds or samples them,
``warm_starts`` does so along a growing history, ``gp`` is the posterior that follows, and ``feasibility`` uses such
posteriors for the probability that a configuration is feasible.
"""

"""Bayesian optimization: a model of the objective, an acquisition function, and the search for its maximum."""

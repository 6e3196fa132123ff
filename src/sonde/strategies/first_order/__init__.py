"""First-order Bayesian optimization: a model of values and gradients, and local searches from many starts."""

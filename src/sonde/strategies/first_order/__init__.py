"""First-order Bayesian optimization: a Gaussian process on values and gradients, and multi-start local searches."""

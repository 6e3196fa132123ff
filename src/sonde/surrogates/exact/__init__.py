"""The exact Gaussian process on values: covariance, marginal likelihood, fits of its hyperparameters."""

"""Surrogate models: a posterior over the objective's values, from a few observations.

``port`` says what every posterior answers. ``features`` maps points of the unit cube to a Euclidean space, ``outputs``
standardizes the values, ``priors`` holds the priors of the hyperparameters and ``refits`` the schedule of fits.
``gaussian_process`` is the Gaussian process on values and derivatives; ``exact`` fits it to values, ``gradient`` to
values and gradients, and ``kernel`` under a kernel of the user's. ``basis`` is Bayesian linear regression on the
features of a network.

Arrays in, arrays out. Derivatives are in closed form: every posterior has a ``vjp`` (vector-Jacobian product) that
turns gradients in its means and variances into gradients in its points.
"""

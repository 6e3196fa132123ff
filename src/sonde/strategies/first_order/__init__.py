"""First-order Bayesian optimization: a Gaussian process on values and gradients, and multi-start local searches.

``fobo`` assembles a model of values and gradients (``gradient_model``), a schedule of global and local trials
(``schedule``) and the search of ``bayesian``.
"""

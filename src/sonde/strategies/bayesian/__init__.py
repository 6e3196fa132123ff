"""Bayesian optimization: a strategy has a model, a schedule that returns targets, and one search.

The model fits a surrogate to the history (``exact_model``, ``basis_model``). The schedule decides in which box its
acquisition function is maximised (``schedule``). The search finds the maxima (``search``). ``port`` has the interfaces,
``loop`` runs the parts in turn; ``gp`` and ``dngo`` assemble them. ``paper_dngo`` is the method of a paper, with its
model (``paper_model``) and its acquisition function (``integrated_improvement``).
"""

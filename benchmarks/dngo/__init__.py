"""Benchmarks of DNGO (Snoek et al. 2015): Bayesian linear regression on the features of networks.

A *task* is one row of a table of the paper: a problem of the arena, its number of evaluations, and the result of the
paper. A *contender* runs a task with a seed and returns the values it observed, in order. ``table1`` adds missing runs
and draws all runs.

References
----------
Snoek et al., Scalable Bayesian Optimization Using Deep Neural Networks, ICML 2015.
Eggensperger et al., Towards an Empirical Foundation for Assessing Bayesian Optimization of Hyperparameters, 2013.
"""

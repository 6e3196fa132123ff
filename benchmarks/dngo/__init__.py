"""Measurements of paper 001 (Snoek et al. 2015, DNGO): a network's features under a Bayesian linear model.

A *task* is one row of a table of the paper: a problem of the arena, how often it may be evaluated, and what the paper
says was found. A *contender* plays a task with a seed and leaves the values it saw, in order. ``table1`` adds the runs
that are missing, and draws what is there.

References
----------
Snoek et al., Scalable Bayesian Optimization Using Deep Neural Networks, ICML 2015.
Eggensperger et al., Towards an Empirical Foundation for Assessing Bayesian Optimization of Hyperparameters, 2013.
"""

"""Surrogates that are linear in their basis functions, fitted in time linear in the observations (Snoek et al. 2015).

A basis phi(x) is the last hidden layer of trained networks (``networks``, ``training``, ``adaptive``) or radial basis
functions centred on observations (``radial``). Bayesian linear regression on phi (``regression``) gives the posterior
(``posterior``) of f(x) = phi(x)^T w. ``classifier`` predicts failures by Bayesian logistic regression on the same kind
of basis. ``single_network`` is the surrogate as the paper has it.

Symbols in this package: n observations (rows of a table), p features of a point, M networks, H units of a hidden layer,
D basis functions, B rows of a minibatch, m points at which a posterior is evaluated, q points of a batch, s fantasies.
"""

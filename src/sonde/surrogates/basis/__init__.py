"""Bayesian linear regression on basis functions: hidden layers of networks, or radial units (Snoek et al. 2015)."""

"""Stochastic natural gradient on distributions over discrete spaces (Nishida et al. 2018)."""

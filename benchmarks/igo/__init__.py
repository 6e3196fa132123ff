"""Searches over bits, compared on problems written elsewhere.

A *problem* is one of IOH's 25 pseudo-Boolean functions of n bits, to be maximised. A *contender* is a function of
(problem, n, calls, seed) that returns the values it saw, in their order.
"""

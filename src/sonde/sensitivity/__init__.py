"""Sensitivity analysis: how much of a function's variance each of its inputs explains.

``sobol_indices`` has the estimators: a design of points at which the function is evaluated, and the indices of its
values there. It knows arrays only.
"""

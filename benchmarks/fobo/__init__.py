"""Measurements of paper 002 (Ament & Gomes 2022), section 4.3: optimization with gradients.

A *function* is a test function on [-1, 1]^d with its gradient, its values in [0, 1] and its optimum, 0, at 1/4 in every
coordinate. A *method* evaluates an objective, a function with a budget, until it raises ``Spent``; what is kept of a
run is the best value so far. ``figure5`` adds the runs that are missing, and draws what is there.

References
----------
Ament & Gomes, Scalable First-Order Bayesian Optimization via Structured Automatic Differentiation, ICML 2022.
"""

"""Bridges to other people's libraries: thin, no algorithms. Each library is loaded when its bridge is first crossed.

``autograd`` is the user's side of automatic differentiation: which parameters are differentiated, and what is told of
them. ``by_jax`` and ``by_torch`` do it, each with what its library is best at; ``derivatives`` is what they hand over.
"""

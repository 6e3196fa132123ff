"""Optimizers compared on problems written elsewhere, each with the same small number of evaluations.

A *problem* is a box of floats and integers with a function on it. A *contender* is an optimizer behind one signature:
a problem, a budget and a seed give the values it saw, in order. A *record* is the best of them so far, one line of a
file. ``run`` adds the records that are missing; ``table`` ranks them.
"""

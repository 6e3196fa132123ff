"""Optimizers compared on problems written elsewhere, each with the same small number of evaluations.

A *problem* is a space with a function on it. A *contender* is an optimizer behind one signature: a problem, a budget
and a seed give the scores of what it evaluated, in order. A *record* is the best of them so far, one line of a file.

``suites`` says where problems come from and which are for development, which for the report; ``run`` adds the records
that are missing, ``plan`` all of them in order; ``table`` ranks them. ``LOG.md`` has what was tried.
"""

"""Natural gradient (Nishida et al. 2018): the figures of the paper, and the strategy on IOH's benchmark problems.

``hitting_time`` has figures 1 and 4, ``structure`` figures 2 and 3, ``pseudo_boolean`` IOH's 25 problems against other
searches, ``switch`` the threshold of ``auto``. In ``pseudo_boolean`` a *problem* is a function of n bits, to be
maximised, and a *contender* is a function of (problem, n, calls, seed) that returns its observed values in order.
"""

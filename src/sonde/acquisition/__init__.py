"""Acquisition functions: the expected utility of the outcomes of a batch, under the posterior at its points.

base samples z -> outcomes y = mu + L z (``sampling``) -> a utility of each sample (``utilities``, table 1 of Wilson et
al. 2017) -> mean over samples (``montecarlo``). Where the mean of one point is known in closed form (``closed``),
``pointwise`` uses it. ``entropy`` is the one utility that needs the posterior after the outcomes. ``averages`` averages
acquisition functions over models and weights them with the probability of feasibility.
"""

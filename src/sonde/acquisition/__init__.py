"""An acquisition is the mean, over samples of the belief at a pool of points, of a utility of the pool's outcomes.

base samples -> y = mu + L z (``sampling``) -> a utility of each sample (``utilities``, table 1 of Wilson et al. 2017)
-> mean (``montecarlo``). Where the mean is known in closed form (``closed``), ``pointwise`` uses it; ``entropy`` is the
one utility that needs the belief after the outcomes. ``averages`` combines acquisitions over models and with
probabilities.
"""

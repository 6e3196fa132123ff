"""The strategy ``"igo"``: stochastic natural gradient on distributions over discrete spaces (Nishida et al. 2018).

Two searches share the trials. ``generations`` follows the natural gradient; ``bitflip_search`` is a local search that
changes one parameter at a time. Both read an ``observation_log`` and replay their steps from it, so their state is a
function of the history. ``families`` assigns a distribution to each parameter, ``success_rate`` decides which search
gets more trials, ``igo`` puts them together.
"""

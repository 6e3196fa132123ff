"""The strategy ``"igo"``: stochastic natural gradient on distributions over discrete spaces (Nishida et al. 2018).

``generations`` follows the natural gradient, ``bitflip_search`` is a local search. Both replay their steps from an
``observation_log``. ``families`` assigns a distribution to each parameter, ``success_rate`` decides which search gets
more trials, ``igo`` puts them together, ``track`` shows how the distribution has moved.
"""

"""The Gaussian process on values, gradients and curvatures, for fixed hyperparameters (Ament & Gomes 2022, section 3).

``covariance`` is the kernel: a stationary part of a profile (``profiles``), a constant, and a trend (``trends``).
``marginal_likelihood`` scores hyperparameters, ``estimates`` finds or samples them, and ``posterior`` conditions on
observations (``observations``). The process on values is that without derivatives. ``port`` is the interface of a
covariance; any kernel of ``sonde.kernels`` has it too (``surrogates.kernel``).
"""

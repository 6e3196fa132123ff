"""Models of a function seen at a few points: a covariance, its evidence, and the belief it leads to.

``features`` turns points of the unit cube into points of a Euclidean space, ``covariance`` compares them, ``evidence``
scores hyperparameters under ``priors``, ``fitting`` finds or samples them (``chain`` along a growing history), ``gp``
is the belief that follows, ``outputs`` the scale of the values, ``feasibility`` what is believed to work at all.

Arrays in, arrays out. Derivatives are in closed form: every belief has a ``vjp`` that carries gradients in its moments
back to gradients in its points.
"""

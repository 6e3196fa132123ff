"""Gaussian processes under any kernel of ``sonde.kernels``, on values or on values and gradients (the extra ``jax``).

A kernel is a function of a few parameters, ``family``; ``evaluation`` computes it and its derivatives for all pairs in
JAX; ``covariance`` gives these the interface of the closed forms, so that marginal likelihood and posteriors serve here
too; ``fitting`` fits the parameters along a growing history. Linear algebra is LAPACK's, as for the closed forms.
"""

"""Adapters to other libraries, without algorithms of their own. Each library is imported at its first use.

``autograd`` is the public function: it makes an objective with gradients from a function written in JAX or PyTorch.
``by_jax`` and ``by_torch`` differentiate; ``derivatives`` is what they share.
"""

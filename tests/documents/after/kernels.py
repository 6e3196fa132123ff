assert z.converged
assert K.paths == ("structured",)

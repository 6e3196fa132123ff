assert mask["pixels"].sum() < 32
assert not mask["pixels"][:, 0].any()  # there is no ink in the first column
assert kept > 0.94
assert kept > others["all pixels"] - 0.03
assert kept > others["as many at random"] + 0.02

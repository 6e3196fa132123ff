assert result.best_value >= 149  # of 150
assert search.theta.min() > 0.8
assert keep["units"].shape == (3, 1024)

lowest = study.best(by="observed").value
assert study.best_value == best.mean
assert abs(best.mean - (best["x"] - 0.3) ** 2) < 3 * best.std
assert lowest < -0.1 < best.mean
assert best.value >= lowest

study.optimize(lambda trial: trial["x"] ** 2 + trial["y"] ** 2, 60, progress=False)
assert study.best_value < 0.3
assert study.explain().startswith("hill")

assert "Gaussian process" in study.explain()
study = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), strategy=strategy, seed=0)
study.optimize(lambda trial: (trial["x"] - 0.3) ** 2, 8, progress=False)
assert study.best_value < 0.01

assert len(stopped) >= 1
assert study.best_value < 0.8
assert len(list(Path("runs/boosting").iterdir())) == 20

for trial in result.trials:
    assert list(trial.gradient) == ["x", "rate"]
assert loss({"x": 2.0, "rate": 0.01, "layers": 1, "kind": "hard"}).gradient["x"] == 8.0

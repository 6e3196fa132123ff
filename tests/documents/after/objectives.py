import csv

assert 5 <= len(result.front) <= 25
assert all(trial.value["latency"] < 20 for trial in [result.study.best(weights={"loss": 1})])
assert [trial.number for trial in study.pareto_front] == [0, 1, 3]
assert abs(study.hypervolume({"loss": 1.0, "accuracy": 0.5}) - (0.69 * 0.4 + 0.03 * 0.35 + 0.03 * 0.3)) < 1e-9
with open("tradeoff.csv", newline="") as file:
    assert {"value_loss", "value_accuracy", "noise_accuracy", "gradient_loss"} <= set(next(csv.DictReader(file)))

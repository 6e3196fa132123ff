assert len(result.trials) == 50
assert result.best_value == min(trial.value for trial in result.trials)
assert Path("runs.db").exists()
with sonde.load("sonde.db", "default") as tuned:
    assert len(tuned.trials) == 50

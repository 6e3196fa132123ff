assert len(result.study.trials) == 25
assert result.best_value == min(trial.value for trial in result.study.trials) < 0.04
assert all(Path(name).stat().st_size > 10_000 for name in ("slices.png", "report.html"))
assert [told.value for told in sonde.load("lab.db").trials] == [0.31]
with sonde.load("sonde.db") as tuned:
    assert len(tuned.trials) == 50

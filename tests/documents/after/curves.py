assert len(stopped) > 10
assert all(trial.value is None and trial.std is not None for trial in stopped)
assert study.best_trial.state == "completed"
programs = sonde.load(".sonde.db" if Path(".sonde.db").exists() else "sonde.db", "default").trials
assert len(programs) == 20
assert all(trial.curve for trial in programs)

assert len(study.trials) == 35
assert all(trial.state == "completed" for trial in study.trials)
assert study.best_value < misread(SVC())
assert tuned < default

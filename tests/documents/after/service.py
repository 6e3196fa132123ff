assert len([trial for trial in study.trials if trial.state == "completed"]) >= 15
assert study.best_value < 0.01

stored = sonde.load(os.environ["SONDE_STORAGE"], "bowl")  # the server is ending
assert len([trial for trial in stored.trials if trial.state == "completed"]) >= 15
assert stored.best_value < 0.01

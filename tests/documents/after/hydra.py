import sonde

with sonde.load("sqlite:///runs.db", "first") as study:
    assert len(study.trials) == 12
    assert study.best_value < 0.5

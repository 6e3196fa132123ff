import csv
import json

import sonde

assert len(list(csv.DictReader(Path("trials.csv").open()))) == len(json.loads(Path("trials.json").read_text())) == 30
with sonde.load("sonde.db", "default") as tuned:
    assert tuned.best_value < 1
with sonde.load("sonde.db", "slow") as stopped:
    assert len(stopped.trials) < 50

"""Four experiments at a time: a reaction with a constraint and runs that fail, chosen by a Gaussian process.

Ask and tell, for results that come from a laboratory rather than from a function. The study lives in out/batches.db:
run it again and it goes on. An argument is the number of rounds.
"""

import math
import sys
from pathlib import Path

import sonde

SPACE = sonde.Space(
    temperature=sonde.Float(20, 140),
    time=sonde.Float(1, 100, log=True),
    catalyst=sonde.Categorical(["none", "Pd", "Ni"]),
    loading=sonde.Float(0.1, 5, log=True, when={"catalyst": ["Pd", "Ni"]}),
)


def react(trial: sonde.Trial) -> sonde.Evaluation | None:
    """Return the yield of a made-up reaction, and how far its heat is above the limit; None where the vessel burst."""
    if trial["temperature"] > 125 and trial["catalyst"] == "Pd":
        return None
    speed = {"none": 0.05, "Pd": 0.4, "Ni": 0.2}[trial["catalyst"]] * trial.get("loading", 1.0) ** 0.3
    rate = speed * math.exp((trial["temperature"] - 80) / 30)
    made, lost = 1 - math.exp(-rate * trial["time"]), 1 - math.exp(-0.02 * rate**2 * trial["time"])
    return sonde.Evaluation(100 * made * (1 - lost), constraints={"heat": rate - 1.5})


def main() -> None:
    Path("out").mkdir(exist_ok=True)
    study = sonde.Study(SPACE, direction="maximize", storage="out/batches.db", name="reaction", seed=0)
    for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 10):
        for trial in study.ask(4):
            result = react(trial)
            if result is None:
                study.tell(trial, failed="the vessel burst")
            else:
                study.tell(trial, result)
        print(f"round {number + 1}: best yield {study.best_value:.1f} % of {len(study.trials)} experiments")
    print(study.explain())
    print(study.diagnose())
    best = study.best_params
    mean, std = study.predict(best)
    print(f"best: {best}, predicted {mean:.1f} ± {std:.1f} %")


if __name__ == "__main__":
    main()

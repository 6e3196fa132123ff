"""Tune a scikit-learn model: which one, and its settings, on the digits that ship with scikit-learn.

The study lives in out/demo.db. Run it again and it goes on where it stopped, after Ctrl-C too. At the end there is a
report in out/demo.html. An argument is the number of trials to run.
"""

import sys
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import sonde

TRIALS = 30

SPACE = sonde.Space(
    model=sonde.Categorical(["svm", "forest"]),
    C=sonde.Float(1e-2, 1e3, log=True, when={"model": "svm"}),
    gamma=sonde.Float(1e-5, 1e0, log=True, when={"model": "svm"}),
    trees=sonde.Int(10, 200, log=True, when={"model": "forest"}),
    depth=sonde.Int(2, 20, when={"model": "forest"}),
    features=sonde.Float(0.05, 1.0, step=0.05, when={"model": "forest"}),
)


def error(trial: sonde.Trial) -> float:
    """Return the cross-validated error rate."""
    features, labels = load_digits(return_X_y=True)
    if trial["model"] == "svm":
        model = make_pipeline(StandardScaler(), SVC(C=trial["C"], gamma=trial["gamma"]))
    else:
        model = RandomForestClassifier(
            trial["trees"], max_depth=trial["depth"], max_features=trial["features"], random_state=0
        )
    return 1.0 - float(cross_val_score(model, features, labels, cv=3).mean())


def main() -> None:
    Path("out").mkdir(exist_ok=True)
    study = sonde.Study(SPACE, storage="sqlite:///out/demo.db", name="digits", seed=0)
    if study.trials:
        print(f"resuming: {len(study.trials)} trials so far, best error {study.best_value:.4f}")
    study.optimize(error, int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS, workers=2)
    print(f"best error {study.best_value:.4f} of {len(study.trials)} trials, with")
    for name, value in study.best_params.items():
        print(f"  {name} = {value:.4g}" if isinstance(value, float) else f"  {name} = {value}")
    report = Path("out/demo.html")
    study.report(report)
    print("the study is in out/demo.db: run again to go on, or look at it with")
    print("  .venv/bin/sonde trials --storage out/demo.db")
    print("a report with figures and advice, for a browser, is in")
    print(f"  {report.resolve()}")


if __name__ == "__main__":
    main()

"""Two objectives: the error of a forest on the digits that ship with scikit-learn, and how many nodes it has.

No setting is best in both: a smaller forest errs more. So the answer is the Pareto front, the settings that no other
one beats in both objectives. The study lives in out/objectives.db: run it again and it goes on. An argument is the
number of trials to run.
"""

import sys
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import sonde

TRIALS = 30

SPACE = sonde.Space(
    trees=sonde.Int(1, 60, log=True),
    leaves=sonde.Int(10, 200, log=True),
    features=sonde.Float(0.02, 1.0, log=True),
    criterion=sonde.Categorical(["gini", "entropy"]),
)
OBJECTIVES = {"error": "minimize", "nodes": "minimize"}
THRESHOLDS = {"error": 0.3}  # a forest with more errors does not interest, however small it is


def evaluate(trial: sonde.Trial) -> dict[str, float]:
    """Return the error rate on held-out digits, and the number of nodes of all trees."""
    features, labels = load_digits(return_X_y=True)
    seen, unseen, seen_labels, unseen_labels = train_test_split(features, labels, test_size=0.4, random_state=0)
    forest = RandomForestClassifier(
        trial["trees"], max_leaf_nodes=trial["leaves"], max_features=trial["features"], criterion=trial["criterion"],
        random_state=0,
    )  # fmt: skip
    forest.fit(seen, seen_labels)
    nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    return {"error": 1.0 - float(forest.score(unseen, unseen_labels)), "nodes": nodes}


def main() -> None:
    Path("out").mkdir(exist_ok=True)
    study = sonde.Study(
        SPACE, objectives=OBJECTIVES, thresholds=THRESHOLDS, storage="sqlite:///out/objectives.db", name="forest",
        seed=0,
    )  # fmt: skip
    study.optimize(evaluate, int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
    front = sorted(study.pareto_front, key=lambda trial: trial.value["nodes"])
    print(f"the Pareto front has {len(front)} of {len(study.trials)} trials, hypervolume {study.hypervolume():.1f}")
    print(" nodes   error  trees  leaves  features  criterion")
    for trial in front:
        value = trial.value
        print(
            f"{value['nodes']:6.0f}  {value['error']:.4f}  {trial['trees']:5}  {trial['leaves']:6}"
            f"  {trial['features']:8.3f}  {trial['criterion']}"
        )
    preferred = study.best(weights={"error": 2, "nodes": 1})
    print(f"best where errors count twice as much: trial {preferred.number}, {preferred.value}")


if __name__ == "__main__":
    main()

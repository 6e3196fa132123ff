"""Sonde in Optuna: a pipeline with conditional parameters, tuned by SondeSampler; only the sampler is ours.

pip install 'sonde[optuna]' scikit-learn
python examples/optuna_sampler.py
"""

from __future__ import annotations

import optuna
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sonde.integrations.optuna import SondeSampler

X, Y = load_wine(return_X_y=True)


def objective(trial: optuna.Trial) -> float:
    """Return the accuracy of a classifier in cross-validation."""
    if trial.suggest_categorical("model", ["svm", "forest"]) == "svm":
        c, gamma = (trial.suggest_float(name, 1e-4, 1e3, log=True) for name in ("C", "gamma"))
        model = make_pipeline(StandardScaler(), SVC(C=c, gamma=gamma))
    else:
        depth, features = trial.suggest_int("depth", 1, 8), trial.suggest_float("features", 0.1, 1)
        model = RandomForestClassifier(20, max_depth=depth, max_features=features, random_state=0)
    return float(cross_val_score(model, X, Y, cv=3).mean())


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = SondeSampler(seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=30)
    print(f"best accuracy {study.best_value:.3f} with {study.best_params}")
    print(sampler.explain())

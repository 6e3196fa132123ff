"""Choose the parameters of a pipeline by cross-validation, in the place of ``RandomizedSearchCV``.

The argument is the number of candidates.
"""

import sys

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

import sonde
from sonde.integrations.sklearn import SondeSearchCV


def main(count: int) -> None:
    x, y = load_breast_cancer(return_X_y=True)
    x, x_test, y, y_test = train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(solver="saga", max_iter=300))
    space = sonde.Space(
        standardscaler=sonde.Categorical([StandardScaler(), QuantileTransformer(n_quantiles=50), "passthrough"]),
        logisticregression__C=sonde.Float(1e-4, 1e3, log=True),
        logisticregression__l1_ratio=sonde.Float(0, 1),
    )
    search = SondeSearchCV(pipeline, space, n_iter=count, scoring="neg_log_loss", cv=5, random_state=0)
    search.fit(x, y)
    known, new = -search.best_score_, -search.score(x_test, y_test)
    print(f"best log loss {known:.4f} in cross-validation, {new:.4f} on the test set, with")
    for name, value in search.best_params_.items():
        print(f"  {name} = {value}")
    print(f"{sum(search.cv_results_['n_folds'])} fits of {5 * count}: the others were not worth it")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 25)

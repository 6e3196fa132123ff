"""Writes ``studies.sqlite3`` and ``trials.json`` beside this file. They were made once, by Sonde 0.1.0:

git checkout 739224c src && python tests/storage/written_by_0_1_0/make.py && git checkout HEAD src
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import sonde

HERE = Path(__file__).parent
SPACE = sonde.Space(
    {
        "lr": sonde.Float(1e-5, 1e-1, log=True),
        "layers": sonde.Int(1, 8),
        "model": sonde.Categorical(["mlp", "svm", None]),
        "bias": sonde.Bool(),
        "width": sonde.Int(16, 512, log=True, when={"model": "mlp"}),
    }
).where("layers <= 6")


def main() -> None:
    path = HERE / "studies.sqlite3"
    path.unlink(missing_ok=True)
    study = sonde.Study(SPACE, storage=path, name="größe", seed=7, strategy="sobol", direction="maximize")
    for _ in range(6):
        trial = study.ask()
        study.tell(trial, trial["lr"] * trial["layers"], gradient={"lr": float(trial["layers"])}, noise=0.1,
                   constraints={"memory": trial["layers"] - 5.0}, attributes={"epochs": 3, "n": "ü"})  # fmt: skip
    study.tell(study.ask(), failed="Traceback (most recent call last):\n  ...\nMemoryError: too large")
    curved = study.ask()
    study.tell(curved, 0.5, gradient={"lr": 1.0, "layers": 2.0}, hessian={"lr": {"lr": 3.0, "layers": 4.0}})
    study.cancel(study.ask())
    study.ask(lease=None)  # running for ever
    study.ask()  # running with a lease that ends
    study.release(study.ask())  # lost, and waiting again
    study.enqueue({"lr": 1e-3, "layers": 2, "model": "svm", "bias": True}, attributes={"why": "mine"})
    other = sonde.Study(sonde.Space(x=sonde.Float(0, 1)), storage=path, name="second", seed=1)
    other.add_trials([{"params": {"x": i / 10}, "value": (i - 3) ** 2} for i in range(10)])
    export = {one.name: one for one in (study, other)}
    from sonde.study.export import document

    trials = {name: [document(trial) for trial in one.trials] for name, one in export.items()}
    (HERE / "trials.json").write_text(json.dumps(trials, indent=1, ensure_ascii=False), encoding="utf-8")
    study.close()
    other.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.execute("VACUUM")
    connection.close()


if __name__ == "__main__":
    main()

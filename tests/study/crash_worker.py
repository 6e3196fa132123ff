"""Asks and tells until it is killed; writes down each result after tell has returned."""

from __future__ import annotations

import sys

import sonde

SPACE = sonde.Space(x=sonde.Float(0, 1), k=sonde.Int(0, 10**6), c=sonde.Categorical(["a", "b"]))


def main(url: str, log: str, count: int) -> None:
    study = sonde.Study(SPACE, storage=url, name="study", seed=0, strategy="sobol")
    with open(log, "a", buffering=1) as file:
        file.write("ready\n")
        for _ in range(count):
            trial = study.ask()
            value = trial["x"] + trial["k"]
            study.tell(trial, value)
            file.write(f"{trial.number} {value!r}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

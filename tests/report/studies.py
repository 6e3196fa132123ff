"""Studies that reports are made of."""

from __future__ import annotations

from typing import Any

import sonde

HOSTILE = "</script><img src=x onerror=alert(1)>שלום😀" + "n" * 200

SPACE = sonde.Space(
    x=sonde.Float(0, 1),
    rate=sonde.Float(1e-4, 1, log=True),
    model=sonde.Categorical(["svm", "forest"]),
    depth=sonde.Int(1, 9, when={"model": "forest"}),
)


def objective(trial: sonde.Trial) -> float:
    """A function that fails where x is large."""
    if trial["x"] > 0.8:
        raise ValueError(f"diverged at {trial['x']}")
    return float((trial["x"] - 0.3) ** 2 + trial["rate"] + 0.01 * trial.get("depth", 3))


def usual(trials: int = 12, **options: Any) -> sonde.Study:
    """A study with some failures."""
    study = sonde.Study(SPACE, seed=0, **options)
    study.optimize(objective, trials, progress=False)
    return study


def hostile() -> sonde.Study:
    """A study whose every text is hostile."""
    parameters = {
        HOSTILE: sonde.Float(0, 1),
        "x": sonde.Float(0, 1),
        "\x1b[2J": sonde.Categorical(["</pre>", HOSTILE, print, (1, 2)]),
    }
    space = sonde.Space(parameters).where(lambda p: p["x"] < 0.95)
    study = sonde.Study(space, seed=0, name="study " + HOSTILE)
    for number in range(12):
        trial = study.ask()
        if number % 4 == 3:
            study.tell(trial, failed=f"<script>alert(2)</script>{HOSTILE}\x1b[2J")
        else:
            study.tell(trial, trial["x"] + trial[HOSTILE])
    study.set_note(f"<b>{HOSTILE}")
    return study

"""What is compared, and the files of the results."""

from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).parents[1] / "results"
ACQUISITIONS, OPTIMIZERS = ("ei", "ucb", "pi", "sr", "es"), ("random", "direct", "bfgs", "adam", "nearby")


class Files(NamedTuple):
    """Paths of the results."""

    tasks: Path
    budgets: Path
    trials: Path

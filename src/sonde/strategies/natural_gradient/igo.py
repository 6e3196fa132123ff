"""The strategy ``"igo"``: parameterless natural gradient (Nishida et al. 2018), with a climb for company.

Two searches share the trials. The natural gradient (``generations``) moves a distribution over the whole space and
sees through ruggedness; its parameters are independent, so it is slow where they only matter in each other's company.
The climb (``climb``) is quick there and is held up by ruggedness. Who has found better ones lately gets more turns.
Both know by replaying, from the results alone, where they are; whose turn it is has no part in that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.errors import OptionError
from sonde.igo import PBIL
from sonde.sampling import Key
from sonde.space import Space
from sonde.strategies.history_warnings import warn_of_history
from sonde.strategies.natural_gradient.bitflip_search import BitFlipSearch, Place
from sonde.strategies.natural_gradient.families import Families
from sonde.strategies.natural_gradient.generations import Generations, Sample
from sonde.strategies.natural_gradient.outcomes import Results
from sonde.strategies.novelty import novel_rows
from sonde.strategies.port import Strategy
from sonde.trials import History

Array = NDArray[np.float64]

CLIMBS = 3.0  # turns of the climb for one of the gradient while neither is luckier; benchmarks/igo/pseudo_boolean
SETTINGS = ("sample_size", "largest_sample_size", "step_size", "alpha")  # further ones of ``sonde.igo.IGO``
_TURN, _ANYTHING = 26, 27  # purposes of the key's streams


class IGO(Strategy):
    """Learns a distribution over the space, bit by bit, category by category; made for many cheap evaluations.

    The bare name ``"igo"`` needs nothing else; every option is for those who want to choose.

    Parameters
    ----------
    adapt
        Whether the number of samples of a generation adapts to the noise (``"lambda"``, default), the length of the
        step (``"epsilon"``), or neither (``None``).
    polish
        Whether trials are shared with a local search where no parameter is continuous; ``False`` is the natural
        gradient alone.
    sample_size, largest_sample_size, step_size, alpha
        As of ``sonde.igo.IGO``; by default they follow from the number of free parameters.
    """

    name = "igo"

    def __init__(self, *, adapt: str | None = "lambda", polish: bool = True, **settings: Any) -> None:
        unknown = sorted(set(settings) - set(SETTINGS))
        if unknown:
            raise OptionError(f"there is no setting {unknown[0]!r}; there are adapt, polish, {', '.join(SETTINGS)}")
        if not isinstance(polish, bool):
            raise OptionError(f"polish must be True or False, got {polish!r}")
        self._settings = {"adapt": adapt, **settings}
        PBIL(1, **self._settings)  # what is wrong is said now
        self._polish = polish
        self._fold: _Fold | None = None

    def suggest(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Draw from the distribution or climb, whichever has the turn."""
        warn_of_history(history)
        fold = self._folded(space, history, key.seed)
        fresh = fold.fresh()
        rows: list[Array] = []
        for offset in range(count):
            row = fold.row(fresh, key.at(offset))
            if row is None:  # all that is likely is known
                unit = key.at(offset).rng(_ANYTHING).random((1, len(space)))
                taken = [known.astype("<f8").tobytes() for known in rows]
                left = novel_rows(space, history, unit, key.at(offset), taken)
                if not len(left):
                    break
                row = left[0]
            rows.append(row)
        return np.array(rows).reshape(-1, len(space))

    def explain(self, space: Space, history: History) -> str:
        """Say where the search stands; before the first suggestion here the seed is not known, nor is that."""
        family = Families(space).family
        if family is None:
            return "there is one configuration only"
        said = (
            f"draws configurations from a distribution with {family.free} free parameters that follows the natural "
            "gradient"
        )
        if self._fold is None or self._fold.history is not history:
            return said + ("; some of the turns climb from the best" if self._polish and space.finite else "")
        fold = self._folded(space, history, self._fold.seed)
        generations = fold.generations
        if generations is None or fold.exhausted:
            return "all configurations that are likely are known; picks at random from what is left"
        said += f" (generation {generations.number + 1}, {generations.search.sample_size} samples each)"
        return said + (f"; {fold.shares()[1]:.0%} of the turns climb from the best" if fold.climb else "")

    def _folded(self, space: Space, history: History, seed: int) -> _Fold:
        """Return what the history has come to, going on from the last time if it is the same one."""
        fold = self._fold
        if fold is None or fold.history is not history or fold.seed != seed or len(fold.results) > len(history):
            fold = self._fold = _Fold(space, history, seed, self._settings, polish=self._polish)
        fold.update()
        return fold


class _Fold:
    """Both searches after a history."""

    def __init__(self, space: Space, history: History, seed: int, settings: dict[str, Any], *, polish: bool) -> None:
        self.history, self.seed, self.results = history, seed, Results()
        layout = Families(space)
        self.generations: Generations | None = None
        self.climb: BitFlipSearch | None = None
        if layout.family is not None:
            self.generations = Generations(space, layout, layout.family, seed, settings)
            if polish and space.finite:  # along a scale a distribution adapts its width, a climb would guess
                self.climb = BitFlipSearch(space, layout, layout.family, seed)

    def update(self) -> None:
        """Take in what has come."""
        self.results.update(self.history)
        for search in (self.generations, self.climb):
            if search is not None:
                search.advance(self.results)

    @property
    def exhausted(self) -> bool:
        """Whether neither search has anything to propose any more."""
        return all(search is None or search.exhausted for search in (self.generations, self.climb))

    def fresh(self) -> list[Iterator[Array]]:
        """Return what each search would try next, without what is known, under way, or proposed by the other."""
        taken: set[bytes] = set()

        def novel(proposals: Iterator[Sample] | Iterator[Place]) -> Iterator[Array]:
            for proposal in proposals:
                mark = proposal.mark
                known = mark in taken or self.results.knows(mark)
                if not known and getattr(proposal, "allowed", True):
                    taken.add(mark)
                    yield proposal.row

        return [novel(search.proposals()) for search in (self.generations, self.climb) if search is not None]

    def row(self, fresh: list[Iterator[Array]], key: Key) -> Array | None:
        """Return the next row of whoever has the turn; of the other if there is none."""
        if not fresh:
            return None
        first = int(key.rng(_TURN).random() >= self.shares()[0]) if len(fresh) == 2 else 0
        order = [fresh[first], *(other for place, other in enumerate(fresh) if place != first)]
        return next((row for proposals in order for row in proposals), None)

    def shares(self) -> tuple[float, float]:
        """Return how likely each search is to have the next turn: as often as its trials have been the best lately."""
        if self.generations is None or self.climb is None:
            return (1.0, 0.0)
        drawn = self.generations.luck.rate(len(self.results))
        climbed = CLIMBS * self.climb.luck.rate(len(self.results))
        return drawn / (drawn + climbed), climbed / (drawn + climbed)

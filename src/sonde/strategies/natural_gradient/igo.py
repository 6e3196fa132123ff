"""The strategy ``"igo"``: parameterless natural gradient (Nishida et al. 2018), combined with a bit-flip local search.

Two searches share the trials. The natural gradient (``generations``) moves a distribution over the whole space and
copes with rugged objectives; its parameters are independent, so it is slow where they interact. The bit-flip local
search (``bitflip_search``) is fast there, and local optima hold it up. The search with the higher recent success rate
gets more trials. Both replay their state from the observations alone; the choice between them has no part in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sonde.arrays import Array
from sonde.errors import OptionError
from sonde.igo import PBIL
from sonde.sampling import Key, Stream
from sonde.space import Space
from sonde.strategies.history_warnings import warn_of_history
from sonde.strategies.natural_gradient import track
from sonde.strategies.natural_gradient.bitflip_search import BitFlipSearch, Candidate
from sonde.strategies.natural_gradient.families import Families
from sonde.strategies.natural_gradient.generations import Generations, Sample
from sonde.strategies.natural_gradient.observation_log import ObservationLog
from sonde.strategies.novelty import novel_rows
from sonde.strategies.port import Distributions, Strategy
from sonde.trials import History

# trials of the local search for each of the gradient at equal success rates; benchmarks/igo/pseudo_boolean
LOCAL_SEARCH_WEIGHT = 3.0
SETTINGS = ("sample_size", "largest_sample_size", "step_size", "alpha")  # passed on to ``sonde.igo.IGO``


class IGO(Strategy):
    """Learns a distribution over the space by natural gradient; made for many cheap evaluations.

    The bare name ``"igo"`` needs no option.

    Parameters
    ----------
    adapt
        What adapts to the noise of the gradient: the number of samples of a generation (``"lambda"``, default), the
        step size (``"epsilon"``), or neither (``None``).
    polish
        Whether a bit-flip local search gets part of the trials where no parameter is continuous; ``False`` is the
        natural gradient alone.
    sample_size, largest_sample_size, step_size, alpha
        As in ``sonde.igo.IGO``; the defaults follow from the number of free parameters.
    """

    name = "igo"

    def __init__(self, *, adapt: str | None = "lambda", polish: bool = True, **settings: Any) -> None:
        unknown = sorted(set(settings) - set(SETTINGS))
        if unknown:
            raise OptionError(f"there is no setting {unknown[0]!r}; there are adapt, polish, {', '.join(SETTINGS)}")
        if not isinstance(polish, bool):
            raise OptionError(f"polish must be True or False, got {polish!r}")
        self._settings = {"adapt": adapt, **settings}
        PBIL(1, **self._settings)  # raises now if a setting is wrong
        self._polish = polish
        self._replay: _Replay | None = None

    def suggest(self, space: Space, history: History, count: int, key: Key) -> Array:
        """Take each row from one of the two searches, chosen at random by their success rates."""
        warn_of_history(history)
        replay = self._replayed(space, history, key.seed)
        novel = replay.novel_proposals()
        rows: list[Array] = []
        for offset in range(count):
            row = replay.next_row(novel, key.at(offset))
            if row is None:  # neither search has anything new: draw uniformly from what is left
                unit = key.at(offset).rng(Stream.ANY_CONFIGURATION).random((1, len(space)))
                taken = [chosen.astype("<f8").tobytes() for chosen in rows]
                left = novel_rows(space, history, unit, key.at(offset), taken)
                if not len(left):
                    break
                row = left[0]
            rows.append(row)
        return np.array(rows).reshape(-1, len(space))

    def explain(self, space: Space, history: History) -> str:
        """Describe the state of both searches; before the first suggestion the seed is unknown, and so is the state."""
        family = Families(space).family
        if family is None:
            return "there is one configuration only"
        said = (
            f"draws configurations from a distribution with {family.free} free parameters that follows the natural "
            "gradient"
        )
        if self._replay is None or self._replay.history is not history:
            shared = self._polish and space.finite and not history.objectives.several
            return said + ("; a bit-flip local search from the incumbent gets part of the trials" if shared else "")
        replay = self._replayed(space, history, self._replay.seed)
        generations = replay.generations
        if generations is None or replay.exhausted:
            return "all likely configurations are evaluated or pending; picks at random from what is left"
        said += f" (generation {generations.number + 1}, {generations.search.sample_size} samples each)"
        if replay.local_search is None:
            return said
        return said + f"; a bit-flip local search from the incumbent gets {replay.shares()[1]:.0%} of the trials"

    def learns_distributions(self, space: Space, history: History) -> bool:
        """Whether there is more than one configuration."""
        return Families(space).family is not None

    def distributions(self, space: Space, history: History, seed: int) -> Distributions | None:
        """Replay the natural gradient over the history, and return the distribution of its generations."""
        return track.distributions(space, history, seed, self._settings)

    def _replayed(self, space: Space, history: History, seed: int) -> _Replay:
        """Return the state after a history; continues from the last call if the history is the same object."""
        replay = self._replay
        if replay is None or replay.history is not history or replay.seed != seed or len(replay.log) > len(history):
            polish = self._polish and not history.objectives.several  # it needs an incumbent
            replay = self._replay = _Replay(space, history, seed, self._settings, polish=polish)
        replay.update()
        return replay


class _Replay:
    """The state of both searches after a history."""

    def __init__(self, space: Space, history: History, seed: int, settings: dict[str, Any], *, polish: bool) -> None:
        self.history, self.seed, self.log = history, seed, ObservationLog()
        families = Families(space)
        self.generations: Generations | None = None
        self.local_search: BitFlipSearch | None = None
        if families.family is not None:
            self.generations = Generations(space, families, families.family, seed, settings)
            if polish and space.finite:  # on a continuous scale a Gaussian adapts its width, single steps cannot
                self.local_search = BitFlipSearch(space, families, families.family, seed)

    def update(self) -> None:
        """Advance both searches by the new observations."""
        self.log.update(self.history)
        for search in (self.generations, self.local_search):
            if search is not None:
                search.advance(self.log)

    @property
    def exhausted(self) -> bool:
        """Whether neither search has anything left to propose."""
        return all(search is None or search.exhausted for search in (self.generations, self.local_search))

    def novel_proposals(self) -> list[Iterator[Array]]:
        """Return the proposals of each search, without rows that are in the history or proposed by the other."""
        taken: set[bytes] = set()

        def novel(proposals: Iterator[Sample] | Iterator[Candidate]) -> Iterator[Array]:
            for proposal in proposals:
                fingerprint = proposal.fingerprint
                known = fingerprint in taken or self.log.contains(fingerprint)
                if not known and getattr(proposal, "feasible", True):
                    taken.add(fingerprint)
                    yield proposal.row

        return [novel(search.proposals()) for search in (self.generations, self.local_search) if search is not None]

    def next_row(self, novel: list[Iterator[Array]], key: Key) -> Array | None:
        """Return the next row of a search drawn by the shares; of the other one if it has none."""
        if not novel:
            return None
        first = int(key.rng(Stream.CHOICE).random() >= self.shares()[0]) if len(novel) == 2 else 0
        order = [novel[first], *(other for index, other in enumerate(novel) if index != first)]
        return next((row for proposals in order for row in proposals), None)

    def shares(self) -> tuple[float, float]:
        """Return the probability that each search gets the next trial: proportional to its recent success rate."""
        if self.generations is None or self.local_search is None:
            return (1.0, 0.0)
        gradient = self.generations.success_rate.rate(len(self.log))
        local = LOCAL_SEARCH_WEIGHT * self.local_search.success_rate.rate(len(self.log))
        return gradient / (gradient + local), local / (gradient + local)

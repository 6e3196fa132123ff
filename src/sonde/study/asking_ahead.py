"""Asks of a run while its objectives run: a thread suggests, and the loop takes what is there.

The loop never waits for a suggestion while there are results to tell. For each free slot it leaves a *ticket*, a
waiting ask, and the suggester serves them. With more than one slot it also suggests ahead, so that a slot that becomes
free finds a trial that waits: as many trials as are expected to end while two batches are computed (Little's law: slots
times seconds of a batch over seconds of a trial), for an ask that comes during a batch would wait for the rest of it
and for the next. With slow objectives that is none, and every suggestion knows all results.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from sonde.activity import doing, watching
from sonde.errors import SondeError
from sonde.storage.rules import new_token
from sonde.study.asking import PAUSED, SUGGESTER_LEASE
from sonde.study.suggester import Suggester
from sonde.trials import Trial

if TYPE_CHECKING:
    from sonde.study.study import Study

_LONGEST_JOIN = 5.0  # seconds to wait at the end for a suggestion that nobody needs


class AskingAhead:
    """The asks of one run, and the thread that suggests for them."""

    def __init__(self, study: Study, limit: int | None, wake: Callable[[], None], show: Callable[[str], None]) -> None:
        self._study, self._limit, self._wake, self._show = study, limit, wake, show
        self._tokens: list[str] = []  # of the tickets
        self._withdrawn: list[str] = []
        self._ahead = 0
        self._seconds, self._ended = 0.0, 0  # of trials that have ended
        self._changed = threading.Condition()
        self._claiming = threading.Lock()  # no batch begins between a claim and what it leaves to suggest
        self._wanted, self._news, self._closed = False, False, False
        self._renewed = 0.0
        self._suggester: Suggester | None = None
        self._error: BaseException | None = None
        self.paused = False  # whether the study was when it was last asked
        self._thread: threading.Thread | None = None

    @property
    def waiting(self) -> int:
        """How many trials the loop waits for."""
        return len(self._tokens)

    def due(self) -> bool:
        """Whether the loop should call ``take`` again: for trials that may be there, and to keep the tickets valid."""
        return self._news or time.monotonic() - self._renewed > SUGGESTER_LEASE / 3

    def note(self, trial: Trial) -> None:
        """Note how long a trial took."""
        if trial.duration is not None:
            self._seconds, self._ended = self._seconds + trial.duration, self._ended + 1

    def take(self, more: int, slots: int, left: int | None) -> tuple[list[Trial], bool]:
        """Return trials that are there for ``more`` asks and those before, and whether there can be no others.

        ``slots`` is how many trials may run at once, ``left`` how many asks the budget has after these.
        """
        with self._changed:
            if self._error is not None:
                raise self._error
            news, self._news = self._news, False
            exhausted = self._suggester is not None and self._suggester.exhausted
        if not more and not (self._tokens and (news or self.due())):
            return [], False
        with self._claiming:
            self._renewed = time.monotonic()
            self._tokens += [new_token() for _ in range(more)]
            trials, missing, self.paused = self._study._claim(self._tokens, self._limit)
            given = {trial.token for trial in trials}
            left_over = [token for token in self._tokens if token not in given]
            self._tokens = [] if exhausted else left_over[:missing]
            if len(self._tokens) < len(left_over):  # the space is exhausted, or the common budget
                self._study._give_up(left_over[len(self._tokens) :])
            over = bool(left_over) and not self._tokens
            with self._changed:
                self._ahead = 0 if over else self._expected(slots, left)
                self._wanted = bool(self._tokens or self._ahead)
                self._changed.notify()
        if self._wanted and self._thread is None:
            self._start()
        return trials, over

    def _expected(self, slots: int, left: int | None) -> int:
        """Return how many trials are expected to end while two batches are suggested."""
        if self._ended == 0 or self._suggester is None:
            return 0
        of_one = max(self._seconds / self._ended, 1e-9)
        expected = min(slots - 1, round(min(2 * slots * self._suggester.seconds / of_one, slots)))
        return expected if left is None else max(0, min(expected, left))

    def _start(self) -> None:
        context = contextvars.copy_context()  # for what is being done
        self._thread = threading.Thread(target=context.run, args=(self._run,), name="sonde-suggester", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Suggest whenever something is wanted."""
        try:
            if not self._study.storage.suggests_by_itself:
                self._suggester = Suggester(self._study)
            with watching(self._show):
                while self._next():
                    pass
        except BaseException as error:
            with self._changed:
                self._error = error
        finally:
            self._tell()

    def _next(self) -> bool:
        """Suggest, or wait until another process has; return whether to go on."""
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._closed)
            self._wanted = bool(self._tokens)
            tokens = list(self._tokens)
            if self._closed:
                return False
        if self.paused:
            self._wait_for_end_of_pause()
        elif not self._suggest() and tokens:
            self._study._await(tokens)
        self._tell()
        return True

    def _wait_for_end_of_pause(self) -> None:
        """Wait until the study is resumed, or nothing is wanted any more; the loop keeps its tickets valid."""
        with doing(PAUSED):
            while self.paused and self._tokens and not self._closed:
                self._study._await(list(self._tokens))
                self.paused = self._study.paused
                self._tell()

    def _suggest(self) -> bool:
        """Suggest a batch, unless others do; return whether any trials were added."""
        if self._suggester is None:
            return False
        with self._claiming:
            begun = self._suggester.begin(self._ahead)
        return self._suggester.serve(begun)

    def _tell(self) -> None:
        """Tell the loop that there may be trials."""
        with self._changed:
            self._news = True
        self._wake()

    def withdraw(self) -> None:
        """Give up what was asked for and is not there yet."""
        with self._changed:
            tokens, self._tokens, self._ahead = self._tokens, [], 0
        if tokens:
            self._withdrawn += tokens
            self._study._give_up(tokens)

    def close(self) -> None:
        """Withdraw the tickets and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._suggester is not None:
            self._suggester.close()
        with suppress(SondeError):  # tickets expire
            self.withdraw()
        if self._thread is not None:
            self._thread.join(_LONGEST_JOIN)
            if self._withdrawn and self._study.storage.suggests_by_itself:  # the thread may have asked for them since
                with suppress(SondeError):
                    self._study._give_up(self._withdrawn)

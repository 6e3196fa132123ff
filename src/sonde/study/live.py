"""The history of a study as a drawing that grows while it runs, in a notebook with ipywidgets."""

from __future__ import annotations

import time

from sonde.study.drawing import large
from sonde.trials import History

EVERY = 0.5  # seconds at least between two drawings
SHARE = 0.1  # of the time that drawing may take


class LiveFigure:
    """A widget that holds HTML: a page needs nothing but ipywidgets to show it."""

    def __init__(self) -> None:
        import ipywidgets
        from IPython.display import display

        self._widget = ipywidgets.HTML()
        self._due = 0.0
        self._latest: History | None = None
        display(self._widget)

    def draw(self, history: History) -> None:
        """Draw a history, unless the last drawing is too new; ``finish`` draws what was left out."""
        self._latest = history
        if time.monotonic() >= self._due:
            self.finish()

    def finish(self) -> None:
        """Draw the latest history."""
        if self._latest is not None:
            begun = time.monotonic()
            self._widget.value = large(self._latest)
            now = time.monotonic()
            self._due = now + max(EVERY, (now - begun) / SHARE)

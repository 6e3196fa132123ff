"""A Rich progress bar with a second line, where a long text has room in a narrow terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import RenderableType
from rich.progress import Progress


class TwoLines(Progress):
    """The bar, and below it ``stage`` unless that is None."""

    def __init__(self, stage: RenderableType | None, *columns: Any, console: Any) -> None:
        self.stage = stage  # before the parent draws
        super().__init__(*columns, console=console)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return both lines."""
        yield self.make_tasks_table(self.tasks)
        if self.stage is not None:
            yield self.stage

"""The numbers of a figure, as columns."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import OptionError
from sonde.extras import require
from sonde.html import escaped, table

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 20  # rows of a table that is printed


class Table:
    """Columns of equal length by name: ``table["value"]`` is an array, or a list of texts.

    ``note`` is what a reader of the numbers must know, such as how they were computed.
    """

    def __init__(self, columns: Mapping[str, Any], note: str = "") -> None:
        self._columns = dict(columns)
        self.note = note
        lengths = {len(column) for column in self._columns.values()}
        if len(lengths) > 1:
            raise OptionError(f"the columns of a table need one length, got {sorted(lengths)}")
        self._length = lengths.pop() if lengths else 0

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        """The number of rows."""
        return self._length

    def select(self, which: Any) -> Table:
        """Return the rows that a mask, or a list of their indices, selects."""
        index = np.arange(len(self))[which]
        return Table(
            {
                name: column[index] if isinstance(column, np.ndarray) else [column[i] for i in index]
                for name, column in self._columns.items()
            },
            self.note,
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict for each row, of plain Python values."""
        columns = [column.tolist() if isinstance(column, np.ndarray) else column for column in self._columns.values()]
        return [dict(zip(self._columns, row, strict=True)) for row in zip(*columns, strict=True)]

    def dataframe(self) -> pd.DataFrame:
        """Return a pandas DataFrame."""
        require("pandas", extra="pandas")
        import pandas as pd

        return pd.DataFrame(self._columns)

    def text(self, limit: int | None = None) -> str:
        """Return the rows as aligned text, at most ``limit`` of them."""
        rows = self.rows()
        shown = [list(self._columns), *([_short(cell) for cell in row.values()] for row in rows[:limit])]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown
        ]
        if limit is not None and len(rows) > limit:
            lines.append(f"... {len(rows):,} rows in all")
        return "\n".join(lines)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write all rows to a file: CSV or JSON, by its ending. A number that is not finite is empty there, or null."""
        target = Path(path)
        rows = [{name: _finite(cell) for name, cell in row.items()} for row in self.rows()]
        kind = target.suffix.lower()
        if kind == ".json":
            written = json.dumps(rows, indent=1, default=str, allow_nan=False)
        elif kind == ".csv":
            buffer = io.StringIO()
            writer = csv.writer(buffer)
            writer.writerows([list(self._columns), *(list(row.values()) for row in rows)])
            written = buffer.getvalue()
        else:
            raise OptionError(f"the file must end in .csv or .json, got {str(target)!r}")
        target.write_text(written, encoding="utf-8", errors="backslashreplace", newline="")

    def __repr__(self) -> str:
        note = f"\n{self.note}" if self.note else ""
        return f"{self.text(SHOWN)}{note}"

    def _repr_html_(self) -> str:
        rows = [list(row.values()) for row in self.select(slice(SHOWN)).rows()]
        more = [f"{len(self):,} rows in all"] if len(self) > SHOWN else []
        notes = "".join(f"<p>{escaped(note)}</p>" for note in [*more, *filter(None, [self.note])])
        return f"{table(rows, self.names)}{notes}"


def _short(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _finite(cell: Any) -> Any:
    """Return a cell for files; JSON has no NaN."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def of_rows(rows: Sequence[Mapping[str, Any]], names: Sequence[str], note: str = "") -> Table:
    """Return a table of rows that have these names; numbers become arrays."""
    columns: dict[str, Any] = {}
    for name in names:
        column = [row.get(name) for row in rows]
        numeric = all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in column)
        columns[name] = np.array(column) if numeric and column else column
    return Table(columns, note)


def joined(parts: Sequence[Mapping[str, Any]], note: str = "") -> Table:
    """Return the table of columns that come in parts, one after the other; a text stands for as many as the rest."""
    columns: dict[str, Any] = {}
    for name in parts[0] if parts else ():
        pieces = [_repeated(part[name], _length(part)) for part in parts]
        whole = all(isinstance(piece, np.ndarray) for piece in pieces)
        columns[name] = np.concatenate(pieces) if whole else [cell for piece in pieces for cell in piece]
    return Table(columns, note)


def _length(part: Mapping[str, Any]) -> int:
    return next((len(column) for column in part.values() if isinstance(column, np.ndarray)), 1)


def _repeated(column: Any, count: int) -> Any:
    if isinstance(column, np.ndarray | list):
        return column
    return [column] * count if isinstance(column, str) or column is None else np.full(count, column)

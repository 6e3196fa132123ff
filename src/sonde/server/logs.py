"""Log lines on standard error: readable, or JSON for programs."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from sonde.text import printable

FORMS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")


class TextLines(logging.Formatter):
    """Readable lines. Text of other people cannot start a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line."""
        fields = _fields(record)
        more = " ".join(f"{name}={value}" for name, value in fields.items() if name not in ("method", "path", "status"))
        line = f"{_time(record)} {record.levelname.lower():7} {record.getMessage()}" + (f" ({more})" if more else "")
        trace = "\n" + self.formatException(record.exc_info) if record.exc_info else ""
        return printable(line) + printable(trace, lines=True)


class JsonLines(logging.Formatter):
    """One JSON object on each line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line."""
        line = {"time": _time(record), "level": record.levelname.lower(), "logger": record.name,
                "message": record.getMessage(), **_fields(record)}  # fmt: skip
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def set_up(form: str, level: str) -> None:
    """Log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    logging.captureWarnings(True)
    for name in ("uvicorn.access", "alembic", "asyncio"):
        logging.getLogger(name).setLevel("WARNING")


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return dict(getattr(record, "fields", {}))


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")

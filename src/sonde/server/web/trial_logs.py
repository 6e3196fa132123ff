"""What programs have printed: the folder that ``sonde run`` and ``sonde worker`` fill with ``--logs``.

A trial says where its log is, but whoever may tell results may tell any path. So a file is read only where it really
lies inside the folder that the server was started with: links are followed first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sonde.server.wire import Refused
from sonde.text import folder_name

MOST = 64 * 1024  # bytes of a file, from its end
FILES = ("stdout", "stderr")


def read(logs: Path | None, study: str, number: int, told: Any) -> dict[str, Any]:
    """Return the ends of the log files of a trial; none where there are none in the folder."""
    if logs is None:
        raise Refused(404, "NoLog", "this server knows no logs", "start it with --logs FOLDER, as the workers")
    root = logs.resolve()
    folder = _folder(root, study, number, told)
    found = [] if folder is None else [_end(root, folder / name) for name in FILES]
    return {"files": [one for one in found if one is not None]}


def _folder(root: Path, study: str, number: int, told: Any) -> Path | None:
    """Return the folder of a trial: the one that it has told, or while it runs the last of its number."""
    own = Path(told) if isinstance(told, str) and "\0" not in told else None
    if own is not None and _inside(root, own):
        return own
    if told is not None:
        return None
    within = root / folder_name(study)
    again = sorted(within.glob(f"{number}-*"), key=lambda path: (len(path.name), path.name)) if within.is_dir() else []
    return again[-1] if again else within / str(number)


def _inside(root: Path, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a circle of links
        return False


def _end(root: Path, path: Path) -> dict[str, Any] | None:
    """Return the end of a file; None where there is none inside the folder."""
    if not _inside(root, path) or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - MOST))
            text = file.read(MOST).decode("utf-8", "replace")
    except OSError:
        return None
    return {"name": path.name, "bytes": size, "text": text, "cut": size > MOST}

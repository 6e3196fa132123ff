"""Arrays as bytes, for a cache that outlives the process.

The name of an entry is a hash of the data and of all options that the entry was computed from, so an entry that is
found equals what would be computed. Bytes that cannot be read count as a missing entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from io import BytesIO
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

VERSION = 2  # of the format and of the computation; part of every name, so a change of either invalidates old entries


class Cache(Protocol):
    """A store of bytes by name, which may drop entries at any time."""

    def get(self, name: str) -> bytes | None:
        """Return the bytes stored under that name, or None."""

    def put(self, name: str, state: bytes) -> None:
        """Store bytes under a name."""


def name_of(kind: str, *parts: object) -> str:
    """Return the name of a result that is computed from these parts: bytes, or objects that ``repr`` tells apart."""
    digest = blake2b(digest_size=20)
    for part in (VERSION, *parts):
        encoded = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return f"{kind}-{digest.hexdigest()}"


def packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return named arrays as bytes (NumPy's npz format, no pickles)."""
    buffer = BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def unpacked(state: bytes) -> dict[str, NDArray[Any]] | None:
    """Return the arrays that were packed; None where the bytes are not a valid archive."""
    try:
        with np.load(BytesIO(state), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (ValueError, OSError, EOFError, KeyError, AttributeError, BadZipFile):
        return None

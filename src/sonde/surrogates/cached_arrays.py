"""Arrays as bytes, for a cache that outlives the process.

What is kept is named after a hash of the data and of everything else it came from, so that what is found is what would
have been computed. Bytes that cannot be read are as good as none.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from io import BytesIO
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

VERSION = 2  # of the format and of the computation: a change of either makes other names


class Cache(Protocol):
    """Keeps bytes by name, and may forget them at any time."""

    def get(self, name: str) -> bytes | None:
        """Return what was put under that name, or None."""

    def put(self, name: str, state: bytes) -> None:
        """Keep bytes."""


def name_of(kind: str, *parts: object) -> str:
    """Return a name for what follows from these parts: bytes, or what ``repr`` tells apart."""
    digest = blake2b(digest_size=20)
    for part in (VERSION, *parts):
        encoded = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return f"{kind}-{digest.hexdigest()}"


def packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return named arrays as bytes, without pickles."""
    buffer = BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def unpacked(state: bytes) -> dict[str, NDArray[Any]] | None:
    """Return the arrays that were packed; None where the bytes are something else."""
    try:
        with np.load(BytesIO(state), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (ValueError, OSError, EOFError, KeyError, AttributeError, BadZipFile):
        return None

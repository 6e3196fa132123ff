"""A cache that keeps the entries used last (least recently used first out)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Value = TypeVar("Value")


@dataclass
class Recent(Generic[Value]):
    """Values by key, at most ``limit`` of them; the ones that were not used for longest are dropped."""

    limit: int
    _entries: OrderedDict[bytes, Value] = field(default_factory=OrderedDict, repr=False)

    def get_or_compute(self, key: bytes, compute: Callable[[], Value]) -> Value:
        """Return the value of a key, computed where it is not kept; ``compute`` may itself add entries."""
        if key not in self._entries:
            self._entries[key] = compute()
            while len(self._entries) > self.limit:
                self._entries.popitem(last=False)
        self._entries.move_to_end(key)
        return self._entries[key]

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the keys, the one used last at the end."""
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

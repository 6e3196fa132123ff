from __future__ import annotations

import pickle
from copy import deepcopy

from sonde.surrogates.recent import Recent


def test_values_are_computed_once() -> None:
    cache: Recent[int] = Recent(2)
    calls: list[bytes] = []

    def value(key: bytes) -> int:
        return cache.get_or_compute(key, lambda: calls.append(key) or len(calls))  # type: ignore[func-returns-value]

    assert [value(b"a"), value(b"b"), value(b"a")] == [1, 2, 1]
    assert calls == [b"a", b"b"]


def test_the_entries_used_last_are_kept() -> None:
    cache: Recent[int] = Recent(2)
    for key in (b"a", b"b", b"a", b"c"):
        cache.get_or_compute(key, lambda: 0)
    assert list(cache) == [b"a", b"c"]
    assert len(cache) == 2


def test_a_value_may_be_computed_from_other_entries() -> None:
    """Even if the cache does not hold all of them."""
    cache: Recent[int] = Recent(1)

    def factorial(n: int) -> int:
        return cache.get_or_compute(bytes([n]), lambda: n * factorial(n - 1) if n else 1)

    assert factorial(5) == 120
    assert list(cache) == [bytes([5])]


def test_it_can_be_copied_and_pickled() -> None:
    cache: Recent[int] = Recent(3)
    cache.get_or_compute(b"a", lambda: 1)
    for other in (deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert other == cache
        other.get_or_compute(b"b", lambda: 2)
    assert len(cache) == 1

"""Results that are kept by what they follow from, the latest used of them."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """Results by their keys; beyond a number the least recently used one is dropped.

    Unlike `functools.lru_cache` the key is not what the result is made from, which may be large.

    Parameters
    ----------
    most
        The most results to keep.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: Hashable) -> V | None:
        """Return the result of a key; None if there is none."""
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def pop(self, key: Hashable) -> V | None:
        """Return the result of a key and keep it no longer; None if there is none."""
        with self._lock:
            return self._found.pop(key, None)

    def put(self, key: Hashable, made: V) -> None:
        """Keep the result of a key."""
        with self._lock:
            self._found[key] = made
            if len(self._found) > self._most:
                self._found.popitem(last=False)

    def find(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the result of a key; made if there is none, by two threads at once if need be."""
        found = self.get(key)
        if found is None:
            found = make()
            self.put(key, found)
        return found

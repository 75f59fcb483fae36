"""Limits on requests a minute: of one address and of one key, shared by all processes."""

import hashlib
import ipaddress
import math
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from teaser.app.http.shared_counters import SharedCounters

# Eight-way table; the least recently seen name is evicted. An entry has the name's number, the
# level of its bucket, and the time of its last request.
# Imports a minute of one person, and from one address.
IMPORTS = 6
_SETS, _WAYS, _FIELDS = 2_048, 8, 3


class RateLimit:
    """A token bucket for every address or key, refilled steadily.

    IPv6 addresses are limited by their first 64 bits, because one client usually has them all.

    Parameters
    ----------
    per_minute
        The capacity of a bucket and what flows into it in a minute; 0 for no limit.
    file
        The file that the processes of one server share.
    """

    def __init__(self, per_minute: int, file: Path | None = None) -> None:
        self.per_minute = per_minute
        self._counters = SharedCounters(_SETS * _WAYS * _FIELDS, file)
        self._table = self._counters.values.reshape(_SETS, _WAYS, _FIELDS)

    def wait(self, name: str, now: float) -> float:
        """Take one request from a bucket; return 0, or the seconds until there is one again."""
        return self._change(name, now, 1) if self.per_minute else 0.0

    def give_back(self, name: str, now: float) -> None:
        """Put a request that was taken back into its bucket."""
        if self.per_minute:
            self._change(name, now, -1)

    def _change(self, name: str, now: float, taken: int) -> float:
        row, number = _slot(name)
        with self._counters.locked():
            ways = self._table[row]
            seen = np.flatnonzero(ways[:, 0] == number)
            way = int(seen[0]) if len(seen) else int(np.argmin(ways[:, 2]))
            level, last = ways[way, 1:].tolist() if len(seen) else (self.per_minute, now)
            level = min(self.per_minute, level + max(0.0, now - last) * self.per_minute / 60)
            is_there = level >= taken
            left = min(self.per_minute, level - taken) if is_there else level
            ways[way] = number, left, now
        return 0.0 if is_there else (taken - level) * 60 / self.per_minute


@dataclass(frozen=True)
class RateLimits:
    """The limits of one server: on requests of an address or with a key, and on imports."""

    addresses: RateLimit
    keys: RateLimit
    imports: RateLimit = field(default_factory=lambda: RateLimit(IMPORTS))

    def wait_of_address(self, address: str) -> int:
        """Take a request from an address's bucket; return 0, or whole seconds to wait."""
        return math.ceil(self.addresses.wait(address, time.monotonic()))

    def wait_of_key(self, key: str, address: str) -> int:
        """Count a request for its key in place of its address; return 0, or seconds to wait.

        Every request is taken from its address first, so those with a wrong key count there.
        """
        now = time.monotonic()
        self.addresses.give_back(address, now)
        return math.ceil(self.keys.wait(key, now))

    def wait_of_import(self, *names: str) -> int:
        """Count an import for a person and an address; return 0, or whole seconds to wait."""
        now = time.monotonic()
        return math.ceil(max(self.imports.wait(name, now) for name in names))


def _slot(name: str) -> tuple[int, float]:
    """Return the row of an address or key in the table, and the number that identifies it there."""
    try:
        parsed = ipaddress.ip_address(name)
        if parsed.version == 6 and parsed.ipv4_mapped is None:
            name = str(ipaddress.ip_network((int(parsed) >> 64 << 64, 64)))
    except ValueError:
        pass
    digest = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest())
    # float64 holds integers exactly below 2**53; 0 marks a free entry.
    return digest % _SETS, float((digest >> 11) + 1)

"""The limit on requests a minute from one address, shared by all processes of a server."""

import hashlib
import ipaddress
from pathlib import Path

import numpy as np

from teaser.app.http.shared_counters import SharedCounters

# Eight-way table; the least recently seen address is evicted. An entry has the address's number,
# the level of its bucket, and the time of its last request.
_SETS, _WAYS, _FIELDS = 2_048, 8, 3


class RateLimit:
    """A token bucket for every address, refilled steadily.

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

    def allows(self, address: str, now: float) -> bool:
        """Take one request from an address's bucket; return False if it is empty."""
        if not self.per_minute:
            return True
        row, number = _slot(address)
        with self._counters.locked():
            ways = self._table[row]
            seen = np.flatnonzero(ways[:, 0] == number)
            way = int(seen[0]) if len(seen) else int(np.argmin(ways[:, 2]))
            level, last = ways[way, 1:].tolist() if len(seen) else (self.per_minute, now)
            level = min(self.per_minute, level + max(0.0, now - last) * self.per_minute / 60)
            ways[way] = number, level - 1 if level >= 1 else level, now
        return bool(level >= 1)


def _slot(address: str) -> tuple[int, float]:
    """Return the row of an address in the table, and the number that identifies it there."""
    try:
        parsed = ipaddress.ip_address(address)
        if parsed.version == 6 and parsed.ipv4_mapped is None:
            address = str(ipaddress.ip_network((int(parsed) >> 64 << 64, 64)))
    except ValueError:
        pass
    digest = int.from_bytes(hashlib.blake2b(address.encode(), digest_size=8).digest())
    # float64 holds integers exactly below 2**53; 0 marks a free entry.
    return digest % _SETS, float((digest >> 11) + 1)

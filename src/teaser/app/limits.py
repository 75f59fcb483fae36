"""Limits on requests a minute, of an address, of a key and of imports; and sets of addresses."""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple

# Imports a minute of one person, and from one address.
IMPORTS = 6
_MAX_BUCKETS = 20_000
_LOOPBACK = ("127.0.0.0/8", "::1")


class Refused(NamedTuple):
    """Why a request is refused: status, code, message, further headers of the answer."""

    status: int
    code: str
    message: str
    headers: Mapping[str, str] = {}


def too_many(seconds: int) -> Refused:
    """Return the refusal of a request that comes too soon."""
    message = f"Too many requests. Wait {seconds} second{'s' * (seconds != 1)}."
    return Refused(429, "too_many_requests", message, {"Retry-After": str(seconds)})


class RateLimit:
    """A token bucket for every address or key, refilled steadily; in the memory of this process.

    With several workers each has its own buckets, so a client may get a multiple of the limit.
    IPv6 addresses are limited by their first 64 bits, because one client usually has them all.

    Parameters
    ----------
    per_minute
        The capacity of a bucket and what flows into it in a minute; 0 for no limit.
    """

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def take(self, name: str, n: int = 1) -> int:
        """Take requests from a bucket; return 0, or the whole seconds until there are enough.

        A negative number puts requests back.
        """
        if not self.per_minute:
            return 0
        now, name = time.monotonic(), _network_name(name)
        with self._lock:
            level, last = self._buckets.pop(name, (float(self.per_minute), now))
            level = min(self.per_minute, level + (now - last) * self.per_minute / 60)
            wait = max(0, math.ceil((n - level) * 60 / self.per_minute))
            self._buckets[name] = (level if wait else min(self.per_minute, level - n), now)
            if len(self._buckets) > _MAX_BUCKETS:
                self._buckets.popitem(last=False)
        return wait


@dataclass(frozen=True)
class RateLimits:
    """The limits of one process; each method returns 0, or the seconds to wait."""

    addresses: RateLimit
    keys: RateLimit
    imports: RateLimit = field(default_factory=lambda: RateLimit(IMPORTS))

    def wait_of_address(self, address: str) -> int:
        """Count a request for its address."""
        return self.addresses.take(address)

    def wait_of_key(self, key: str, address: str) -> int:
        """Count a request for its key in place of its address.

        Every request is counted for its address first, so those with a wrong key count there.
        """
        self.addresses.take(address, -1)
        return self.keys.take(key)

    def wait_of_import(self, *names: str) -> int:
        """Count an import for a person and an address."""
        return max(self.imports.take(name) for name in names)


def address_of(scope: Mapping[str, Any]) -> str:
    """Return the address of the client, as a trusted proxy says it."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


@lru_cache(maxsize=1_000)
def is_among(address: str, names: str) -> bool:
    """Return whether an address is named by a setting: addresses, networks, `loopback`, `all`."""
    words = [name.strip() for name in names.split(",")]
    if "all" in words or "*" in words:
        return True
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    for word in (*words, *(_LOOPBACK if "loopback" in words else ())):
        try:
            if parsed in ipaddress.ip_network(word, strict=False):
                return True
        except ValueError:
            continue  # a word such as "key"
    return False


def _network_name(name: str) -> str:
    try:
        parsed = ipaddress.ip_address(name)
    except ValueError:
        return name
    if parsed.version == 6 and parsed.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(parsed) >> 64 << 64, 64)))
    return name

"""Sets of addresses that a setting names: single ones, networks, this machine, all."""

import ipaddress
from functools import lru_cache

_MAX_CACHED = 1_000
_LOOPBACK = ("127.0.0.0/8", "::1")


class AddressSet:
    """Addresses and networks, separated by commas; other words are no addresses and are left out.

    Parameters
    ----------
    text
        Such as `loopback, 10.0.0.0/8`. `all` has every address, also one that is not known.
    """

    def __init__(self, text: str) -> None:
        names = [name.strip() for name in text.split(",")]
        self._has_all = "all" in names or "*" in names
        if "loopback" in names:
            names += _LOOPBACK
        self._networks = [n for n in map(_network, names) if n is not None]
        self._has = lru_cache(maxsize=_MAX_CACHED)(self._is_in_network)

    def __contains__(self, address: object) -> bool:
        """Return whether an address is one of these."""
        return self._has_all or self._has(str(address))

    def _is_in_network(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
            parsed = parsed.ipv4_mapped
        return any(parsed in network for network in self._networks)


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None

"""Addresses that a setting names."""

import pytest

from teaser.app.http.address_set import AddressSet


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("", [], ["127.0.0.1", "::1", "", "unknown"]),
        ("10.1.2.3", ["10.1.2.3", "::ffff:10.1.2.3"], ["10.1.2.4", "unknown"]),
        ("10.0.0.0/8, key", ["10.255.0.1"], ["11.0.0.1", "key", "::1"]),
        ("loopback", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"], ["10.0.0.1", "::2"]),
        ("2001:db8::/32", ["2001:db8:1::5"], ["2001:db9::1", "127.0.0.1"]),
        ("all", ["10.0.0.1", "2001:db8::1", "unknown"], []),
        ("*", ["10.0.0.1"], []),
    ],
)
def test_a_set_has_what_it_names(text: str, inside: list[str], outside: list[str]) -> None:
    found = AddressSet(text)
    assert [address for address in [*inside, *outside] if address in found] == inside

"""What the application can be told, by the command line or the environment."""

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from teaser.errors import ParameterError

PREFIX = "TEASER_"


@dataclass(frozen=True)
class Settings:
    """Settings of one server; each can be given as `TEASER_<NAME>` in the environment.

    Parameters
    ----------
    model
        The folder of the fitted model.
    database_url
        Where people's state is kept: `sqlite:///file` or `postgresql://...`; a file beside the
        model's folder unless given.
    host, port
        Where to listen.
    keys
        Whether the API asks for a key: `"on"`, `"off"`, or `"auto"`, which is off on loopback.
    hosts
        Names under which the site is reached, separated by commas, beside its address; where no
        key is needed, requests under other names are refused.
    proxies
        Addresses of proxies, separated by commas, whose word on scheme and address of whoever
        asks is taken.
    secure_cookies
        Whether the site is reached over https only: cookies travel so, and forms come from there.
    max_body
        The largest request in bytes.
    rate
        Requests a minute from one address, 0 for no limit.
    max_events
        The most actions that are kept of one person.
    copies
        Where private copies of the model are made; the system's temporary folder unless given.
    room
        A folder that all processes of one server share; `teaser serve --workers` makes its own.
    """

    model: Path
    database_url: str = ""
    host: str = "127.0.0.1"
    port: int = 8000
    keys: str = "auto"
    hosts: str = ""
    proxies: str = "127.0.0.1,::1"
    secure_cookies: bool = False
    max_body: int = 65_536
    rate: int = 1_200
    max_events: int = 10_000
    copies: str = ""
    room: str = ""

    def __post_init__(self) -> None:
        if self.keys not in ("auto", "on", "off"):
            raise ParameterError(f"keys must be auto, on or off, found {self.keys!r}.")
        for name in _names(self.hosts):
            if host_of(name) != name.lower() and not _is_address(name):
                raise ParameterError(
                    f"{name!r} is no name of a host. Write it without scheme, port and path."
                )
        if not 0 <= self.port <= 65_535:
            raise ParameterError(f"port must be from 0 to 65535, found {self.port}.")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read every setting that the environment names."""
        given = os.environ if environment is None else environment
        values: dict[str, Any] = {}
        for field in fields(cls):
            text = given.get(PREFIX + field.name.upper())
            if text is not None:
                values[field.name] = _read(field.name, str(field.type), text)
        if "model" not in values:
            raise ParameterError(
                f"No model is named. Set {PREFIX}MODEL to a folder that fit wrote."
            )
        return cls(**values)

    def as_environment(self) -> dict[str, str]:
        """Return the settings as variables that `from_environment` reads back."""
        return {PREFIX + f.name.upper(): str(getattr(self, f.name)) for f in fields(self)}

    @property
    def database(self) -> str:
        """The database that is used."""
        if self.database_url:
            return self.database_url
        return f"sqlite:///{self.model.absolute().with_name(self.model.name + '.people.db')}"

    @property
    def needs_keys(self) -> bool:
        """Whether the API asks for a key."""
        return self.keys == "on" or (self.keys == "auto" and not is_loopback(self.host))

    def is_own_host(self, header: str) -> bool:
        """Tell whether a Host header names this server.

        A page of another site can make its own name lead to this machine and then read what is
        answered; it cannot make the browser send another name. With keys it would learn nothing,
        so there any name is taken unless some are given.
        """
        if self.needs_keys and not self.hosts:
            return True
        host = host_of(header)
        if host is None:
            return False
        if host in (self.host.lower(), "localhost", *(n.lower() for n in _names(self.hosts))):
            return True
        # An address cannot be made to lead elsewhere, as a name can.
        return is_loopback(host) or (not is_loopback(self.host) and _is_address(host))


def host_of(header: str) -> str | None:
    """Return the name or address in a Host header, in small letters; None if there is none."""
    found = re.fullmatch(
        r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/?#@\[\],.][^\s:/?#@\[\],]*?))\.?(?::\d*)?", header
    )
    return (found[1] or found[2]).lower() if found else None


def is_loopback(host: str) -> bool:
    """Tell whether an address is reached from this machine only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_address(host: str) -> bool:
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _read(name: str, kind: str, text: str) -> Any:
    try:
        if "int" in kind:
            return int(text)
        if "bool" in kind:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
    except (ValueError, KeyError):
        raise ParameterError(f"{PREFIX}{name.upper()} cannot be {text!r}.") from None
    return Path(text) if "Path" in kind else text

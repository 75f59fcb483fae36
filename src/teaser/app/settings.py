"""What the application can be told, by the command line or the environment."""

import ipaddress
import os
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
    secure_cookies
        Whether cookies travel over https only.
    max_body
        The largest request in bytes.
    rate
        Requests a minute from one address, 0 for no limit.
    max_events
        The most actions that are kept of one person.
    """

    model: Path
    database_url: str = ""
    host: str = "127.0.0.1"
    port: int = 8000
    keys: str = "auto"
    secure_cookies: bool = False
    max_body: int = 65_536
    rate: int = 1_200
    max_events: int = 10_000

    def __post_init__(self) -> None:
        if self.keys not in ("auto", "on", "off"):
            raise ParameterError(f"keys must be auto, on or off, found {self.keys!r}.")
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


def is_loopback(host: str) -> bool:
    """Tell whether an address is reached from this machine only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read(name: str, kind: str, text: str) -> Any:
    try:
        if "int" in kind:
            return int(text)
        if "bool" in kind:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
    except (ValueError, KeyError):
        raise ParameterError(f"{PREFIX}{name.upper()} cannot be {text!r}.") from None
    return Path(text) if "Path" in kind else text

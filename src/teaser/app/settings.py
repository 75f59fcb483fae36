"""The settings of a server, from arguments or from `TEASER_*` environment variables."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from teaser.errors import ParameterError
from teaser.model.filters import parse_boosts

PREFIX = "TEASER_"
NAME = "TEASER"


class Settings(BaseModel):
    """Settings of one server; each can be set as `TEASER_<NAME>` in the environment.

    Parameters
    ----------
    model
        The folder of the fitted model.
    database_url
        The database of people's events: `sqlite:///file` or `postgresql://...`. By default a
        SQLite file beside the model's folder.
    host, port
        The address to listen on.
    keys
        Whether the API requires a key: `"on"`, `"off"`, or `"auto"`, which is off on loopback.
    admin_keys
        Names of the keys that may reload the model over the API, separated by commas. Where no key
        is required, everybody may.
    hosts
        Names of the site besides its address, separated by commas. Where no key is required,
        requests for other names are refused.
    origins
        Origins of the pages of other sites that may show the list with `embed.js`, separated by
        commas, such as `https://example.org`.
    proxies
        Addresses of trusted proxies, separated by commas. Their headers determine the scheme and
        the client's address.
    secure_cookies
        Whether the site is reached over https only. Cookies are then sent over https only, and
        forms are accepted from https pages only. Without it the scheme of each request counts.
    max_body
        The largest request in bytes.
    max_import
        The largest export, in bytes, that a person can import.
    rate
        Requests a minute from one address, 0 for no limit.
    key_rate
        Requests a minute with one key of the API, 0 for no limit. They do not count for the
        address.
    max_events
        The largest number of events stored for one person.
    retention
        The days after the last action of a person at which `teaser serve` removes the person, once
        a day; 0 for never.
    store_timeout
        The seconds that one request may wait for the database in all; then it gets 503.
    max_connections
        The largest number of connections of one process; beyond it requests get 503.
    idle_timeout
        Seconds after which a connection between two requests is closed, and within which the body
        of a request must have come.
    stop_timeout
        Seconds for requests in progress when the server stops.
    name
        The name of the site: in the header, in titles and in the description of the API.
    accent, accent_dark
        The colour of buttons, matches and bars, as `#0b6f66`; in light and in dark colours. Each
        is taken from the other if it is empty. A shade that can be read is used where the colour
        itself cannot.
    logo
        A picture beside the name: a file in SVG, PNG, WebP or JPEG.
    boost
        What the site adds to scores, by item id, tag or column of true or false, as
        `promoted:0.2; town=Ghent:0.3`. The model must have them. People see it among the reasons.
    monitoring
        Who may read `/metrics` and `/readyz`, separated by commas: addresses, networks such as
        `10.0.0.0/8`, `loopback` (this machine), `key` (whoever sends a key of the API), or `all`.
    log_format
        `"text"`, or `"json"` for one object a line.
    log_level
        From which level on lines are logged: `"debug"`, `"info"`, `"warning"` or `"error"`. The
        line of each request has level info.
    traces
        Whether OpenTelemetry spans are sent, as the `OTEL_*` variables say.
    learn
        Whether `teaser refit` may use what visitors view from now on. The privacy page of the
        site says which it is.
    time_zone
        The time zone of the site, as `Europe/Brussels`: its days end at midnight there. By default
        that of the machine.
    interpreter
        The name of an installed interpreter of requests in words, in place of the own reader; see
        `teaser.words`.
    synonyms
        A TOML file of own synonyms of tags for requests in words.
    mcp
        Whether `/mcp` is served to assistants, where the package for it is installed.

    Raises
    ------
    ParameterError
        If a setting has a wrong value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Path
    database_url: str = ""
    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65_535)
    keys: Literal["auto", "on", "off"] = "auto"
    admin_keys: str = ""
    hosts: str = ""
    origins: str = ""
    proxies: str = "127.0.0.1,::1"
    secure_cookies: bool = False
    max_body: int = Field(65_536, ge=1)
    rate: int = Field(1_200, ge=0)
    max_events: int = Field(10_000, ge=1)
    retention: int = Field(0, ge=0, le=36_500)
    store_timeout: float = Field(1.0, ge=0.1, le=60)
    max_connections: int = Field(2_048, ge=1)
    idle_timeout: float = Field(30.0, gt=0, allow_inf_nan=False)
    stop_timeout: float = Field(10.0, ge=0, allow_inf_nan=False)
    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=40, pattern=r"^\P{C}*$"),
    ] = NAME
    accent: str = ""
    accent_dark: str = ""
    logo: str = ""
    boost: str = ""
    key_rate: int = Field(6_000, ge=0)
    monitoring: str = "loopback, key"
    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    traces: bool = False
    learn: bool = False
    max_import: int = Field(524_288, ge=1)
    time_zone: str = ""
    interpreter: str = ""
    synonyms: str = ""
    mcp: bool = True

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise ParameterError(_describe(error)) from None

    @field_validator("hosts")
    @classmethod
    def _check_hosts(cls, hosts: str) -> str:
        for name in names_in(hosts):
            if host_of(name) != name.lower() and parse_address(name) is None:
                raise ValueError(f"{name!r} is no host name; leave out scheme, port and path")
        return hosts

    @field_validator("origins")
    @classmethod
    def _check_origins(cls, origins: str) -> str:
        for origin in names_in(origins):
            if not re.fullmatch(r"https?://[^\s/?#@]+", origin):
                raise ValueError(
                    f"{origin!r} is no origin; write scheme and host, and the port if it is not "
                    "the usual one, such as https://example.org"
                )
        return origins

    @field_validator("accent", "accent_dark")
    @classmethod
    def _check_colour(cls, colour: str) -> str:
        if colour and not re.fullmatch(r"#?(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})", colour.strip()):
            raise ValueError("it must be a colour such as #0b6f66")
        return colour.strip()

    @field_validator("boost")
    @classmethod
    def _check_boost(cls, boost: str) -> str:
        if boost.strip():
            parse_boosts([boost])
        return boost.strip()

    @field_validator("time_zone")
    @classmethod
    def _check_time_zone(cls, name: str) -> str:
        try:
            if name.strip():
                ZoneInfo(name.strip())
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError("it must be a time zone such as Europe/Brussels") from None
        return name.strip()

    @field_validator("monitoring")
    @classmethod
    def _check_monitoring(cls, monitoring: str) -> str:
        for name in names_in(monitoring):
            if name not in ("all", "key", "loopback") and not _is_network(name):
                raise ValueError(
                    f"{name!r} is no address and no network; write some of these, or all, key, "
                    "loopback, separated by commas, such as loopback, 10.0.0.0/8, key"
                )
        return monitoring

    @classmethod
    def from_environment(cls, **given: Any) -> "Settings":
        """Return the settings in the environment; arguments take precedence."""
        return _EnvironmentSettings(**given)

    @property
    def database(self) -> str:
        """The address of the database in use."""
        if self.database_url:
            return self.database_url
        return f"sqlite:///{self.model.absolute().with_name(self.model.name + '.people.db')}"

    @property
    def boosts(self) -> dict[str, float]:
        """What the site adds to scores, by id, tag or column."""
        return parse_boosts([self.boost]) if self.boost else {}

    @property
    def zone(self) -> ZoneInfo | None:
        """The time zone of the site; None for that of the machine."""
        return ZoneInfo(self.time_zone) if self.time_zone else None

    def largest_body(self, path: str) -> int:
        """Return the bytes of the largest request to a path."""
        return max(self.max_body, self.max_import) if self.takes_import(path) else self.max_body

    def takes_import(self, path: str) -> bool:
        """Return whether a path takes an export of a person."""
        return re.fullmatch(r"/import|/api/v1/people/[^/]+/import", path) is not None

    @property
    def needs_keys(self) -> bool:
        """Whether the API requires a key."""
        return self.keys == "on" or (self.keys == "auto" and not is_loopback(self.host))

    def is_own_host(self, header: str) -> bool:
        """Return whether a Host header names this server.

        This prevents DNS rebinding: another site can point its own name at this machine and read
        the answers, but it cannot make the browser send another name. With keys required it would
        learn nothing, so any name is accepted unless `hosts` lists some.
        """
        if self.needs_keys and not self.hosts:
            return True
        host = host_of(header)
        if host is None:
            return False
        if host in (self.host.lower(), "localhost", *(n.lower() for n in names_in(self.hosts))):
            return True
        # An address, unlike a name, cannot be pointed elsewhere.
        return is_loopback(host) or (not is_loopback(self.host) and parse_address(host) is not None)


class _EnvironmentSettings(Settings, BaseSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX)


def _describe(error: ValidationError) -> str:
    """Return the first problem with the settings: what was found, what is expected."""
    problem = error.errors()[0]
    name = str(problem["loc"][0])
    variable = PREFIX + name.upper()
    if problem["type"] == "missing":
        return f"No {name} is given. Set {variable} to a folder that `teaser fit` wrote."
    expected = str(problem["msg"]).removeprefix("Value error, ").rstrip(".")
    return f"{name} ({variable}) cannot be {problem['input']!r}: {expected}."


def host_of(header: str) -> str | None:
    """Return the lower-case name or address in a Host header; None if it has none."""
    found = re.fullmatch(
        r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/?#@\[\],.][^\s:/?#@\[\],]*?))\.?(?::\d*)?", header
    )
    return (found[1] or found[2]).lower() if found else None


def is_loopback(host: str) -> bool:
    """Return whether an address is reachable from this machine only."""
    address = parse_address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an address, an IPv4 one in IPv6 as IPv4; None for another name."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def _is_network(text: str) -> bool:
    try:
        return bool(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return False


def names_in(text: str) -> list[str]:
    """Return the parts of a setting that commas separate."""
    return [name.strip() for name in text.split(",") if name.strip()]

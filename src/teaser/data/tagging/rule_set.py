"""The declared rules of a table: which columns become tags, which are shown as what; as TOML."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from teaser.data.tagging.rule_kinds import KINDS, Category, ListOf, Number, Rule, Text, Year
from teaser.errors import RuleError, closest

__all__ = ["Category", "ListOf", "Number", "Rule", "Rules", "Text", "Year", "as_rules"]

ROLES = ("title", "description", "picture", "link", "date")


@dataclass(frozen=True)
class Rules:
    """The rules of a table, the roles of its display columns, and why others were passed over."""

    tags: tuple[Rule, ...]
    roles: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rule in self.tags:
            if not isinstance(rule, Rule) or rule.kind not in KINDS:
                raise RuleError(f"A rule must be one of {', '.join(KINDS)}, found {rule!r}.")
            rule.check()
        for role, column in self.roles.items():
            if role not in ROLES:
                raise RuleError(
                    f"Unknown role {role!r} for column {column!r}.{closest(role, ROLES)}"
                )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values that `from_dict` reads back."""
        return {"roles": dict(self.roles), "tags": [rule.as_dict() for rule in self.tags]}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], *, origin: str = "the rules") -> Self:
        """Build rules from plain values, as TOML or JSON hold them."""
        for key in raw:
            if key not in ("roles", "tags"):
                raise RuleError(
                    f"Unknown table [{key}] in {origin}; [[tags]] and [roles] are known."
                )
        tables = raw.get("tags", [])
        if not isinstance(tables, list):
            raise RuleError(f"{origin} must write its rules as [[tags]], with two brackets.")
        roles = raw.get("roles", {})
        if not isinstance(roles, Mapping) or not all(isinstance(v, str) for v in roles.values()):
            raise RuleError(f"[roles] in {origin} must map a role to the name of a column.")
        return cls(tuple(_rule(t, i, origin) for i, t in enumerate(tables, 1)), dict(roles))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read rules from a TOML file."""
        try:
            raw = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            raise RuleError(f"There is no rules file {path}.") from None
        except (OSError, ValueError, RecursionError) as error:
            raise RuleError(f"The rules file {path} could not be read: {error}.") from error
        return cls.from_dict(raw, origin=str(path))

    def write(self, path: str | Path, *, option: str = "--rules") -> None:
        """Write the rules as TOML, to be edited and read again."""
        try:
            Path(path).write_text(self.to_toml(option), encoding="utf-8")
        except OSError as error:
            raise RuleError(f"The rules could not be written to {path}: {error}.") from error

    def to_toml(self, option: str = "--rules") -> str:
        """Return the rules as TOML text, which says by which option the file is passed."""
        lines = [
            f"# Which metadata columns become tags. Edit, and pass the file with {option}.",
            "",
        ]
        if self.roles:
            lines += ["[roles]", *(f"{_toml(k)} = {_toml(v)}" for k, v in self.roles.items()), ""]
        for rule in self.tags:
            lines += ["[[tags]]", *(f"{k} = {_toml(v)}" for k, v in rule.as_dict().items()), ""]
        lines += [f"# {_toml(column)}: {why}" for column, why in self.skipped.items()]
        return "\n".join(lines).rstrip() + "\n"


def as_rules(given: "Rules | str | Path | Iterable[Rule]") -> Rules:
    """Accept rules as a path to TOML, a sequence of rule objects, or `Rules`."""
    if isinstance(given, Rules):
        return given
    if isinstance(given, str | Path):
        return Rules.read(given)
    if isinstance(given, Rule) or not isinstance(given, Iterable):
        raise RuleError(f"Rules come as a path, a list of rules or Rules, found {given!r}.")
    return Rules(tuple(given))


def _rule(raw: Any, place: int, origin: str) -> Rule:
    """Build one rule; `place` counts from 1 and is named in errors."""
    where = f"rule {place} of {origin}"
    if not isinstance(raw, Mapping):
        raise RuleError(f"{where} is not a table of settings: {raw!r}.")
    settings = dict(raw)
    kind = settings.pop("kind", None)
    if kind not in list(KINDS):
        raise RuleError(f"Unknown kind {kind!r} in {where}. Known: {', '.join(KINDS)}.")
    known = [f.name for f in fields(KINDS[kind])]
    for name, value in settings.items():
        if name not in known:
            raise RuleError(f"Unknown setting {name!r} in {where}.{closest(name, known)}")
        if isinstance(value, list):
            settings[name] = tuple(value)
    if "column" not in settings:
        raise RuleError(f"{where} names no column.")
    rule = KINDS[kind](**settings)
    try:
        rule.check()
    except RuleError as error:
        raise RuleError(f"In {where}: {error}") from None
    return rule


def _toml(value: Any) -> str:
    """Write a string, number, boolean or list of them as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = "".join(
            f"\\u{ord(c):04X}" if ord(c) < 32 or ord(c) == 127 else "\\" + c if c in '"\\' else c
            for c in value
        )
        return f'"{escaped}"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return repr(float(value) if isinstance(value, float) else value)

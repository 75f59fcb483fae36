"""The rules of a table: which columns become tags, which are displayed; as TOML."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

import tomlkit
from tomlkit.items import AoT, Table

from teaser.data.tagging.rule_kinds import KINDS, Category, ListOf, Number, Rule, Text, Year
from teaser.errors import RuleError, closest, counted
from teaser.files.named import read_settings
from teaser.notebook.data_view import draw_rules

__all__ = ["Category", "ListOf", "Number", "Rule", "Rules", "RulesLike", "Text", "Year", "as_rules"]

# The next prepare infers the rules again as long as this line fits the text above it.
_MARK = "\n# Not edited: prepare writes this file anew until it is. "
ROLES = ("title", "description", "picture", "link", "date")


@dataclass(frozen=True)
class Rules:
    """The rules of a table.

    Attributes
    ----------
    tags
        The rules of the columns that become tags.
    roles
        The columns that are displayed, by role.
    skipped
        The columns that are not used, with the reason.
    text
        The TOML that the rules were read from; its comments are kept when the rules are written.
    """

    tags: tuple[Rule, ...]
    roles: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    text: str = field(default="", repr=False, compare=False)

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
        """Return rules made of plain values, as read from TOML or JSON."""
        for key in raw:
            if key not in ("roles", "tags"):
                raise RuleError(f"Unknown table [{key}] in {origin}. Known: [[tags]] and [roles].")
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
        text = _read(path)
        try:
            raw = tomlkit.parse(text).unwrap()
        except (ValueError, RecursionError) as error:
            raise RuleError(f"The rules file {path} could not be read: {error}.") from error
        return replace(cls.from_dict(raw, origin=str(path)), text=text)

    def write(self, path: str | Path, *, option: str = "--rules") -> None:
        """Write the rules as TOML, to be edited and read again.

        Rules that were not read from a file get a last line by which `is_unedited` recognises
        them.
        """
        text = self.to_toml(option)
        try:
            Path(path).write_text(text if self.text else _marked(text), encoding="utf-8")
        except OSError as error:
            raise RuleError(f"The rules could not be written to {path}: {error}.") from error

    def to_toml(self, option: str = "--rules") -> str:
        """Return the rules as TOML; comments of a file that they were read from are kept.

        Parameters
        ----------
        option
            The option that takes such a file, named in the first line of a new file.
        """
        edited = self._edited_text()
        if edited is not None:
            return edited
        header = f"# Which metadata columns become tags. Edit, and pass the file with {option}.\n"
        known = {name: value for name, value in self.as_dict().items() if value}
        skipped = "".join(
            f"# {tomlkit.string(column).as_string()}: {why}\n"
            for column, why in self.skipped.items()
        )
        return "\n".join(part for part in (header, tomlkit.dumps(known), skipped) if part)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write a line a rule, role and skipped column, for IPython in a terminal."""
        lines = [counted(len(self.tags), "rule")]
        for rule in self.tags:
            own = {k: v for k, v in rule.as_dict().items() if k not in ("kind", "column")}
            settings = ", ".join(f"{name}={value!r}" for name, value in own.items())
            lines.append(f"  {rule.kind} of {', '.join(rule.columns)}: {settings}".rstrip(": "))
        lines += [f"  {role}: {column}" for role, column in self.roles.items()]
        lines += [f"  not used: {column}, {why}" for column, why in self.skipped.items()]
        printer.text("\n".join(lines))

    def _repr_html_(self) -> str:
        return draw_rules([rule.as_dict() for rule in self.tags], self.roles, self.skipped)

    def _edited_text(self) -> str | None:
        """Return the text that was read, with changed settings replaced; None without one."""
        if not self.text:
            return None
        document = tomlkit.parse(self.text)
        tables = document.get("tags")
        rules = [rule.as_dict() for rule in self.tags]
        named = [(rule["kind"], rule["column"]) for rule in rules]
        if not isinstance(tables, AoT) or named != [(t["kind"], t["column"]) for t in tables]:
            return None
        for table, settings in zip(tables, rules, strict=True):
            _update(table, settings)
        if self.roles and "roles" not in document:
            document["roles"] = dict(self.roles)
        found = Rules.from_dict(document.unwrap())
        same = found.tags == self.tags and found.roles == self.roles
        return document.as_string() if same else None


def is_unedited(path: str | Path, now: str = "") -> bool:
    """Whether a file of rules is as `Rules.write` wrote it, with rules that nobody edited.

    Parameters
    ----------
    now
        The rules of today as TOML. A file that says the same is not edited either: earlier
        versions wrote no last line.
    """
    text = _read(path)
    before, mark, _ = text.rpartition(_MARK)
    return text == now or (bool(mark) and text == _marked(before))


def _read(path: str | Path) -> str:
    try:
        return read_settings(path, encoding="utf-8-sig")
    except FileNotFoundError:
        raise RuleError(f"There is no rules file {path}.") from None
    except (OSError, ValueError) as error:
        raise RuleError(f"The rules file {path} could not be read: {error}.") from error


def _marked(text: str) -> str:
    """Return a text with a last line that fits no other text."""
    return f"{text}{_MARK}{hashlib.sha256(text.encode()).hexdigest()[:16]}\n"


RulesLike = Rules | str | Path | Iterable[Rule] | None


def as_rules(given: RulesLike) -> Rules:
    """Return rules that are given as a path to TOML, rule objects, or `Rules`."""
    if isinstance(given, Rules):
        return given
    if isinstance(given, str | Path):
        return Rules.read(given)
    if isinstance(given, Rule) or not isinstance(given, Iterable):
        raise RuleError(f"Rules must be a path, a list of rules or Rules, found {given!r}.")
    return Rules(tuple(given))


def _rule(raw: Any, number: int, origin: str) -> Rule:
    """Return one rule; errors name its number, from 1."""
    where = f"rule {number} of {origin}"
    if not isinstance(raw, Mapping):
        raise RuleError(f"{where} is not a table of settings: {raw!r}.")
    settings = dict(raw)
    kind = settings.pop("kind", None)
    if kind not in list(KINDS):
        raise RuleError(f"Unknown kind {kind!r} in {where}. Known: {', '.join(KINDS)}.")
    known = [f.name for f in fields(KINDS[kind])]
    for name in settings:
        if name not in known:
            raise RuleError(f"Unknown setting {name!r} in {where}.{closest(name, known)}")
    if "column" not in settings:
        raise RuleError(f"{where} names no column.")
    rule = KINDS[kind](**settings)
    try:
        rule.check()
    except RuleError as error:
        raise RuleError(f"In {where}: {error}") from None
    return rule


def _update(table: Table, settings: Mapping[str, Any]) -> None:
    """Replace changed settings; new ones go before the comments at the end of the table."""
    body = table.value.body
    trailing = []
    while body and body[-1][0] is None:
        trailing.append(body.pop())
    for name, value in settings.items():
        if table.get(name) != value:
            table[name] = value
    body.extend(reversed(trailing))

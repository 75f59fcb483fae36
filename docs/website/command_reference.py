"""The reference of the command line, made from the program itself."""

import re
from collections.abc import Container, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.text import Text
from typer.main import get_command

from teaser.cli.main import app

PROGRAM = "teaser"
HEADER = (
    "# Reference of the command line\n\n"
    "<!-- Made from the program by `make references`. "
    "Change the help texts in src/teaser/cli, not this page. -->\n\n"
    "Every command with its arguments and options, as the program's own `--help` has them. "
    "Options that several commands share stand once, [at the end](#shared-options). "
    "An option without a default is off, or is not given. "
    "An option with the word *repeat* can be given several times.\n"
)


def command_page() -> str:
    """Return the page, as Markdown."""
    commands = list(walk(get_command(app), PROGRAM))
    index = ["| command | does |", "|---|---|"]
    index += [f"| [`{name}`](#{anchor(name)}) | {plain(c.help)} |" for name, c in commands]
    shared = shared_options(commands)
    sections = ["\n".join(section(name, command, shared)).rstrip() for name, command in commands]
    rows = [f"| {row} | {', '.join(f'`{n}`' for n in names)} |" for row, names in shared.items()]
    head = ["## Shared options", "", "| option | meaning | default | of |", "|---|---|---|---|"]
    return "\n".join([HEADER, *index, "", "\n\n".join(sections), "", *head, *rows]) + "\n"


def shared_options(commands: list[tuple[str, Any]]) -> dict[str, list[str]]:
    """Return the rows of options that several commands have alike, with these commands."""
    found: dict[str, list[str]] = {}
    for name, command in commands:
        for parameter in filter(is_option, command.params):
            found.setdefault(row(flags(parameter), parameter), []).append(name.split(" ", 1)[1])
    return {text: names for text, names in found.items() if len(names) > 1}


def walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the commands that do something, each with its full name."""
    for word, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from walk(inner, f"{name} {word}")
    if not hasattr(command, "commands"):
        yield name, command


def section(name: str, command: Any, shared: Container[str] = ()) -> Iterator[str]:
    """Yield the lines on one command."""
    arguments = [p for p in command.params if not is_option(p) and not p.hidden]
    options = [p for p in command.params if is_option(p) and not p.hidden]
    options = [p for p in options if row(flags(p), p) not in shared]
    yield from (f"## {name}", "", plain(command.help), "", "```text")
    yield " ".join([name, *map(usage, arguments), "[OPTIONS]"])
    yield from ("```", "")
    if arguments:
        yield from table("argument", ((f"`{usage(p)}`", p) for p in arguments))
    for panel, group in groupby(by_panel(options), key=panel_of):
        if panel:
            yield from (f"**{panel}**", "")
        yield from table("option", ((flags(p), p) for p in group))


def by_panel(options: list[Any]) -> list[Any]:
    """Return options in the order of the help: plain ones first, then panel by panel."""
    panels = list(dict.fromkeys(["", *map(panel_of, options)]))
    return sorted(options, key=lambda option: panels.index(panel_of(option)))


def panel_of(option: Any) -> str:
    """Return the title under which the help lists an option; the first has none."""
    return str(getattr(option, "rich_help_panel", None) or "")


def table(what: str, rows: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Yield a table of arguments or options."""
    yield from (f"| {what} | meaning | default |", "|---|---|---|")
    yield from (f"| {row(name, parameter)} |" for name, parameter in rows)
    yield ""


def row(name: str, parameter: Any) -> str:
    """Return the cells of a parameter."""
    return " | ".join((name, *meaning_and_default(parameter)))


def meaning_and_default(parameter: Any) -> tuple[str, str]:
    """Return the help of a parameter, and its default as it would be typed."""
    text = plain(parameter.help)
    text, _, written = text.partition(" [default: ")
    default = written.rstrip("]") or say_default(parameter)
    if getattr(parameter, "multiple", False) and "repeat" not in text:
        text += " Repeat."
    if parameter.envvar:
        text += f" Setting: `{parameter.envvar}`."
    if parameter.required:
        return text, "*needed*"
    return text, f"`{default}`" if default else ""


def say_default(parameter: Any) -> str:
    """Return the default as it would be typed, or nothing where there is none."""
    value = parameter.default
    if getattr(parameter, "is_flag", False):
        pair = parameter.opts[0], (parameter.secondary_opts or [""])[0]
        return str(pair[0] if value else pair[1])
    if value is None or value == () or value == [] or callable(value):
        return ""
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return str(value.as_posix() if isinstance(value, Path) else value)


def flags(option: Any) -> str:
    """Return the ways to write an option, the long one first."""
    names = sorted(option.opts, key=lambda flag: not flag.startswith("--"))
    return ", ".join(f"`{flag}`" for flag in [*names, *option.secondary_opts])


def usage(argument: Any) -> str:
    """Return an argument as the usage line has it."""
    name = argument.metavar or argument.name.upper()
    name = f"{name}..." if argument.nargs == -1 else name
    return name if argument.required else f"[{name.strip('[]')}]"


def is_option(parameter: Any) -> bool:
    """Whether a parameter is written with dashes."""
    return bool(parameter.opts[0].startswith("-"))


def plain(help_text: str | None) -> str:
    """Return a help text on one line, without colours, safe in a cell of a table."""
    text = Text.from_markup(help_text or "").plain
    text = " ".join(text.split()).replace("|", "\\|").replace("*", "\\*").replace("<", "\\<")
    return re.sub(r"(?<![\w`-])--[a-z][\w-]*", r"`\g<0>`", text)


def anchor(heading: str) -> str:
    """Return the name by which links reach a heading."""
    return heading.lower().replace(" ", "-")

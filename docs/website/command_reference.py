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
    "Every command, as its own `--help` has it. What several commands share stands once, at the "
    "end: [arguments](#shared-arguments) and [options](#shared-options). An argument in brackets "
    "can be left out. *Repeat* marks options that can be given several times.\n"
)


def command_page() -> str:
    """Return the page, as Markdown."""
    commands = list(walk(get_command(app), PROGRAM))
    index = ", ".join(f"[{name.split(' ', 1)[1]}](#{anchor(name)})" for name, _ in commands)
    arguments = shared_lines(commands, options=False)
    options = shared_lines(commands, options=True)
    shared = {*arguments, *options}
    sections = ["\n".join(section(name, command, shared)).rstrip() for name, command in commands]
    ends = ["## Shared arguments", "", *arguments, "", "## Shared options"]
    for names, lines in groupby(options, key=options.get):
        ends += ["", f"Of {', '.join(f'`{name}`' for name in names or ())}:", "", *lines]
    return "\n".join([HEADER, f"{index}.", "", "\n\n".join(sections), "", *ends]) + "\n"


def shared_lines(commands: list[tuple[str, Any]], *, options: bool) -> dict[str, list[str]]:
    """Return the lines of parameters that several commands have alike, with these commands."""
    found: dict[str, list[str]] = {}
    for name, command in commands:
        for parameter in command.params:
            if is_option(parameter) == options:
                found.setdefault(line(parameter), []).append(name.split(" ", 1)[1])
    shared = {text: names for text, names in found.items() if len(names) > 1}
    order = list(dict.fromkeys(map(tuple, shared.values())))
    return dict(sorted(shared.items(), key=lambda item: order.index(tuple(item[1]))))


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
    yield from (f"## {name}", "", plain(command.help), "")
    if arguments:
        yield from (f"`{' '.join([name, *map(usage, arguments)])}`", "")
    yield from block(line(p) for p in arguments if line(p) not in shared)
    own = [p for p in options if line(p) not in shared]
    for panel, group in groupby(by_panel(own), key=panel_of):
        if panel:
            yield from (f"**{panel}**", "")
        yield from block(map(line, group))


def by_panel(options: list[Any]) -> list[Any]:
    """Return options in the order of the help: plain ones first, then panel by panel."""
    panels = list(dict.fromkeys(["", *map(panel_of, options)]))
    return sorted(options, key=lambda option: panels.index(panel_of(option)))


def panel_of(option: Any) -> str:
    """Return the title under which the help lists an option; the first has none."""
    return str(getattr(option, "rich_help_panel", None) or "")


def block(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines and an empty one; nothing where there are none."""
    if found := list(lines):
        yield from (*found, "")


def line(parameter: Any) -> str:
    """Return a parameter, its help and its default as an item of a list."""
    text, default = meaning_and_default(parameter)
    name = flags(parameter) if is_option(parameter) else f"`{usage(parameter)}`"
    return f"- {name}: {text}{f' Default {default}.' if default else ''}"


def meaning_and_default(parameter: Any) -> tuple[str, str]:
    """Return the help of a parameter, and its default as it would be typed."""
    text = plain(parameter.help)
    text, _, written = text.partition(" [default: ")
    default = written.rstrip("]") or say_default(parameter)
    if getattr(parameter, "multiple", False) and "repeat" not in text:
        text += " Repeat."
    if parameter.envvar:
        text += f" Setting: `{parameter.envvar}`."
    if parameter.required and is_option(parameter):
        text += " Needed."
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

"""The reference of the command line: every command and option, as the program has them."""

from typing import Any

from typer.main import get_command
from website.command_reference import (
    command_page,
    flags,
    is_option,
    walk,
)

from teaser.cli.main import app

COMMANDS = dict(walk(get_command(app), "teaser"))


def options(command: str) -> dict[str, Any]:
    return {p.name: p for p in COMMANDS[command].params}


def test_every_command_and_option_is_documented_and_says_what_it_does() -> None:
    page = command_page()
    for name, command in COMMANDS.items():
        assert f"\n## {name}\n" in page
        assert command.help, name
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.name} has no help"
            if is_option(parameter):
                assert f"| {flags(parameter)} | " in page, f"{name} {parameter.name}"

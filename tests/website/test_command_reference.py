"""The reference of the command line: every command and option, as the program has them."""

from typing import Any

from typer.main import get_command
from website.command_reference import (
    command_page,
    flags,
    is_option,
    meaning_and_default,
    plain,
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


def test_defaults_are_written_as_they_would_be_typed() -> None:
    fit, serve = options("teaser fit"), options("teaser serve")
    assert meaning_and_default(fit["l2_weights"])[1] == "`200.0`"
    assert meaning_and_default(fit["keep_groups"])[1] == "`--keep-groups`"
    assert meaning_and_default(fit["weights"])[1] == ""
    assert meaning_and_default(fit["folder"])[1] == "*needed*"
    # The default of an entry of an extension stands in its help.
    text, default = meaning_and_default(fit["weights_user_power"])
    assert (default, "default" in text) == ("`0.5`", False)
    assert "Setting: `TEASER_PORT`." in meaning_and_default(serve["port"])[0]


def test_help_is_safe_in_a_table() -> None:
    assert plain("a | b\n[dim]c[/] *d* for --half-life") == r"a \| b c \*d\* for `--half-life`"

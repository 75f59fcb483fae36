"""The pages that are made from the program equal the program, and name all that is public."""

from typing import Any

from typer.main import get_command
from website import python_reference
from website.command_reference import command_page, flags, is_option, walk
from website.references import stale

import teaser
from teaser.cli.main import app


def test_the_pages_made_from_the_program_are_up_to_date() -> None:
    assert not stale(), "Run make references: the program has changed."


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
                assert f"- {flags(parameter)}: " in page, f"{name} {parameter.name}"


def test_every_public_name_is_on_one_page_of_the_reference() -> None:
    by_page = python_reference.names_by_page()
    listed = [path for names in by_page.values() for path in names]
    assert len(listed) == len(set(listed))
    for name in teaser.__all__:
        assert f"teaser.{name}" in listed
    for path, value in python_reference.public_names().items():
        assert python_reference.summary(path, value).strip(), f"{path} has no docstring"
    titles = {page.name: names for page, names in by_page.items()}
    assert titles["data"][0] == "teaser.Dataset"
    assert "teaser.baselines.EASE" in titles["models"]
    assert "teaser.errors.UnknownNameError" in titles["errors"]

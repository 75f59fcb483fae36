"""The pages that are made from the program equal the program."""

import pytest
from website.references import DOCS, MADE, stale


def test_the_pages_made_from_the_program_are_up_to_date() -> None:
    assert not stale(), "Run make references: the program has changed."


def test_a_changed_page_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MADE, "users/commands.md", lambda text: text + "## teaser dance\n")
    assert list(stale()) == [DOCS / "users" / "commands.md"]

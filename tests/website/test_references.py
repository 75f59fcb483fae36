"""The pages that are made from the program equal the program."""

from website.references import stale


def test_the_pages_made_from_the_program_are_up_to_date() -> None:
    assert not stale(), "Run make references: the program has changed."

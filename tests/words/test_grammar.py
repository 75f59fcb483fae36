"""What signs count for."""

import pytest
from words.catalogues import TODAY, vocabulary

from teaser.words.grammar import Grammar
from teaser.words.segmenter import Segmenter


def wishes(text: str, language: str = "en", catalogue: str = "events") -> list[str]:
    known = vocabulary(catalogue)
    atoms = Segmenter(text, known, language, TODAY).atoms()
    return [str(wish) for wish in Grammar(text, known, atoms).run()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no jazz and no rock", ["without theme=Jazz", "without theme=Rock"]),
        ("no jazz or rock", ["without theme=Jazz", "without theme=Rock"]),
        ("no jazz; rock", ["without theme=Jazz", "press +4 theme=Rock"]),
        ("no jazz. rock", ["without theme=Jazz", "press +4 theme=Rock"]),
        ("no jazz in Ghent", ["without theme=Jazz", "only town=Ghent"]),
        ("no jazz, Ghent or Bruges", ["without theme=Jazz", "only town=Ghent", "only town=Bruges"]),
        ("near Ghent, Bruges or Kortrijk",
         ["press +4 town=Ghent", "press +4 town=Bruges", "press +4 town=Kortrijk"]),
        ("only in Ghent", ["only town=Ghent"]),
        ("preferably in Ghent", ["press +2 town=Ghent"]),
        ("less in Ghent", ["press -4 town=Ghent"]),
        ("nothing in Ghent", ["without town=Ghent"]),
        ("for a week no jazz", ["never theme=Jazz for week"]),
        ("never jazz this week", ["never theme=Jazz for week"]),
        ("jazz for today", ["press +4 theme=Jazz", "when today"]),
    ],
)  # fmt: skip
def test_scope(text: str, expected: list[str]) -> None:
    assert wishes(text) == expected


def test_numbers_after_a_decade_are_decades() -> None:
    assert wishes("des années 80 ou 90", "fr", "films") == [
        "press +4 decade=1980s", "press +4 decade=1990s",
    ]  # fmt: skip


def test_a_day_cannot_be_excluded() -> None:
    known = vocabulary("events")
    text = "jazz, not this weekend"
    grammar = Grammar(text, known, Segmenter(text, known, "en", TODAY).atoms())
    assert [str(wish) for wish in grammar.run()] == ["press +4 theme=Jazz"]
    assert grammar.unknown == ["this weekend"]


def test_a_negation_turns_bounds_and_scales_round() -> None:
    assert wishes("nothing over 20 euro") == ["at_most price 20"]
    assert wishes("not posh")[0] == "press +2 price_band=free"

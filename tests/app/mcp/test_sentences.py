"""Sentences: names with ids, numbers as the library says them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import reason as why
from teaser.app.api.guide import Lift, LiftAnswer
from teaser.app.api.schema import responses
from teaser.app.api.schema.person_responses import Steps
from teaser.app.api.schema.reason_responses import reasons_of
from teaser.app.mcp import sentences
from teaser.app.people.events import Event
from teaser.data.tags import Tag
from teaser.steer.similarity import Similar

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
tags = st.builds(Tag, texts.filter(lambda t: "=" not in t and t.strip()), texts)
numbers = st.floats(-1, 1)


def test_an_item_is_named_by_title_and_id() -> None:
    assert sentences.name_of("i1", "Jazz") == "Jazz (i1)"
    assert sentences.name_of(17, None) == "17"
    assert sentences.name_of(17, "17") == "17"


@given(st.lists(tags, min_size=1, max_size=3, unique=True), numbers, numbers, numbers, numbers)
def test_a_reason_says_what_the_library_says(
    named: list[Tag], part: float, share: float, affinity: float, weight: float
) -> None:
    reason = why.Reason(named[0], part, share, affinity, weight, tuple(named))
    assert sentences.reason_sentences(reasons_of([reason])) == [reason.sentence()]


@given(
    st.one_of(st.integers(), texts), numbers, numbers, st.one_of(st.none(), texts), st.booleans()
)
def test_a_viewed_item_says_what_the_library_says(
    item_id: int | str, part: float, share: float, title: str | None, disliked: bool
) -> None:
    reason = why.ViewedReason(item_id, part, share, title, disliked)
    assert sentences.reason_sentences(reasons_of([reason])) == [reason.sentence()]


@pytest.mark.parametrize("name", [Tag("town", "Ghent"), 17, "promoted"])
def test_a_boost_says_what_the_library_says(name: Tag | int | str) -> None:
    reason = why.BoostReason(name, 0.2, 0.1)
    assert sentences.reason_sentences(reasons_of([reason])) == [reason.sentence()]


@pytest.mark.parametrize(
    ("steps", "said"), [(1, "+ once"), (-1, "- once"), (2, "+ twice"), (-5, "- 5 times")]
)
def test_steps_are_told_in_words(steps: int, said: str) -> None:
    assert sentences.steps_text(steps) == said


def test_a_lift_is_an_instruction_or_says_why_there_is_none() -> None:
    steps = [Steps(tag="town=Ghent", steps=2), Steps(tag="type=film", steps=-1)]
    lift = Lift(presses=steps, total=3, rank_before=40, rank_after=9)
    (said,) = sentences.of_lift("Jazz (i1)", 10, LiftAnswer(lift=lift))
    assert "+ twice on town=Ghent and - once on type=film" in said
    assert "from place 40 to 9" in said
    there = Lift(presses=[], total=0, rank_before=3, rank_after=3)
    assert "place 3 already" in sentences.of_lift("i1", 10, LiftAnswer(lift=there))[0]
    assert "first 10" in sentences.of_lift("i1", 10, LiftAnswer(lift=None))[0]


def test_empty_results_say_so() -> None:
    empty = responses.Recommendations(recommendations=[], ignored=0)
    assert "No item" in sentences.of_list(empty)[0]
    assert "No name" in sentences.of_found(responses.Found(items=[], tags=[]))[0]
    assert "i1" in sentences.of_similar("i1", responses.SimilarItems(similar=[]))[0]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event("press", {"presses": {"town=Ghent": -2}}), "- twice on town=Ghent"),
        (Event("view", {"item": "i7"}), "view i7"),
        (Event("hide", {"tag": "town=Ghent"}), "hide town=Ghent"),
        (Event("switch_feed", {"feed": "x"}), "switch feed"),
        (Event("reset"), "reset"),
        (
            Event("several", {"actions": [["hide", {"item": "i7"}], ["vary", {"variety": 1}]]}),
            "hide i7 and vary",
        ),
    ],
)
def test_an_action_is_told_in_a_few_words(event: Event, said: str) -> None:
    assert sentences.of_event(event) == said


def test_tags_that_items_share_are_told_apart_by_their_features() -> None:
    shared = tuple((Tag(feature, "Varda"), 0.5) for feature in ("director", "writer"))
    other = responses.SimilarItem.of(Similar("i2", 0.8, shared))
    assert sentences.of_similar("i1", responses.SimilarItems(similar=[other])) == [
        "1. i2, similarity 80 %: both have Varda (director and writer)."
    ]

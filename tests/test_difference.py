"""Why one item stands above another: differences that add up."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminal import pretty

from teaser import Dataset, Steering, Tag, Teaser
from teaser.errors import ParameterError, UnknownNameError
from teaser.explain import Difference, DifferencePart, Explanation
from teaser.extensions import Remainder
from teaser.model.baselines.ease import EASE
from teaser.model.baselines.product import Product
from teaser.profile import GENERAL

IDS = st.integers(0, 39).map(lambda i: f"i{i}")
PAIRS = st.lists(IDS, min_size=2, max_size=2, unique=True)
STRENGTHS = st.dictionaries(IDS, st.sampled_from([1.0, 0.5, -0.125]), max_size=6)
HISTORIES = st.lists(IDS, max_size=6, unique=True)
TAGS = ("type=concert", "type=film", "town=Ghent", "town=Liège", "labels=free",
        "popularity=popularity", "general appeal=general appeal")  # fmt: skip
PRESSES = st.dictionaries(st.sampled_from(TAGS), st.integers(-5, 5), max_size=3)
BOOSTS = st.dictionaries(st.sampled_from(["i3", "i7", "town=Ghent"]), st.floats(-2, 2), max_size=2)
BALANCES = st.sampled_from([0.0, 0.3, 0.5, 1.0])


@pytest.fixture(scope="module")
def with_views(dataset: Dataset) -> Teaser:
    return Teaser(l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(l2=5.0)).fit(dataset)


def slow_parts(first: Explanation, second: Explanation) -> dict[object, float]:
    """Return the difference by tag, viewed item and boost, from two whole explanations."""
    found: dict[object, float] = {}
    for sign, said in ((1, first), (-1, second)):
        boosts = {("boost", r.name): r.contribution for r in said._boosts()}
        own: dict[Any, float] = {**said.tags, GENERAL: said.general, **said.viewed, **boosts}
        for name, part in own.items():
            found[name] = found.get(name, 0.0) + sign * part
    return found


@given(PAIRS, STRENGTHS, PRESSES, BOOSTS, BALANCES)
def test_differences_sum_to_that_of_the_scores(
    with_views: Teaser,
    pair: list[str],
    history: dict[str, float],
    presses: dict[str, int],
    boost: dict[str, float],
    balance: float,
) -> None:
    steering = Steering(balance=balance)
    asked: dict[str, Any] = {"presses": presses, "boost": boost, "steering": steering}
    found = with_views.compare(pair[0], pair[1], history, **asked)
    first, second = (with_views.explain(item, history, **asked) for item in pair)
    assert (found.score, found.other_score) == (first.score, second.score)
    assert (found.title, found.other_title) == (first.title, second.title)
    moved = [part.difference for part in found.parts]
    assert sum(moved) == pytest.approx(found.score - found.other_score, abs=1e-9)
    assert sum(p.contribution for p in found.parts) == pytest.approx(first.score, abs=1e-9)
    assert sum(p.other_contribution for p in found.parts) == pytest.approx(second.score, abs=1e-9)
    assert [abs(x) for x in moved] == sorted(map(abs, moved), reverse=True)
    assert sum(abs(p.share) for p in found.parts) == pytest.approx(1.0 if found.total else 0.0)
    assert sum(p.share for p in found.parts) * found.total == pytest.approx(found.difference)
    wanted = slow_parts(first, second)
    told: list[object] = []
    for part in found.parts:
        if part.kind in ("viewed", "disliked"):
            assert (part.kind == "disliked") == (history[str(part.name)] < 0)
        names: list[object] = [*part.tags] or [part.name]
        if part.kind == "boost":
            names = [("boost", part.name)]
        assert part.difference == pytest.approx(sum(wanted[name] for name in names), abs=1e-12)
        told += names
    assert len(told) == len(set(told))
    assert {name for name, x in wanted.items() if x} <= set(told)


@given(PAIRS, HISTORIES, PRESSES)
def test_the_other_way_round_everything_has_the_other_sign(
    model: Teaser, pair: list[str], history: list[str], presses: dict[str, int]
) -> None:
    there = model.compare(pair[0], pair[1], history, presses)
    back = model.compare(pair[1], pair[0], history, presses)
    assert there.difference == -back.difference
    moved = {part.tags: part.difference for part in there.parts}
    assert {part.tags: -part.difference for part in back.parts} == pytest.approx(moved, abs=1e-12)
    if there.difference:
        first, second = (each.sentence().split(",")[0] for each in (there, back))
        assert first == second


def part(value: str, own: float, other: float, feature: str = "genre") -> DifferencePart:
    tag = Tag(feature, value)
    return DifferencePart("tag", tag, own, other, own - other, tags=(tag,))


def test_the_sentence_names_what_decides_for_the_higher_item() -> None:
    parts = (part("Jazz", 0.5, 0.1), part("Free", 0.0, 0.2), part("Evening", 0.1, 0.1))
    found = Difference("a", "b", 0.6, 0.4, parts, "Miles")
    assert found.names() == ("Miles", "b")
    assert found.sentence() == (
        "Miles stands 0.200 above b, because of Jazz (+0.400), "
        "in spite of the lack of Free (-0.200)."
    )
    tiny = Difference("a", "b", 0.4, 0.0, (part("Jazz", 0.4, 0.0), part("Free", 0.001, 0.0)))
    assert tiny.sentence() == "a stands 0.400 above b, because of Jazz (+0.400)."
    lower = Difference("a", "b", 0.4, 0.6, (part("Free", 0.0, 0.2),))
    assert lower.sentence() == "b stands 0.200 above a, because of Free (+0.200)."
    assert Difference("a", "b", 0.4, 0.4, ()).sentence() == "a and b have the same score."


def test_of_a_product_the_parts_cover_the_model_with_tags(dataset: Dataset) -> None:
    product = Product(Teaser(l2_weights=5.0, l2_encoder=5.0), EASE(l2=5.0)).fit(dataset)
    found = product.compare("i3", "i4", ["i1", "i5"])
    said: list[Any] = [product.explain(item, ["i1", "i5"]) for item in ("i3", "i4")]
    first, second = said
    assert (found.cover, found.other_cover) == (first.cover, second.cover)
    explained = first.cover.explained - second.cover.explained
    assert sum(p.difference for p in found.parts) == pytest.approx(explained, abs=1e-9)
    assert found.score == first.score
    assert "which has no reasons" in found.note
    assert found.sentence().endswith(found.note)
    assert found.note in pretty(found)
    cold = product.compare("i3", "i4", [])
    assert "whole score" in cold.note


def test_bad_questions_are_refused(model: Teaser) -> None:
    with pytest.raises(ParameterError, match=r"Both items are 'i3'\. Name two different ones"):
        model.compare("i3", "i3", [])
    with pytest.raises(UnknownNameError, match="'nowhere'"):
        model.compare("i3", "nowhere", [])
    with pytest.raises(UnknownNameError, match="'elsewhere'"):
        model.compare("elsewhere", "i3", [])

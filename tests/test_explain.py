"""The promises to users: what is shown adds up, and a press does what it says."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teaser import Steering, Tag, Teaser
from teaser.explain import (
    AnyReason,
    Parts,
    Reason,
    ViewedReason,
    first_reasons,
    join_values,
    short_reasons,
    tell_reasons,
)
from teaser.profile import GENERAL, POPULARITY
from teaser.steps import MAX_VIEWED, Step, StepKind, arrange, fold_small

TAGS = tuple(Tag("f", str(i)) for i in range(6))
HISTORIES = st.lists(st.integers(0, 39).map(lambda i: f"i{i}"), max_size=6, unique=True)
PRESSES = st.dictionaries(
    st.sampled_from(
        [
            "type=concert",
            "type=film",
            "town=Ghent",
            "town=Liège",
            "labels=free",
            "popularity=popularity",
            "general appeal=general appeal",
        ]
    ),
    st.integers(-5, 5),
    max_size=3,
)
fixture_is_read_only = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@fixture_is_read_only
@given(HISTORIES, PRESSES, st.integers(0, 39), st.sampled_from(["robust", "paper"]))
def test_contributions_sum_to_the_score(
    model: Teaser, history: list[str], presses: dict[str, int], item: int, scale: str
) -> None:
    found = model.explain(f"i{item}", history, presses, steering=Steering(scale=scale))
    assert found.general + sum(found.tags.values()) == pytest.approx(found.score, abs=1e-12)
    assert sum(found.contributions.values()) == pytest.approx(found.score, abs=1e-12)
    profile = model.profile(history, presses, steering=Steering(scale=scale))
    a = profile.affinities
    told: list[Tag] = []
    for reason in found.reasons:
        assert isinstance(reason, Reason)
        assert reason.affinity == pytest.approx(sum(a[tag] for tag in reason.tags))
        assert reason.contribution == pytest.approx(sum(found.tags[tag] for tag in reason.tags))
        assert reason.tag == reason.tags[0]
        told += reason.tags
    assert sorted(told) == sorted(found.tags)
    assert GENERAL not in found.tags
    appeal = model.decoder_[:, [model.tags_.index(GENERAL)]].toarray()[item, 0]
    assert found.general == pytest.approx(profile.general * appeal)
    shares = [found.general_share, *(r.share for r in found.reasons)]
    assert sum(shares) == pytest.approx(found.score / found.total if found.total else 0.0)


@fixture_is_read_only
@given(HISTORIES, PRESSES)
def test_lists_and_explanations_tell_the_same(
    model: Teaser, history: list[str], presses: dict[str, int]
) -> None:
    for r in model.recommend(history, presses, k=5):
        whole = model.explain(r.item_id, history, presses)
        assert (r.score, r.match) == (whole.score, whole.match)
        leanings = model.profile(history, presses).leanings
        for reason in r.reasons:
            assert isinstance(reason, Reason)
            assert replace(reason, own=None, of=None) in whole.reasons
            items = [model.items_.index_of(i) for i in history]
            carries = model.decoder_[items][:, [model.tags_.index(t) for t in reason.tags]]
            if reason.tag != POPULARITY and items:
                assert reason.own == int((carries.toarray() != 0).any(axis=1).sum())
                assert reason.of == len(history)
                assert reason.is_guess == (reason.own == 0 and reason.contribution > 0)
            assert all(reason.contribution * leanings[tag] > 0 for tag in reason.tags)
        told = r.general + sum(reason.contribution for reason in r.reasons) + r.other
        assert told == pytest.approx(r.score)
        assert r.other_share == pytest.approx(r.other / whole.total if whole.total else 0.0)
        assert r.title == whole.title
        assert r.general == whole.general
        assert r.general_share == pytest.approx(whole.general_share)


@fixture_is_read_only
@given(HISTORIES, PRESSES)
def test_impacts_sum_to_one(model: Teaser, history: list[str], presses: dict[str, int]) -> None:
    found = model.profile(history, presses)
    total = sum(found.impacts.values())
    assert total == pytest.approx(1.0) or not any(found.affinities.values())
    assert min(found.impacts.values()) >= 0


@fixture_is_read_only
@given(
    HISTORIES, st.sampled_from(["type=concert", "town=Ghent", "labels=late"]), st.integers(-5, 4)
)
def test_a_press_of_plus_never_lowers_an_item_that_carries_the_tag(
    model: Teaser, history: list[str], tag: str, steps: int
) -> None:
    column = model.tags_.index(Tag.parse(tag))
    carries = model.decoder_[:, [column]].toarray().ravel() > 0
    row = np.zeros((1, 40))
    row[0, [int(i[1:]) for i in history]] = 1
    fewer, more = (model.score_batch(row, [{tag: k}])[0] for k in (steps, steps + 1))
    assert (more[carries] >= fewer[carries] - 1e-12).all()
    assert (more[~carries] == fewer[~carries]).all()


@fixture_is_read_only
@given(HISTORIES)
def test_match_falls_with_rank_from_at_most_one(model: Teaser, history: list[str]) -> None:
    everything = model.recommend(history, k=40, exclude_history=False)
    matches = [r.match for r in everything]
    assert matches == sorted(matches, reverse=True)
    assert all(0 <= m <= 1 for m in matches)
    assert matches[0] == 1.0 or everything[0].score <= 0


def parts_of(a: Sequence[float], w: Sequence[float] = (1.0,) * 6, **given: Any) -> Parts:
    """Return the parts of one item's score from its tags."""
    n, affinity, weight = len(a), np.array(a), np.array(w)
    zeros = np.zeros(n, dtype=np.int64)
    one = (np.zeros(1), np.ones(1))
    return Parts(
        TAGS, *one, zeros, zeros, np.arange(n), affinity * weight, affinity, weight, **given
    )


def told(shares: Any, n_boosts: int = 0, **given: Any) -> Any:
    """Return which reasons of one item are told; the last ones are boosts."""
    is_boost = np.arange(len(shares)) >= len(shares) - n_boosts
    rows = np.zeros(len(shares), dtype=np.int64)
    return first_reasons(rows, np.array(shares), is_boost, **given).tolist()


def test_reasons_are_the_five_largest_shares_of_at_least_a_twentieth() -> None:
    parts = parts_of([0.9, -0.6, 0.3, 0.02, 0.5, 0.4])
    assert parts.share[1] == pytest.approx(-0.6 / 2.72)
    assert told(parts.share) == [0, 1, 4, 5, 2]
    assert told(parts.share, negative=False) == [0, 4, 5, 2]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([0.5, 0.1, 0.04, 0.01]), st.booleans()),
        max_size=30,
    ),
    st.integers(0, 4),
    st.booleans(),
)
def test_reasons_of_many_items_are_those_of_each(
    reasons: list[tuple[int, float, bool]], n_boosts: int, negative: bool
) -> None:
    row = np.array([row for row, _, _ in reasons], dtype=np.int64)
    share = np.array([-x if against else x for _, x, against in reasons])
    is_boost = np.arange(len(row)) >= len(row) - n_boosts
    found = first_reasons(row, share, is_boost, negative=negative).tolist()
    wanted: list[int] = []
    for one in range(4):
        own = [n for n in np.argsort(-np.abs(share), kind="stable").tolist() if row[n] == one]
        left = 5 - sum(bool(is_boost[n]) and (negative or share[n] > 0) for n in own)
        first: list[int] = []
        for n in own:
            if (negative or share[n] > 0) and (is_boost[n] or (left > 0 and abs(share[n]) >= 0.05)):
                first.append(n)
                left -= not is_boost[n]
        speaking = [n for n in own if share[n] > 0 and not is_boost[n]]
        if not set(speaking) & set(first):
            first = [n for n in own if n in {*first, *speaking[:1]}]
        wanted += first
    assert found == wanted


def test_negative_reasons_can_be_left_out(model: Teaser) -> None:
    history = ["i1", "i3"]
    with_them = model.recommend(history, k=40)
    assert any(reason.share < 0 for r in with_them for reason in r.reasons)
    without = model.recommend(history, k=40, negative_reasons=False)
    assert all(reason.share > 0 for r in without for reason in r.reasons)
    assert [r.item_id for r in with_them] == [r.item_id for r in without]


def test_near_equal_tags_are_one_reason_with_their_sum() -> None:
    a = [0.2, 0.5, -0.3, 0.4, 0.1, 0.0]
    together = np.array([0, 1, 0, 1, 2, -1])
    first, second, third, last = parts_of(a, groups=together).reasons()
    assert isinstance(first, Reason)
    assert (first.tag, first.tags) == (TAGS[1], (TAGS[1], TAGS[3]))
    assert (first.contribution, first.affinity, first.weight) == pytest.approx((0.9, 0.9, 1.0))
    assert first.share == pytest.approx(0.9 / 1.5)
    assert sorted([second.contribution, third.contribution]) == pytest.approx([-0.1, 0.1])
    assert last.contribution == 0.0
    assert first.sentence() == "60 % because of your affinity of 0.9 with F: 1 and F: 3"
    # Where the weights differ, affinity x weight is still what is added.
    (top, *_) = parts_of(a, [1.0, 2.0, 1.0, 0.5, 1.0, 1.0], groups=together).reasons()
    assert isinstance(top, Reason)
    assert top.weight == pytest.approx(1.25)
    assert top.affinity * top.weight == pytest.approx(top.contribution) == pytest.approx(1.2)


@given(HISTORIES, PRESSES, st.integers(0, 39))
@settings(max_examples=20)
def test_a_frame_of_an_explanation_sums_to_the_score(
    model: Teaser, history: list[str], presses: dict[str, int], item: int
) -> None:
    said = model.explain(f"i{item}", history, presses)
    frame = said.to_frame()
    assert frame.columns == ["part", "feature", "value", "item_id", "contribution", "share"]
    assert frame["contribution"].sum() == pytest.approx(said.score, abs=1e-12)
    assert len(frame) == len(said.tags) + bool(said.general)
    assert frame["share"].abs().sum() == pytest.approx(1.0)
    sizes = frame.filter(frame["part"] == "tags")["contribution"].abs()
    assert sizes.is_sorted(descending=True)


def test_reasons_agree_with_leanings_and_at_least_one_speaks_for_the_item() -> None:
    parts = parts_of([-0.6, -0.3, 0.01], [1.0] * 3)
    leanings = np.array([0.4, -0.4, 0.2])
    # The first goes against its leaning; the last is the only one that speaks for the item.
    assert parts.main(leanings, negative=True).tolist() == [1, 2]
    assert parts.main(leanings, negative=False).tolist() == [2]
    assert parts.main(np.array([0.4, -0.4, 0.0]), negative=True).tolist() == [1]
    both = parts_of([0.3, 0.2], [1.0] * 2, groups=np.zeros(6, dtype=np.int64))
    assert len(both.main(leanings[:2], negative=True)) == 0


def test_equal_values_are_told_apart_by_their_features() -> None:
    directed, wrote = Tag("director", "Varda"), Tag("screenWriter", "Varda")
    film = Tag("type", "film")
    assert join_values([directed, film, wrote]) == "Varda (director or screen writer) and film"
    reasons: list[AnyReason] = [
        Reason(directed, 0.2, 0.2, 0.5),
        ViewedReason("i", 0.1, 0.1, "A"),
        Reason(wrote, 0.1, 0.1, 0.4),
        Reason(film, 0.1, 0.1, 0.4),
    ]
    assert short_reasons(reasons) == [
        "Varda (director)",
        "viewed A",
        "Varda (screen writer)",
        "film",
    ]
    assert tell_reasons(reasons) == [
        "20 % because of your affinity of 0.5 with Varda (director)",
        "10 % because you viewed A",
        "10 % because of your affinity of 0.4 with Varda (screen writer)",
        "10 % because of your affinity of 0.4 with film",
    ]
    # Alone, a value needs no feature.
    assert tell_reasons(reasons[:1]) == [reasons[0].sentence()]


def test_boosts_are_always_among_the_main_reasons() -> None:
    tags = [0.5 - n / 50 for n in range(7)]
    assert told([*tags, 0.001, -0.001], 2) == [0, 1, 2, 7, 8]
    assert told([*tags, 0.001, -0.001], 2, negative=False) == [0, 1, 2, 3, 7]
    assert told(tags) == [0, 1, 2, 3, 4]


KINDS: st.SearchStrategy[StepKind] = st.sampled_from(
    ["general", "tag", "viewed", "disliked", "boost"]
)


@given(
    st.lists(st.tuples(KINDS, st.floats(-10, 10, allow_subnormal=False)), max_size=40),
    st.floats(-5, 5),
)
def test_steps_lead_from_the_start_to_the_sum(
    parts: list[tuple[StepKind, float]], start: float
) -> None:
    steps = arrange([Step(kind, "a", "", adds) for kind, adds in parts], start=start)
    total = start + sum(adds for _, adds in parts)
    for shown in (steps, fold_small(steps)):
        if shown:
            assert shown[0].start == start
            assert shown[-1].end == pytest.approx(total, abs=1e-9)
        for before, after in pairwise(shown):
            assert before.end == pytest.approx(after.start, abs=1e-9)
        assert sum(step.n for step in shown) == len(parts)
        assert sum(step.kind in ("viewed", "disliked") for step in shown) <= MAX_VIEWED + 1


def test_general_appeal_is_first_and_small_steps_are_last() -> None:
    parts = [Step("tag", "small", "f", 0.01), Step("tag", "large", "f", 5.0)]
    parts += [Step("boost", "promoted", "boost", 0.001), Step("general", "appeal", "", 0.001)]
    steps = arrange([*parts, Step("tag", "tiny", "f", -0.02)])
    assert [s.label for s in steps] == ["appeal", "large", "promoted", "small", "tiny"]
    assert [s.label for s in fold_small(steps)][-1] == "2 more"
    assert fold_small(steps, least=3) == steps


def test_a_score_and_a_difference_are_their_steps(model: Teaser) -> None:
    said = model.explain("i4", ["i1", "i5"], {"town=Ghent": 1})
    assert said.steps()[0].kind == "general"
    assert said.steps()[-1].end == pytest.approx(said.score, abs=1e-12)
    found = model.compare("i4", "i7", ["i1", "i5"], {"town=Ghent": 1})
    assert found.steps()[0].start == pytest.approx(found.other_score)
    assert found.steps()[-1].end == pytest.approx(found.score, abs=1e-12)

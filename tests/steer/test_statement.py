"""Plain statements: what the numbers support, and how to deny it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from teaser import Tag, Teaser
from teaser.errors import ParameterError
from teaser.profile import GENERAL, POPULARITY, Profile
from teaser.steer import Statement, say, statements, undo_presses
from teaser.steer.statement import _leanings

HISTORIES = st.lists(st.integers(0, 39).map(lambda i: f"i{i}"), max_size=6, unique=True)
TAGS = ("type=concert", "type=film", "town=Ghent", "town=Liège", "labels=free")
PRESSES = st.dictionaries(st.sampled_from([Tag.parse(t) for t in TAGS]), st.integers(-5, 5))


def profile_of(**affinities: float) -> Profile:
    """A profile of tags such as `town_Ghent`."""
    tags = tuple(Tag(*name.split("_")) for name in affinities)
    values = np.array(list(affinities.values()))
    return Profile(tags, values, certainty=0.8, impacts={}, history=("i",), presses={})


def near_equal(model: Teaser, tag: Tag) -> list[Tag]:
    """Return the tags whose carriers are nearly those of a tag, itself among them."""
    D = model.decoder_.toarray()[:, : model.tag_table_.n_personal] > 0
    own = D[:, model.tags_.index(tag)]
    overlap = (D & own[:, None]).sum(axis=0) / (D | own[:, None]).sum(axis=0)
    return [model.tags_[j] for j in np.flatnonzero(overlap > 0.8)]


def group_sums(model: Teaser, profile: Profile) -> dict[Tag, float]:
    """Return the affinity of each tag that may be stated, near-equal ones summed."""
    tags = model.tags_[: model.tag_table_.n_personal]
    a = profile.affinities
    return {tag: sum(a[near] for near in near_equal(model, tag)) for tag in tags}


def test_near_equal_tags_are_one_statement_with_their_sum() -> None:
    good, mood, calm = Tag("mood", "good"), Tag("style", "good mood"), Tag("mood", "calm")
    tags = (good, mood, calm, POPULARITY, Tag("mood", "not stated"), GENERAL)
    values = np.array([0.9, -0.6, 0.5, 3.0, -3.0, 4.0])
    profile = Profile(
        tags, values, certainty=0.8, impacts={}, history=("i",), presses={},
        together=np.array([0, 0, 1, -1, -1, -1]),
    )  # fmt: skip
    # 0.9 - 0.6 is less than the 0.5 of the other tag, and no contradiction.
    assert statements(profile) == [Statement(1, (calm,), 0.5)]
    same = replace(profile, values=np.array([0.3, 0.6, -0.5, 0, 0, 0]))
    assert [(s.leaning, s.tags) for s in statements(same)] == [(1, (mood,)), (-1, (calm,))]
    assert [s.strength for s in statements(same)] == pytest.approx([0.9, 0.5])
    assert [s.near_equal for s in statements(same)] == [{mood: (good,)}, {}]
    assert say(statements(same)[0]) == "You lean towards good mood / good."
    # Five presses bring the sum of both to 0, two more where the other was pressed up twice.
    (first, _) = statements(same)
    assert undo_presses(first, same) == {mood: -5}
    few = replace(same, values=np.array([0.1, 0.3, 0, 0, 0, 0]))
    assert undo_presses(first, few) == {mood: -2}
    assert undo_presses(first, few, {good: 2}) == {mood: -4}
    # A press against one of them silences what is said of both.
    assert statements(replace(same, presses={good: -1})) == [Statement(-1, (calm,), 0.5)]


def leanings_one_by_one(profile: Profile) -> dict[Tag, float]:
    """The tags that may be stated and the sums of their groups, group by group."""
    numbers = profile.together
    assert numbers is not None
    found = {}
    for number in sorted(set(numbers.tolist()) - {-1}):
        own = [j for j in range(len(profile.tags)) if numbers[j] == number]
        total = sum(float(profile.values[j]) for j in own)
        is_opposed = any(profile.presses.get(profile.tags[j], 0) * total < 0 for j in own)
        if total and not is_opposed:
            sign = 1 if total > 0 else -1
            best = max(own, key=lambda j: sign * profile.values[j])
            found[profile.tags[best]] = total
    return found


@given(st.lists(st.tuples(st.integers(-1, 6), st.integers(-4, 4), st.integers(-2, 2)), max_size=24))
def test_groups_are_named_and_summed_as_one_by_one(rows: list[tuple[int, int, int]]) -> None:
    tags = tuple(Tag("f", str(j)) for j in range(len(rows)))
    profile = Profile(
        tags,
        np.array([a / 4 for _, a, _ in rows]),
        certainty=0.8,
        impacts={},
        history=("i",),
        presses={tag: n for tag, (_, _, n) in zip(tags, rows, strict=True) if n},
        together=np.array([number for number, _, _ in rows], dtype=np.int64),
    )
    places, totals = _leanings(profile)
    found = {tags[j]: a for j, a in zip(places.tolist(), totals.tolist(), strict=True)}
    wanted = leanings_one_by_one(profile)
    bar = max(0.1, 0.5 * max(map(abs, wanted.values()), default=0.0))
    assert found == {tag: a for tag, a in wanted.items() if abs(a) >= bar}


@given(HISTORIES, PRESSES)
def test_every_tag_has_the_sign_and_strength_that_is_stated(
    model: Teaser, history: list[str], presses: dict[Tag, int]
) -> None:
    profile = model.profile(history, presses)
    found = statements(profile)
    sums = group_sums(model, profile)
    strongest = max(
        (
            abs(a)
            for tag, a in sums.items()
            if all(a * presses.get(near, 0) >= 0 for near in near_equal(model, tag))
        ),
        default=0.0,
    )
    assert bool(found) == (strongest >= 0.1)
    assert len(found) <= 3
    assert [s.leaning for s in found].count(1) <= 1
    for s in found:
        values = [s.leaning * sums[tag] for tag in s.tags]
        assert min(values) == pytest.approx(s.strength)
        assert s.strength >= max(0.1, 0.5 * strongest)
        assert values == sorted(values, reverse=True)
        assert len({tag.feature for tag in s.tags}) == len(s.tags)
        assert POPULARITY not in s.tags
        assert all(s.leaning * presses.get(tag, 0) >= 0 for tag in s.tags)
        assert GENERAL not in s.tags
    # No tag is stated both ways, nor near-equal to one that is.
    both = [{near for s in found if s.leaning == way for tag in s.tags
             for near in near_equal(model, tag)} for way in (1, -1)]  # fmt: skip
    assert not both[0] & both[1]


@given(HISTORIES, PRESSES)
def test_to_deny_a_statement_once_is_enough(
    model: Teaser, history: list[str], presses: dict[Tag, int]
) -> None:
    profile, learnt = model.profile(history, presses), model.profile(history)
    for s in statements(profile):
        undo = undo_presses(s, learnt, profile.presses)
        assert set(undo) == set(s.tags)
        net = {t: presses.get(t, 0) + undo.get(t, 0) for t in {*presses, *undo}}
        after = model.profile(history, net)
        for tag in s.tags:
            assert s.leaning * undo[tag] < 0
            assert s.leaning * group_sums(model, after)[tag] < 1e-9 or net[tag] == -5 * s.leaning
            assert s.leaning * net[tag] < 0
        assert not {(s.leaning, tag) for tag in s.tags} & {
            (new.leaning, tag) for new in statements(after) for tag in new.tags
        }


def test_a_tag_inside_a_liked_one_is_not_said_to_be_avoided() -> None:
    plain = profile_of(type_Concert=0.8, town_Ghent=-0.7, label_free=-0.6)
    assert [s.leaning for s in statements(plain)] == [1, -1, -1]
    places = [plain.tags.index(Tag.parse(name)) for name in ("type=Concert", "town=Ghent")]
    nested = np.zeros((len(plain.tags), len(plain.tags)), dtype=bool)
    nested[places[0], places[1]] = nested[places[1], places[0]] = True
    told = statements(replace(plain, nested=sp.csr_array(nested)))
    assert [s.tags for s in told] == [(Tag("type", "Concert"),), (Tag("label", "free"),)]
    named = profile_of(
        **{"discovered_A, B, C": 0.8, "discovered_D, B, E": -0.7, "town_Ghent": -0.6}
    )
    assert [s.tags[0].value for s in statements(named)] == ["A, B, C", "Ghent"]


def test_presses_against_a_tag_silence_what_is_said_of_it() -> None:
    concert, ghent = Tag("type", "Concert"), Tag("town", "Ghent")
    both = profile_of(type_Concert=0.9, town_Ghent=0.4)
    assert [s.tags for s in statements(both)] == [(concert,)]
    pressed = replace(both, presses={concert: -5})
    assert statements(pressed) == [Statement(1, (ghent,), 0.4)]
    assert statements(replace(both, presses={concert: 2})) == statements(both)
    away = replace(profile_of(type_Concert=-0.9), presses={concert: 1})
    assert statements(away) == []
    assert statements(replace(away, presses={concert: -1})) == [Statement(-1, (concert,), 0.9)]


def test_one_statement_towards_and_two_away() -> None:
    profile = profile_of(
        type_Concert=0.9, theme_Jazz=0.7, town_Ghent=0.8, town_Bruges=0.75, day_Friday=0.6,
        type_Workshop=-0.8, town_Namur=-0.5, town_Mons=-0.6, audience_Children=-0.7,
        popularity_popularity=-3.0,
    )  # fmt: skip
    concert, ghent, jazz = Tag("type", "Concert"), Tag("town", "Ghent"), Tag("theme", "Jazz")
    towards, first, second = statements(profile)
    assert towards == Statement(1, (concert, ghent, jazz), 0.7)
    assert first == Statement(-1, (Tag("type", "Workshop"),), 0.8)
    assert second == Statement(-1, (Tag("audience", "Children"),), 0.7)
    assert statements(profile, k=1) == [towards]
    assert statements(profile, k=0) == []


def test_only_what_is_strong_beside_the_strongest_is_said() -> None:
    assert [s.tags for s in statements(profile_of(a_x=0.8, b_y=0.39, c_z=-0.41))] == [
        (Tag("a", "x"),),
        (Tag("c", "z"),),
    ]


def test_nothing_is_said_where_nothing_is_known(model: Teaser) -> None:
    assert statements(model.profile([])) == []
    assert statements(profile_of(a_x=0.09, b_y=-0.05)) == []
    assert statements(profile_of(popularity_popularity=0.6)) == []
    assert statements(model.profile([], {"town=Ghent": 1})) == [
        Statement(1, (Tag("town", "Ghent"),), 0.2)
    ]


def test_denial_is_as_many_presses_as_bring_each_tag_to_nothing() -> None:
    a, b = Tag("f", "a"), Tag("g", "b")
    learnt = profile_of(f_a=0.6, g_b=1.51)
    assert undo_presses(Statement(1, (a, b), 0.5), learnt) == {a: -3, b: -5}
    assert undo_presses(Statement(1, (a, b), 0.5), learnt, {a: 5, b: 2}) == {a: -8, b: -7}
    assert undo_presses(Statement(1, (a, b), 0.5), learnt, {a: -2, b: -5}) == {a: -1}
    assert undo_presses(Statement(1, (a,), 0.5), learnt, step=0.3) == {a: -2}
    away = profile_of(f_a=-0.5, g_b=0.0)
    assert undo_presses(Statement(-1, (a,), 0.5), away, {a: 1}) == {a: 2}
    # What presses alone made is taken back, and one more contradicts it.
    assert undo_presses(Statement(1, (b,), 0.4), away, {b: 2}) == {b: -3}


def test_statements_can_be_said() -> None:
    tags = tuple(Tag("f", v) for v in ("Concert", "Ghent", "Outdoors"))
    assert say(Statement(1, tags, 0.5)) == "You lean towards Concert, Ghent and Outdoors."
    assert say(Statement(1, tags[:2], 0.5)) == "You lean towards Concert and Ghent."
    assert say(Statement(-1, tags[:1], 0.5)) == "You lean away from Concert."


@pytest.mark.parametrize("k", [-1, 1.5, True])
def test_k_is_a_whole_number(k: Any) -> None:
    with pytest.raises(ParameterError, match="k must be a whole number"):
        statements(profile_of(a_x=0.8), k=k)

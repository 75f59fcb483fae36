"""From history and presses to affinities, by the formulas of docs/users/model.md."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from teaser import Presses, Steering, Tag, Teaser
from teaser.errors import ParameterError, UnknownNameError
from teaser.profile import (
    DEFAULT_STEERING,
    GENERAL,
    Array,
    paper_certainty,
    press,
    same_moves,
    scaled,
)

finite = st.floats(-10, 10).map(lambda x: round(x, 6))
RAW = np.array([[0.5, -2.0, 0.0, 8.0]])


def scaled_plain(
    raw: Array, lengths: list[int], steering: Steering = DEFAULT_STEERING
) -> tuple[Array, Array]:
    """Affinities of a model without a basis, whose last column is popularity."""
    last = raw.shape[1] - 1
    return scaled(raw, raw, lengths, n_personal=last, cold=last, steering=steering)


def affinities(raw: Array, lengths: list[int], steering: Steering = DEFAULT_STEERING) -> Array:
    return scaled_plain(raw, lengths, steering)[0]


def test_certainty_grows_with_the_history() -> None:
    cases: list[Any] = [(0, 0.2), (1, 0.4), (2, 0.6), (3, 0.8), (50, 0.8)]
    for length, certainty in cases:
        assert paper_certainty(length) == pytest.approx(certainty)


def test_the_papers_scale_divides_by_the_largest_of_all() -> None:
    found = affinities(RAW, [5], Steering(scale="paper"))
    assert_allclose(found, [[0.05, -0.2, 0.0, 0.8]])


def test_the_robust_scale_leaves_popularity_out() -> None:
    found = affinities(RAW, [5], DEFAULT_STEERING)
    scale = np.percentile([0.5, 2.0, 0.0], 99)
    assert_allclose(found, 0.8 * RAW / scale)


def test_a_user_without_history_leans_on_popularity_alone() -> None:
    assert_array_equal(affinities(RAW, [0], DEFAULT_STEERING), [[0, 0, 0, 0.6]])
    assert_array_equal(affinities(RAW, [0], Steering(cold_general=0.1))[0, 3], 0.1)


@given(st.lists(finite, min_size=2, max_size=30), st.integers(1, 20))
def test_on_the_papers_scale_affinities_stay_within_the_certainty(
    raw: list[float], length: int
) -> None:
    found = affinities(np.array([raw]), [length], Steering(scale="paper"))
    assert np.abs(found).max() <= paper_certainty(length) + 1e-12


@given(st.lists(finite, min_size=2, max_size=30), st.integers(1, 20), st.floats(0.01, 100))
def test_affinities_do_not_depend_on_the_size_of_raw_scores(
    raw: list[float], length: int, factor: float
) -> None:
    p = np.array([raw])
    found = affinities(factor * p, [length], DEFAULT_STEERING)
    assert_allclose(found, affinities(p, [length], DEFAULT_STEERING), rtol=1e-9, atol=1e-9)


@given(finite, st.integers(-5, 4), st.floats(0.01, 100))
def test_one_more_press_of_plus_never_lowers_an_affinity(
    affinity: float, presses: int, step: float
) -> None:
    values, moves = np.array([affinity]), same_moves(step, 1)([0])
    fewer, more = (press(values, {0: n}, moves)[0] for n in (presses, presses + 1))
    assert more >= fewer


class TestPresses:
    def test_they_add_up_and_zero_is_no_entry(self) -> None:
        presses = Presses().press("type=film").press("type=film", 2).press("town=Mons", -1)
        assert dict(presses) == {Tag("type", "film"): 3, Tag("town", "Mons"): -1}
        assert dict(presses.press("type=film", -3)) == {Tag("town", "Mons"): -1}

    @given(
        st.lists(
            st.tuples(st.sampled_from(["a=1", "b=2", "c=3"]), st.sampled_from([-1, 1])), max_size=5
        )
    )
    def test_undo_takes_back_one_at_a_time_to_the_very_beginning(
        self, steps: list[tuple[str, int]]
    ) -> None:
        states = [Presses()]
        for tag, step in steps:
            states.append(states[-1].press(tag, step))
        now = states[-1]
        for earlier in reversed(states[:-1]):
            now = now.undo()
            assert dict(now) == dict(earlier)
            assert now.events == earlier.events

    def test_nothing_to_undo_is_said(self) -> None:
        with pytest.raises(ParameterError, match="no press to undo"):
            Presses().undo()

    def test_five_is_the_most(self) -> None:
        with pytest.raises(ParameterError, match=r"\+6 presses on a=1 are out of range; -5 to 5"):
            Presses().press("a=1", 5).press("a=1")

    def test_only_whole_numbers_are_presses(self) -> None:
        cases: list[Any] = [1.0, "2", None, True]
        for steps in cases:
            with pytest.raises(ParameterError, match="must be a whole number"):
                Presses().press("a=1", steps)


def test_bad_presses_are_refused(model: Teaser) -> None:
    cases: list[Any] = [
        ({"town=Gent": 1}, UnknownNameError, r"Unknown tag town=Gent\. Closest: town=Ghent"),
        ({"town": 1}, UnknownNameError, "feature=value"),
        ({"town=Ghent": 6}, ParameterError, r"out of range; -5 to 5"),
        ({"town=Ghent": 1.5}, ParameterError, "must be a whole number"),
        ({3: 1}, UnknownNameError, "Unknown tag 3"),
        ([("town=Ghent", 1)], ParameterError, "Presses must map tags"),
        ("town=Ghent", ParameterError, "Presses must map tags"),
    ]
    for presses, error, said in cases:
        for ask in (model.profile, model.recommend):
            with pytest.raises(error, match=said):
                ask(["i1"], presses)


def test_a_profile_names_every_tag_and_sums_its_impacts_to_one(model: Teaser) -> None:
    found = model.profile(["i1", "i4"], {"town=Ghent": 2})
    assert (*found.affinities, GENERAL) == model.tags_ == found.tags
    assert found.general == found.values[-1] != 0
    assert sum(found.impacts.values()) == pytest.approx(1.0)
    assert set(found.impacts) == {"type", "town", "labels", "popularity"}
    assert found.history == ("i1", "i4")
    assert found.presses == {Tag("town", "Ghent"): 2}
    plain = model.profile(["i1", "i4"])
    assert found.step == plain.step > 0
    assert_array_equal(found.moves, plain.moves)
    ghent = Tag("town", "Ghent")
    moved = plain.moves[plain.place_of(ghent), 5 + 2]
    assert found.affinities[ghent] == pytest.approx(plain.affinities[ghent] + moved)
    # Of a fixed step, as in the paper, every press moves as far.
    fixed = [model.profile(["i1"], {ghent: n}, steering=Steering(step=0.1)) for n in (0, -3)]
    assert fixed[1].affinities[ghent] == pytest.approx(fixed[0].affinities[ghent] - 0.3)


def test_the_strongest_tags_come_first(model: Teaser) -> None:
    found = model.profile(["i1", "i4"])
    every = found.top(100)
    sizes = [abs(leaning) for _, leaning, _ in every]
    assert sizes == sorted(sizes, reverse=True)
    assert {each.tag: each.affinity for each in every} == found.affinities
    assert {each.tag: each.leaning for each in every if each.tag in found.leanings} == (
        found.leanings
    )
    assert {each.tag.feature for each in found.top(100, feature="town")} == {"town"}
    assert len(found.top(2)) == 2


def test_the_order_of_a_history_and_repeats_do_not_matter(model: Teaser) -> None:
    plain = model.profile(["i1", "i4", "i7"])
    mixed = model.profile(["i7", "i1", "i4", "i1"])
    assert mixed.affinities == plain.affinities
    assert mixed.certainty == plain.certainty
    assert mixed.history == ("i7", "i1", "i4")


def test_a_cold_profile_is_general_appeal(model: Teaser) -> None:
    found = model.profile([])
    assert not any(found.affinities.values())
    assert found.general == 0.6
    assert not any(found.impacts.values())
    fixed = Steering(step=0.2)
    for presses, general in (({GENERAL: -2}, 0.2), ({"general appeal=general appeal": 1}, 0.8)):
        assert model.profile([], presses, steering=fixed).general == pytest.approx(general)


def test_a_history_may_have_strengths(model: Teaser) -> None:
    found = model.profile({"i1": 2, "i4": 0.5, "i7": 0})
    assert (found.history, found.strengths) == (("i1", "i4"), (2.0, 0.5))
    assert found.certainty == model.profile(["i1", "i4"]).certainty
    assert model.profile({"i1": 1, "i4": 1}).strengths == ()
    # Only the ratio of the strengths matters for affinities, which are scaled.
    twice = model.profile({"i1": 4, "i4": 1})
    assert_allclose(twice.values, found.values, rtol=1e-9)
    assert not np.allclose(found.values, model.profile(["i1", "i4"]).values)
    wrong: list[Any] = [float("nan"), float("inf"), "2", None, True]
    for bad in wrong:
        with pytest.raises(ParameterError, match="'i4'"):
            model.profile({"i1": 1, "i4": bad})


def test_a_disliked_item_counts_against_its_tags(model: Teaser) -> None:
    history = {"i1": 1, "i4": 1, "i7": -0.25}
    found = model.profile(history)
    assert (found.history, found.strengths) == (("i1", "i4", "i7"), (1.0, 1.0, -0.25))
    assert found.certainty == model.profile(["i1", "i4", "i7"]).certainty
    tag = next(t for t, _, a in model.profile(["i7"]).top(9) if a > 0)
    parts = model.origins(tag, history)
    assert parts["i7"] == pytest.approx(-0.25 * model.origins(tag, ["i7"])["i7"])
    assert sum(parts.values()) < sum(model.origins(tag, ["i1", "i4"]).values())
    general = "general appeal=general appeal"
    assert model.origins(general, history) == model.origins(general, ["i1", "i4"])
    listed = [r.item_id for r in model.recommend(history, k=40)]
    assert len(listed) == 37
    assert not set(listed) & set(history)


def test_what_is_no_list_is_no_history(model: Teaser) -> None:
    cases: list[Any] = ["i1", None, 5]
    for thing in cases:
        for ask in (model.profile, model.recommend):
            with pytest.raises(ParameterError, match="list of item ids"):
                ask(thing)


def test_a_history_may_come_in_any_collection(model: Teaser) -> None:
    plain = model.profile(["i1", "i4"])
    for given_as in (("i1", "i4"), np.array(["i1", "i4"]), (i for i in ("i1", "i4"))):
        found = model.profile(given_as)
        assert found.history == ("i1", "i4")
        assert found.affinities == plain.affinities


@pytest.mark.parametrize(
    "bad",
    [
        {"scale": "log"},
        *({"step": step} for step in (0, -0.2, "a", float("inf"))),
        {"cold_general": float("nan")},
        {"certainty": 0.5},
        *({"balance": balance} for balance in (-0.1, 1.1, np.nan, "half", None, True)),
    ],
)
def test_senseless_steering_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        Steering(**bad)


def test_a_balance_weighs_two_parts() -> None:
    cases: list[Any] = [(0, (1, 0)), (0.25, (1, 0.5)), (0.5, (1, 1)), (0.75, (0.5, 1)), (1, (0, 1))]
    for balance, weights in cases:
        steering = Steering(balance=balance)
        assert (steering.tags_weight, steering.viewed_weight) == weights


def test_presses_by_bare_names(model: Teaser) -> None:
    wanted = model.profile(["i1"], {"general appeal=general appeal": -3, "town=Ghent": 1})
    found = model.profile(["i1"], {"general appeal": -3, "Ghent": 1})
    assert found.presses == wanted.presses
    assert_array_equal(found.values, wanted.values)
    with pytest.raises(UnknownNameError, match=r"'Gent' is not a tag.*town=Ghent"):
        model.profile(["i1"], {"Gent": 1})

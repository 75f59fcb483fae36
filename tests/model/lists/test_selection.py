"""Filters and boosts of a request, placed on the items of a model."""

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teaser import Tag, Teaser
from teaser.errors import ParameterError, UnknownNameError
from teaser.model.baselines.ease import EASE
from teaser.model.filters import check_boost
from teaser.steer.variety import varied
from teaser.testing import example_dataset

BOOSTS = st.dictionaries(
    st.sampled_from(["i3", "i8", "town=Ghent", "labels=free", "concert", "popularity"]),
    st.floats(-5, 5),
    max_size=4,
)


def test_boosts_add_up_by_item(model: Teaser) -> None:
    placed = model.place_filters(
        {"boost": {"i3": 1, "labels=late": -0.5, Tag("town", "Ghent"): 2.0}}
    )
    assert placed.boosts is not None
    late = np.array(["late" in (cell or "") for cell in model.table_["labels"]])
    ghent = (model.table_["town"] == "Ghent").to_numpy()
    wanted = -0.5 * late + 2.0 * ghent + (np.arange(40) == 3)
    assert placed.boosted(np.zeros(40)) == pytest.approx(wanted)
    assert dict(placed.boosts_of(3)) == {"i3": 1.0}
    assert dict(placed.boosts_of(1)) == {Tag("labels", "late"): -0.5}


@given(BOOSTS, st.integers(0, 39), st.lists(st.integers(0, 39).map(lambda i: f"i{i}"), max_size=4))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_parts_of_a_boosted_score_sum_to_it(
    model: Teaser, boost: dict[str, float], item: int, history: list[str]
) -> None:
    said, plain = (model.explain(f"i{item}", history, boost=b) for b in (boost, None))
    assert said.score == pytest.approx(plain.score + said.boost, abs=1e-12)
    assert said.tags == plain.tags
    parts = said.general + sum(said.tags.values()) + sum(said.viewed.values()) + said.boost
    assert parts == pytest.approx(said.score, abs=1e-12)
    assert said.to_frame()["contribution"].sum() == pytest.approx(said.score, abs=1e-12)
    assert sum(abs(s) for s in said.to_frame()["share"]) == pytest.approx(1.0)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), True, "0.2", None])
def test_boosts_are_finite_numbers(number: Any) -> None:
    with pytest.raises(ParameterError, match="'i1' must be a finite number"):
        check_boost("i1", number)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"items": "i1"}, "items is a list"),
        ({"exclude": 5}, "exclude is a list"),
        ({"boost": ["i1"]}, "boost maps"),
        ({"unknown": "skip"}, "'raise' or 'ignore'"),
        ({"allowed": np.ones(3, dtype=bool)}, "allowed"),
    ],
)
def test_other_shapes_are_refused(model: Teaser, asked: Any, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        model.recommend([], **asked)


def test_unknown_names_raise_or_are_counted(model: Teaser) -> None:
    refused: list[Any] = [{"items": ["i1", "x"]}, {"exclude": ["x"]}]
    for asked in refused:
        with pytest.raises(UnknownNameError, match="'x'"):
            model.recommend([], **asked)
    with pytest.raises(UnknownNameError, match="'x'"):
        model.recommend([], boost={"x": 1})
    found = model.recommend(
        ["i1", "x", "y"],
        items=["i2", "i3", "z"],
        exclude=["w"],
        boost={"nothing": 1.0},
        where={"town": ["Ghent", "Gent", "Liège", "Deinze"]},
        unknown="ignore",
    )
    assert {r.item_id for r in found} == {"i2", "i3"}
    assert found.ignored == 6
    assert found == model.recommend(["i1"], items=["i2", "i3"])
    weighed = model.recommend({"i2": 0.5, "x": 1}, unknown="ignore")
    assert (weighed, weighed.ignored) == (model.recommend({"i2": 0.5}), 1)


def test_ids_of_another_type_are_said(model: Teaser) -> None:
    with pytest.raises(UnknownNameError, match=r"Item ids are texts, such as 'i0'"):
        model.recommend([], items=[3])
    with pytest.raises(UnknownNameError, match=r"Unknown item 2\.5.* are texts"):
        model.recommend([cast(Any, 2.5)])


def test_a_misspelt_option_is_refused_with_the_closest(model: Teaser) -> None:
    data, ease = example_dataset(), EASE(l2=3.0).fit(example_dataset())
    asked: list[tuple[Any, str]] = [
        ({"exlude": ["i1"]}, r"A list has no option 'exlude'\. Closest: exclude"),
        ({"negativ_reasons": False}, "Closest: negative_reasons"),
        ({"sortby": "title"}, "Known: k, exclude_history, .*where"),
    ]
    for options, told in asked:
        for call in (model.recommend, lambda h, **o: model.recommend_batch([h], **o)):
            with pytest.raises(ParameterError, match=told):
                call([], **options)
    wrong: dict[str, Any] = {"exlude": ["i1"]}
    for each in (model, ease):
        with pytest.raises(ParameterError, match="Closest: exclude"):
            each.recommend_all(data, **wrong)
    with pytest.raises(ParameterError, match="Closest: exclude"):
        ease.recommend([], **wrong)
    with pytest.raises(ParameterError, match="Closest: exclude"):
        varied(model, [], variety=0.5, **wrong)

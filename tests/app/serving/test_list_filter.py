"""Filters and hidden tags on a catalogue, against a slow look at every item."""

from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Tag, Teaser
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.list_filter import (
    by_date,
    days_of,
    known_tags,
    passing,
    places_of,
    read_filters,
    read_tags,
    unknown_columns,
    unknown_tags,
    without_tags,
)
from teaser.app.state import ListFilter
from teaser.data import demo
from teaser.errors import ParameterError, UnknownNameError, UnknownTagError

TODAY = date(2026, 11, 16)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    dataset = demo.dataset(n_events=120, n_users=200, start=TODAY)
    return Catalogue(Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset))


def slow(catalogue: Catalogue, filters: ListFilter) -> list[bool]:
    """Return whether each item passes, from its card and its row of the table."""
    rows = catalogue.model.table_.to_dicts()
    found = []
    for place, item_id in enumerate(catalogue.model.items_):
        card, row = catalogue.card(item_id), rows[place]
        features = {Tag.parse(text).feature for text in filters.only}
        only = {f: [Tag.parse(t).value for t in filters.only] for f in features}
        passes = all(set(card.facts.get(f, ())) & set(values) for f, values in only.items())
        for text in filters.without:
            tag = Tag.parse(text)
            passes &= tag.value not in card.facts.get(tag.feature, ())
        for column, bound in filters.at_most.items():
            passes &= row[column] is not None and row[column] <= bound
        for column, bound in filters.at_least.items():
            passes &= row[column] is not None and row[column] >= bound
        first, last = days_of(catalogue, filters, TODAY)
        passes &= first is None or (card.date is not None and card.date >= first)
        passes &= last is None or (card.date is not None and card.date <= last)
        found.append(bool(passes))
    return found


PRICES = st.dictionaries(st.just("price"), st.integers(0, 40), max_size=1)
PERIODS = st.sampled_from(["", "weekend", "month", "2026-11-20..", "..2026-11-30"])


@given(st.data(), PRICES, PRICES, PERIODS)
def test_the_items_that_pass_are_those_that_a_slow_look_finds(
    catalogue: Catalogue,
    data: st.DataObject,
    at_most: dict[str, int],
    at_least: dict[str, int],
    when: str,
) -> None:
    names = [str(t) for f in ("type", "town", "labels") for t in catalogue.features[f][:3]]
    only, without = (
        tuple(data.draw(st.lists(st.sampled_from(names), max_size=3, unique=True)))
        for _ in range(2)
    )
    filters = ListFilter(only, without, at_most, at_least, when)
    found = passing(catalogue, filters, TODAY)
    if not filters:
        assert found is None
        return
    assert found is not None
    assert found.tolist() == slow(catalogue, filters)
    assert not found.flags.writeable


def test_hidden_tags_leave_their_items_out(catalogue: Catalogue) -> None:
    one, other = map(str, catalogue.features["type"][:2])
    found = without_tags(catalogue, [one, other, "type=Gone"])
    assert found is not None
    assert found.tolist() == slow(catalogue, ListFilter(without=(one, other)))
    assert 0 < found.sum() < len(found)
    assert without_tags(catalogue, ["type=Gone"]) is None


def test_what_the_catalogue_does_not_have_has_no_effect_and_is_named(catalogue: Catalogue) -> None:
    town = str(catalogue.features["town"][0])
    filters = ListFilter(("town=Gone", town), ("type=Gone",), {"weight": 3, "price": 20})
    alone = ListFilter(("type=Gone",), (), {"weight": 3})
    found = passing(catalogue, filters, TODAY)
    assert found is not None
    assert found.tolist() == slow(catalogue, ListFilter((town,), (), {"price": 20}))
    everything = passing(catalogue, alone, TODAY)
    assert everything is None or everything.all()
    assert unknown_tags(catalogue, filters.tags) == ["town=Gone", "type=Gone"]
    assert unknown_columns(catalogue, filters) == ["weight"]
    assert known_tags(catalogue, filters.only) == [Tag.parse(town)]
    assert places_of(catalogue, ["none", catalogue.model.items_[3]]) == [3]


def test_a_catalogue_without_dates_knows_no_period(model: Teaser) -> None:
    catalogue = Catalogue(model)
    filters = ListFilter(when="weekend")
    assert days_of(catalogue, filters) == (None, None)
    found = passing(catalogue, filters)
    assert found is None or found.all()
    assert unknown_columns(catalogue, filters) == ["date"]
    with pytest.raises(ParameterError, match="no dates"):
        read_filters(catalogue, filters, ListFilter())
    assert read_filters(catalogue, filters, filters) == filters


def test_names_are_read_as_the_catalogue_has_them(catalogue: Catalogue) -> None:
    town = str(catalogue.features["town"][0])
    spaced = town.replace("=", " = ")
    assert read_tags(catalogue, [spaced, town]) == [town]
    assert read_tags(catalogue, ["town=Gone"], ["town=Gone"]) == ["town=Gone"]
    with pytest.raises(UnknownTagError):
        read_tags(catalogue, ["town=Gone"])
    with pytest.raises(UnknownNameError, match=r"'prise'.*price"):
        read_filters(catalogue, ListFilter(at_most={"prise": 3}), ListFilter())


def test_those_to_come_are_first_then_the_newest_of_the_past(catalogue: Catalogue) -> None:
    middle = TODAY + timedelta(days=40)
    order = by_date(catalogue, middle)
    assert sorted(order.tolist()) == list(range(len(catalogue.model.items_)))
    dates = np.array(catalogue.dates)[order].tolist()
    to_come = [day for day in dates if day >= middle]
    past = [day for day in dates if day < middle]
    assert dates == [*to_come, *past]
    assert to_come == sorted(to_come)
    assert past == sorted(past, reverse=True)
    assert to_come
    assert past

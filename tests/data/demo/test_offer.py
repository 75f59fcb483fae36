"""Offers: each can be composed into events from what the other files hold."""

from string import Formatter
from typing import Any

import pytest

from teaser.data.demo.event import Act, Offer, audiences, event_types, offers
from teaser.data.demo.picture import emblems
from teaser.data.demo.places import towns, venue_kinds

WORDS = {"town", "spot", "water", "venue", "person", "guest", "neighbour", "weekday", "weeks"}
ACTS = [(offer, act) for offer in offers() for act in offer.acts]


def words_in(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_an_offer_names_known_types_themes_venues_and_audiences() -> None:
    for offer in offers():
        assert offer.type in event_types(), offer
        assert offer.theme in emblems(), offer
        assert set(offer.kinds) <= set(venue_kinds()), offer
        assert set(offer.audiences) <= set(audiences()), offer
        assert set(offer.months) <= set(range(1, 13)), offer
    pairs = [(offer.type, offer.theme) for offer in offers()]
    assert len(set(pairs)) == len(pairs)
    assert {type_ for type_, _ in pairs} == set(event_types())


def test_prices_weights_and_shares_are_sensible() -> None:
    for offer in offers():
        low, high = offer.prices
        assert 0 < low < high, offer
        assert offer.weight > 0, offer
        assert 0 <= offer.free <= 1, offer
    for name, kind in event_types().items():
        assert 0 <= kind.weekend <= 1, name
        assert min(kind.lengths) >= 1, name
        assert not kind.weekly or all(length % 7 == 1 for length in kind.lengths), name
    assert all(audience.price_factor > 0 for audience in audiences().values())


@pytest.mark.parametrize("field", ["kinds", "audiences", "months"])
def test_an_act_narrows_its_offer_to_what_there_is(field: str) -> None:
    known: dict[str, set[Any]] = {
        "kinds": set(venue_kinds()),
        "audiences": set(audiences()),
        "months": set(range(1, 13)),
    }
    for offer, act in ACTS:
        assert set(getattr(act, field)) <= known[field], (offer.type, act.titles)


def test_texts_use_only_words_that_are_filled_in() -> None:
    for offer, act in ACTS:
        assert act.titles, offer
        for title in act.titles:
            assert words_in(title) <= WORDS, title
        details = act.details or offer.details or event_types()[offer.type].details
        for text in (act.text, *details):
            assert words_in(text) <= WORDS - {"spot"}, text
            assert not text or text.endswith((".", "!", "?")), text
    for audience in audiences().values():
        assert all(words_in(text) <= WORDS - {"spot"} for text in audience.details)


def test_every_offer_has_an_act_in_every_town() -> None:
    def can_be_had(act: Act, offer: Offer, index: int) -> bool:
        town = towns()[index]
        kinds = [venue_kinds()[name] for name in act.kinds or offer.kinds]
        dry = [title for title in act.titles if "{water}" not in title]
        return (
            any(kind.exists_in(town) for kind in kinds)
            and bool(town.water or "{water}" not in act.text)
            and bool(town.water or dry)
        )

    for offer in offers():
        for index, town in enumerate(towns()):
            possible = [act for act in offer.acts if can_be_had(act, offer, index)]
            assert possible, (offer.type, offer.theme, town.name)

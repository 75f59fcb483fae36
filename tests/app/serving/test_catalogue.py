"""A model as the application shows it: cards, pictures, filters, caches."""

import base64
import copy
import math
import weakref
from dataclasses import replace
from datetime import date, timedelta, timezone

import polars as pl
import pytest

from teaser import Category, Dataset, ListOf, Number, Rules, Tag, Teaser
from teaser.app.i18n.texts import texts_in
from teaser.app.pages.view.card_view import fact_line
from teaser.app.serving.catalogue import Catalogue, cached_per_catalogue
from teaser.errors import UnknownItemError, UnknownNameError

SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'
PIXEL = base64.b64encode(b"bytes of a picture").decode()


@pytest.fixture(scope="module")
def shop() -> Catalogue:
    interactions = pl.DataFrame({"user_id": [1, 1, 2, 2, 3], "item_id": ["a", "b", "a", "c", "a"]})
    items = pl.DataFrame(
        {
            "item_id": ["a", "b", "c", "d"],
            "title": ["Jazz by the Lys", "Night run", None, "Jazz at noon"],
            "picture": [
                SVG,
                f"data:image/png;base64,{PIXEL}",
                "https://example.org/c.png",
                "javascript:x",
            ],
            "link": ["https://example.org/a", "javascript:alert(1)", None, None],
            "date": ["2026-03-01", "2026-04-01", None, "2026-05-01"],
            "type": ["Concert", "Run", "Run", "Concert"],
            "town": ["Ghent", "Ghent", "Mons", "Mons"],
        }
    )
    roles = {role: role for role in ("title", "picture", "link", "date")}
    rules = Rules((Category("type"), Category("town")), roles)
    return Catalogue(Teaser().fit(Dataset.from_tables(interactions, items, rules=rules)))


def test_a_card_tells_what_the_data_have(shop: Catalogue) -> None:
    card = shop.card("a")
    assert (card.title, card.link, card.date) == (
        "Jazz by the Lys",
        "https://example.org/a",
        date(2026, 3, 1),
    )
    assert card.facts == {"type": ("Concert",), "town": ("Ghent",)}
    assert card.has_picture
    bare = shop.card("c")
    assert (bare.title, bare.link, bare.date, bare.description) == ("c", None, None, None)
    with pytest.raises(UnknownItemError):
        shop.card("zz")


def test_values_too_rare_for_a_tag_are_still_told() -> None:
    interactions = pl.DataFrame({"user_id": [1, 1, 2, 2], "item_id": ["a", "b", "a", "c"]})
    items = pl.DataFrame(
        {
            "item_id": ["a", "b", "c"],
            "author": ["Ann  Ash", "Bo Bay", "Bo Bay"],
            "themes": [["sea", " "], None, ["sea", "war"]],
            "pages": [10, 20, 30],
        }
    )
    rules = (
        Category("author", min_items=2),
        ListOf("themes", feature="theme", min_items=2),
        Number("pages", bins=2),
    )
    data = Dataset.from_tables(interactions, items, rules=rules)
    catalogue = Catalogue(Teaser(tol=1e-3).fit(data))
    first, second, third = (catalogue.card(item) for item in "abc")
    assert first.facts["theme"] == ("sea",)
    assert first.rare == {"author": ("Ann Ash",)}
    assert "author" not in first.facts
    # A feature of which an item has a tag, or states nothing, has no rare value.
    assert (dict(second.rare), dict(third.rare)) == ({}, {})
    assert catalogue.bits(Tag("author", "Ann Ash")) == pytest.approx(math.log2(3))
    assert catalogue.bits(Tag("author", "Bo Bay")) == pytest.approx(math.log2(3 / 2))
    assert fact_line(catalogue, first, texts_in("en"))[0] == "Ann Ash"


def test_what_is_not_stated_comes_last_among_the_tags_of_a_feature() -> None:
    interactions = pl.DataFrame({"user_id": [1, 1, 2, 2], "item_id": ["a", "b", "a", "c"]})
    items = pl.DataFrame({"item_id": ["a", "b", "c", "d"], "town": [None, None, "Ghent", "Mons"]})
    data = Dataset.from_tables(interactions, items, rules=[Category("town")])
    catalogue = Catalogue(Teaser(tol=1e-3).fit(data))
    assert [tag.value for tag in catalogue.features["town"]] == ["Ghent", "Mons", "not stated"]


def test_nothing_that_a_browser_would_run_is_a_link_or_a_picture(shop: Catalogue) -> None:
    assert shop.card("b").link is None
    assert shop.picture("d") is None


def test_pictures_come_as_bytes_or_as_an_address(shop: Catalogue) -> None:
    assert shop.picture("a") == ("image/svg+xml", SVG.encode())
    assert shop.picture("b") == ("image/png", b"bytes of a picture")
    assert shop.picture("c") == "https://example.org/c.png"


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("http://example.org/a.jpg", None),
        ("covers/a.jpg", None),
        ("/covers/a.jpg", None),
        ("ftp://example.org/a.jpg", None),
        ("data:image/tiff;base64,AAAA", None),
        ("data:text/html;base64,AAAA", None),
        ("data:image/png;base64,***", None),
        (" HTTPS://example.org/a.jpg ", "HTTPS://example.org/a.jpg"),
        ("//example.org/a.jpg", "https://example.org/a.jpg"),
    ],
)
def test_no_picture_is_promised_that_a_page_cannot_show(
    shop: Catalogue, cell: str, found: str | None
) -> None:
    table = shop.model.table_.with_columns(picture=pl.lit(cell), link=pl.lit(cell))
    model = copy.copy(shop.model)
    model._item_table = replace(model.item_table_, metadata=table)
    catalogue = Catalogue(model)
    assert catalogue.picture("a") == found
    card = catalogue.card("a")
    assert card.has_picture == (found is not None)
    assert (card.link is None) == (not cell.strip().lower().startswith("http"))


def test_filters_join_features_by_and_and_values_by_or(shop: Catalogue) -> None:
    concert, run, ghent = Tag("type", "Concert"), Tag("type", "Run"), Tag("town", "Ghent")
    assert shop.allowed([concert]).tolist() == [True, False, False, True]
    assert shop.allowed([concert, run]).all()
    assert shop.allowed([concert, ghent]).tolist() == [True, False, False, False]
    assert not shop.allowed([Tag("type", "Opera")]).any()


def test_a_tag_is_carried_whatever_its_weight(shop: Catalogue) -> None:
    model = copy.copy(shop.model)
    decoder = -shop.model.decoder_
    decoder.data[0] = 0.0
    model._tag_table = replace(model.tag_table_, decoder=decoder)
    turned = Catalogue(model)
    for tag in (Tag("type", "Concert"), Tag("type", "Run"), Tag("town", "Ghent")):
        assert turned.allowed([tag]).tolist() == shop.allowed([tag]).tolist()


def test_filters_by_date_leave_out_what_has_none(shop: Catalogue) -> None:
    assert shop.allowed(first=date(2026, 4, 1)).tolist() == [False, True, False, True]
    assert shop.allowed(last=date(2026, 4, 1)).tolist() == [True, True, False, False]
    assert shop.allowed().all()


def test_features_list_the_commonest_tags_first_and_no_popularity(shop: Catalogue) -> None:
    assert set(shop.features) == {"type", "town"}
    assert sum(len(tags) for tags in shop.features.values()) == 4


def test_a_cache_ends_with_its_catalogue(model: Teaser) -> None:
    calls = []

    @cached_per_catalogue(2)
    def double(catalogue: Catalogue, number: int) -> int:
        calls.append(number)
        assert len(catalogue.model.items_) == 40
        return 2 * number

    one, two = Catalogue(model), Catalogue(model)
    assert [double(one, 1), double(one, 1), double(two, 1), double(one, 2)] == [2, 2, 2, 4]
    assert calls == [1, 1, 2]
    reference = weakref.ref(one)
    del one
    assert reference() is None


def test_bounds_are_on_columns_of_numbers_and_what_has_no_number_fails() -> None:
    items = pl.DataFrame(
        {
            "item_id": [1, 2, 3, 4],
            "type": ["a", "a", "b", "b"],
            "price": [5.0, None, 20.0, 30.0],
            "year": [1990, 2000, 2010, None],
        }
    )
    interactions = pl.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [1, 2, 3, 4]})
    dataset = Dataset.from_tables(interactions, items, rules=[Category("type")])
    found = Catalogue(Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset))
    assert found.numbers == ("price", "year")
    assert found.allowed(at_most={"price": 20}).tolist() == [True, False, True, False]
    assert found.allowed(at_least={"price": 20, "year": 2000}).tolist() == [
        False,
        False,
        True,
        False,
    ]
    without = found.allowed(without=[Tag("type", "a"), Tag("type", "none")])
    assert without.tolist() == [False, False, True, True]
    for column in ("item_id", "type", "prise"):
        with pytest.raises(UnknownNameError, match=column):
            found.allowed(at_most={column: 1})


def test_today_is_that_of_the_site(model: Teaser) -> None:
    east, west = (Catalogue(model, zone=timezone(timedelta(hours=h))).today for h in (14, -12))
    assert east - west in (timedelta(days=1), timedelta(days=2))
    assert west <= Catalogue(model).today <= east

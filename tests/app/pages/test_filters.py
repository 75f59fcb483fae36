"""Filters read from an address, and written back to one."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from app.conftest import TestClient
from starlette.datastructures import QueryParams
from starlette.requests import Request

from teaser import Category, Dataset, Tag, Teaser
from teaser.app.catalogue import Catalogue
from teaser.app.pages.home import MAX_CARDS, Filters, choices, reading_order
from teaser.app.state import ListFilter
from teaser.data.rules import Rules


@pytest.fixture(scope="module")
def dated(tables: tuple[pl.DataFrame, pl.DataFrame]) -> Catalogue:
    """The same items, one on each day of a month and some."""
    interactions, items = tables
    days = [date(2026, 1, 1) + timedelta(n) for n in range(len(items))]
    rules = Rules((Category("type"), Category("town")), {"date": "day"})
    table = items.with_columns(pl.Series("day", days))
    return Catalogue(Teaser().fit(Dataset.from_tables(interactions, table, rules=rules)))


def read(query: str, catalogue: Catalogue) -> Filters:
    return Filters.read(QueryParams(query), catalogue)


def test_an_address_is_read_and_written_back(dated: Catalogue) -> None:
    query = "only=type%3Dfilm&only=town%3DLi%C3%A8ge&from=2026-01-02&to=2026-03-04&n=24"
    filters = read(query, dated)
    assert filters.tags == (Tag("type", "film"), Tag("town", "Liège"))
    assert (filters.first, filters.last) == (date(2026, 1, 2), date(2026, 3, 4))
    assert filters.path() == f"/?{query}"
    assert filters.path(without=Tag("type", "film"), k=36).startswith("/?only=town%3DLi")
    assert filters.path(k=36).endswith("n=36")


@pytest.mark.parametrize(
    "query",
    ["", "from=2026-01-02", "only=&only=no%3Dsuch", "from=soon&to=", "n=-4", "n=%C2%B2", "n=12"],
)
def test_what_means_nothing_is_left_out(catalogue: Catalogue, query: str) -> None:
    filters = read(query, catalogue)
    assert filters == Filters()
    assert filters.path() == "/"
    assert filters.allowed(catalogue) is None


def test_dates_leave_out_what_is_not_between_them(dated: Catalogue) -> None:
    allowed = read("from=2026-01-03&to=2026-01-04", dated).allowed(dated)
    assert allowed is not None
    assert np.flatnonzero(allowed).tolist() == [2, 3]


def request_of(**headers: str) -> Request:
    raw = [(name.encode(), text.encode()) for name, text in headers.items()]
    return Request({"type": "http", "query_string": b"n=24", "headers": raw})


def test_a_page_beside_a_list_has_its_filters(catalogue: Catalogue) -> None:
    came = request_of(host="here.example", referer="http://here.example/?only=type%3Dfilm&n=96")
    filters = Filters.of_list(came, catalogue)
    assert filters.tags == (Tag("type", "film"),)
    assert filters.pairs() == [("only", "type=film")]
    elsewhere = request_of(host="here.example", referer="http://x.example/?only=type%3Dfilm")
    assert Filters.of_list(elsewhere, catalogue).tags == ()
    assert Filters.of_list(request_of(host="here.example"), catalogue).tags == ()


def test_length_has_a_limit(catalogue: Catalogue) -> None:
    assert read("n=999", catalogue).k == MAX_CARDS


def test_only_items_that_carry_the_tags_pass(catalogue: Catalogue) -> None:
    allowed = read("only=type%3Dfilm", catalogue).allowed(catalogue)
    assert allowed is not None
    for place, passes in enumerate(allowed.tolist()):
        assert passes == ("film" in catalogue.card(f"i{place}").facts["type"])


def test_choices_are_in_order_of_name(catalogue: Catalogue) -> None:
    found = choices(catalogue)
    assert [tag.value for tag in found["town"]] == ["Deinze", "Ghent", "Liège"]
    assert "popularity" not in found


def test_numbers_are_in_their_own_order() -> None:
    values = ["under 10", "10 to 20", "20 to 100", "100 and over", "A", "b"]
    tags = [Tag("price", value) for value in values]
    assert sorted(set(tags), key=reading_order) == tags
    far = [Tag("distance", f"{value} km") for value in ("under 9", "9 to 30", "30 to 100")]
    assert sorted(set(far), key=reading_order) == far
    years = [Tag("year", value) for value in ("990", "1994", "2001–2004", "2010s", "not stated")]
    assert sorted(set(years), key=reading_order) == years


def test_the_form_marks_what_is_chosen(client: TestClient) -> None:
    page = client.get("/?only=type%3Dfilm").text
    form = page[page.index('<details class="filters"') :].partition("</form>")[0]
    assert '<option value="type=film" selected>' in form
    assert form.count("selected") == 1
    assert "date" not in form


def test_filters_come_to_those_that_a_list_has(dated: Catalogue) -> None:
    kept = ListFilter(only=("type=film",), without=("town=Ghent",), when="weekend")
    chosen = read("only=type%3Dfilm&only=town%3DLi%C3%A8ge", dated).kept_in(kept)
    assert chosen.only == ("type=film", "town=Liège")
    assert (chosen.without, chosen.when) == (kept.without, kept.when)
    assert read("from=2026-01-02", dated).kept_in(kept).when == "2026-01-02.."
    assert read("to=2026-01-02", dated).kept_in(kept).when == "..2026-01-02"
    assert read("from=2026-01-01&to=2026-01-02", dated).kept_in(kept).when == (
        "2026-01-01..2026-01-02"
    )
    assert read("", dated).kept_in(kept) == kept

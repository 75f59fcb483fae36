"""Filters read from an address, and written back to one."""

import pytest
from starlette.datastructures import QueryParams
from starlette.requests import Request

from teaser import Tag
from teaser.app.catalogue import Catalogue
from teaser.app.pages.home import Filters, reading_order


def read(query: str, catalogue: Catalogue) -> Filters:
    return Filters.read(QueryParams(query), catalogue)


@pytest.mark.parametrize(
    "query",
    ["", "from=2026-01-02", "only=&only=no%3Dsuch", "from=soon&to=", "n=-4", "n=%C2%B2", "n=12"],
)
def test_what_means_nothing_is_left_out(catalogue: Catalogue, query: str) -> None:
    filters = read(query, catalogue)
    assert filters == Filters()
    assert filters.path() == "/"
    assert filters.allowed(catalogue) is None


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


def test_numbers_are_in_their_own_order() -> None:
    values = ["under 10", "10 to 20", "20 to 100", "100 and over", "A", "b"]
    tags = [Tag("price", value) for value in values]
    assert sorted(set(tags), key=reading_order) == tags
    far = [Tag("distance", f"{value} km") for value in ("under 9", "9 to 30", "30 to 100")]
    assert sorted(set(far), key=reading_order) == far
    years = [Tag("year", value) for value in ("990", "1994", "2001–2004", "2010s", "not stated")]
    assert sorted(set(years), key=reading_order) == years

"""Filters read from an address, and written back to one."""

from datetime import date

import pytest
from starlette.datastructures import QueryParams

from teaser import Tag, Teaser
from teaser.app.catalogue import Catalogue
from teaser.app.filters import MOST_CARDS, Filters, choices, filter_form


@pytest.fixture(scope="module")
def catalogue(model: Teaser) -> Catalogue:
    return Catalogue(model)


def read(query: str, catalogue: Catalogue) -> Filters:
    return Filters.read(QueryParams(query), catalogue)


def test_an_address_is_read_and_written_back(catalogue: Catalogue) -> None:
    query = "only=type%3Dfilm&only=town%3DLi%C3%A8ge&from=2026-01-02&to=2026-03-04&n=24"
    filters = read(query, catalogue)
    assert filters.tags == (Tag("type", "film"), Tag("town", "Liège"))
    assert (filters.first, filters.last) == (date(2026, 1, 2), date(2026, 3, 4))
    assert filters.path() == f"/?{query}"
    assert filters.path(without=Tag("type", "film"), k=36).startswith("/?only=town%3DLi")
    assert filters.path(k=36).endswith("n=36")


@pytest.mark.parametrize(
    "query", ["", "only=&only=no%3Dsuch", "from=soon&to=", "n=-4", "n=%C2%B2", "n=12"]
)
def test_what_means_nothing_is_left_out(catalogue: Catalogue, query: str) -> None:
    filters = read(query, catalogue)
    assert filters == Filters()
    assert filters.path() == "/"
    assert filters.allowed(catalogue) is None


def test_length_has_a_limit(catalogue: Catalogue) -> None:
    assert read("n=999", catalogue).k == MOST_CARDS


def test_only_items_that_carry_the_tags_pass(catalogue: Catalogue) -> None:
    allowed = read("only=type%3Dfilm", catalogue).allowed(catalogue)
    assert allowed is not None
    for place, passes in enumerate(allowed.tolist()):
        assert passes == ("film" in catalogue.card(f"i{place}").facts["type"])


def test_choices_are_in_order_of_name(catalogue: Catalogue) -> None:
    found = choices(catalogue)
    assert [tag.value for tag in found["town"]] == ["Deinze", "Ghent", "Liège"]
    assert "popularity" not in found


def test_the_form_marks_what_is_chosen(catalogue: Catalogue) -> None:
    form = filter_form(catalogue, "en", read("only=type%3Dfilm", catalogue))
    assert '<option value="type=film" selected>' in form
    assert form.count("selected") == 1
    assert "date" not in form

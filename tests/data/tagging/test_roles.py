"""Columns that are displayed are found by name and by value; what cannot be shown is told."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import polars as pl
import pytest

from teaser.data.infer import address_warnings, infer_roles


class TestNames:
    def test_names_are_found_in_other_spellings(self) -> None:
        names = {"Book-Title": "title", "ImageURL": "picture", "releaseDate": "date"}
        items = pl.DataFrame(
            {"id": [1], "Book-Title": "A", "ImageURL": "x.jpg", "releaseDate": "2020-01-02"}
        )
        assert infer_roles(items, item="id") == {role: name for name, role in names.items()}
        assert infer_roles(pl.DataFrame({"id": [1], "job_title": ["x"]}), item="id") == {}

    def test_roles_are_found_by_name_in_any_case(self) -> None:
        items = pl.DataFrame(
            {"item_id": [1], "Title": ["A"], "Plot": ["p"], "poster": ["x.jpg"], "URL": ["u"]}
        )
        assert infer_roles(items, item="item_id") == {
            "title": "Title",
            "description": "Plot",
            "picture": "poster",
            "link": "URL",
        }

    def test_a_date_is_a_date(self) -> None:
        cases: list[Any] = [
            ([date(2024, 1, 1)], True),
            ([datetime(2024, 1, 1)], True),
            (["2024-01-01", None], True),
            (["2024-01-01", "soon"], False),
            ([2024], False),
        ]
        for cells, is_date in cases:
            items = pl.DataFrame({"item_id": range(len(cells)), "start": cells})
            assert ("date" in infer_roles(items, item="item_id")) == is_date

    def test_a_column_of_numbers_is_no_title(self) -> None:
        assert infer_roles(pl.DataFrame({"item_id": [1], "name": [3]}), item="item_id") == {}

    def test_the_item_id_has_no_role(self) -> None:
        assert infer_roles(pl.DataFrame({"name": ["a"]}), item="name") == {}


def roles_of(**columns: Sequence[str | None]) -> dict[str, str]:
    frame = pl.DataFrame({"id": range(len(next(iter(columns.values())))), **columns})
    return infer_roles(frame, item="id")


class TestValues:
    @pytest.mark.parametrize(
        "cell",
        [
            "https://a.b/c.jpg", "http://a.b/c.PNG?size=3", "data:image/png;base64,AA==",
            "<svg></svg>", "https://a.b/c.webp#x",
        ],
    )  # fmt: skip
    def test_pictures_are_recognised(self, cell: str) -> None:
        assert roles_of(looks=[cell, cell, None]) == {"picture": "looks"}

    def test_links_are_recognised(self) -> None:
        assert roles_of(where=["https://a.b/c", "http://d"]) == {"link": "where"}
        assert roles_of(where=["https://a.b/c", "soon"]) == {}

    def test_a_link_by_its_name_goes_first(self) -> None:
        links = ["https://a.b/1", "https://a.b/2"]
        assert roles_of(shop=links, url=links)["link"] == "url"

    def test_a_name_alone_makes_no_picture(self) -> None:
        assert roles_of(cover=["paperback", "hardcover"]) == {}
        assert roles_of(cover=["a/1.jpg", "a/2.jpg"]) == {"picture": "cover"}

    @pytest.mark.parametrize(
        ("names", "wanted"),
        [
            (("Image-URL-S", "Image-URL-M", "Image-URL-L"), "Image-URL-L"),
            (("small_image_url", "image_url"), "image_url"),
            (("thumbnail", "poster"), "poster"),
            (("poster", "poster_full"), "poster_full"),
            (("picture", "image"), "picture"),
            (("imageM", "imageS"), "imageM"),
        ],
    )
    def test_the_largest_of_several_pictures_is_taken(
        self, names: tuple[str, ...], wanted: str
    ) -> None:
        for order in (names, names[::-1]):
            if wanted == "picture" and order != names:
                continue  # of equal size, the first
            found = roles_of(**{name: ["https://a.b/c.jpg"] for name in order})
            assert found["picture"] == wanted

    def test_other_pictures_are_no_links(self) -> None:
        found = roles_of(imageS=["https://a.b/s.jpg"], imageL=["https://a.b/l.jpg"])
        assert found == {"picture": "imageL"}


class TestWarnings:
    def test_http_pictures_are_pointed_out(self) -> None:
        cells = ["http://a.b/1.jpg", "https://a.b/2.jpg", None, "", "http://a.b/3.jpg"]
        (said,) = address_warnings(pl.DataFrame({"p": cells}), {"picture": "p"})
        assert said.startswith("warning: 2 of 3 pictures in column 'p' are not shown by the site")
        assert "'http://a.b/1.jpg'" in said
        assert "https:// in place of http://" in said

    def test_relative_addresses_are_pointed_out(self) -> None:
        frame = pl.DataFrame({"p": ["img/1.jpg"], "l": ["/book/1"]})
        picture, link = address_warnings(frame, {"picture": "p", "link": "l"})
        assert "pictures need addresses that begin with https://. Put the address of" in picture
        assert "1 of 1 links in column 'l'" in link
        assert "whole addresses" in link

    def test_a_link_that_a_browser_might_run_is_pointed_out(self) -> None:
        (said,) = address_warnings(pl.DataFrame({"l": ["javascript:x()"]}), {"link": "l"})
        assert "whole addresses" in said
        assert "Put the address" not in said

    def test_what_is_shown_needs_no_word(self) -> None:
        frame = pl.DataFrame(
            {
                "p": ["https://a.b/1", "<svg></svg>", "data:image/png;base64,AA=="],
                "l": ["http://x"] * 3,
            }
        )
        assert address_warnings(frame, {"picture": "p", "link": "l", "title": "p"}) == ()
        assert address_warnings(frame, {}) == ()
        assert address_warnings(pl.DataFrame({"p": [3]}), {"picture": "p"}) == ()

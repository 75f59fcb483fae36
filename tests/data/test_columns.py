"""The columns of ids are found, and columns that nobody named are pointed out."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from teaser.data.columns import find_id_columns, unused_notes
from teaser.data.condition import Conditions
from teaser.data.interactions import RowReader, Strength
from teaser.data.reading import Table
from teaser.errors import TableError


def table(name: str = "x.csv", /, **columns: Any) -> Table:
    return Table(pl.DataFrame(columns), name)


def found(*tables: Any, **ids: Any) -> tuple[str, str, str, str]:
    columns = find_id_columns(*tables, **ids)
    return columns.user, columns.item, columns.items_id, columns.users_id


CHOICES = table("c.csv", user=[1, 1, 2], item=[10, 11, 10], rating=[3, 4, 5])
ITEMS = table("i.csv", n=[1, 2, 3], Book_ID=[10, 11, 12], year=[10, 10, 11])


class TestNames:
    @pytest.mark.parametrize(
        ("user", "item"),
        [
            ("user_id", "item_id"), ("userId", "movieId"), ("User-ID", "ISBN"), ("uid", "iid"),
            ("customer_id", "product_id"), ("visitorid", "itemid"), ("reviewerID", "asin"),
            ("user", "beer_id"), ("session_id", "article"), ("UserName", "anime_id"),
            ("Username", "BGGId"), ("username", "mal_ID"), ("userID", "artistID"),
            ("user", "game"), ("member", "paper"), ("account", "doc"), ("visitor", "sku"),
            ("customer_no", "track"), ("reviewerID", "parent_asin"), ("steamid", "appid"),
            ("reviewer_name", "isbn13"), ("listener", "song"), ("critic", "movie_name"),
        ],
    )  # fmt: skip
    def test_usual_names_are_known(self, user: str, item: str) -> None:
        assert found(table(**{item: ["a"], user: [1], "rating": [1]})) == (user, item, item, user)


class TestValues:
    def test_the_items_are_found_by_their_ids(self) -> None:
        items = table(n=[1, 2, 3], code_of_it=[10, 11, 12])
        assert found(CHOICES, items)[2] == "code_of_it"

    def test_of_two_columns_the_one_is_taken_that_describes_items(self) -> None:
        choices = table(user=[1, 2], track_id=[5, 6], artist_id=[70, 80])
        assert found(choices, table(artist_id=[70, 80], name=["a", "b"]))[1:3] == (
            "artist_id",
            "artist_id",
        )

    def test_ids_that_are_elsewhere_are_pointed_out(self) -> None:
        choices = table(user_id=[1, 2], book_id=[10, 11])
        items = table("b.csv", book_id=[901, 902], id=[10, 11])
        with pytest.raises(TableError, match=r"None of the ids.*'id' has them.*--items-id id\)"):
            find_id_columns(choices, items)
        assert found(choices, items, items_id="id")[2] == "id"


class TestMissing:
    def test_a_column_of_users(self) -> None:
        with pytest.raises(TableError, match=r"'user_id', needed for the interactions of c.csv"):
            find_id_columns(table("c.csv", who=[1], item_id=[2]))
        with pytest.raises(TableError, match=r"'usr'.*Likely: user. Give user='user' \(--user"):
            find_id_columns(CHOICES, user="usr")

    def test_a_column_of_items(self) -> None:
        with pytest.raises(TableError, match=r"'item_id'.*Found: user, x, y.*--item COLUMN"):
            find_id_columns(table(user=[1], x=[2], y=[3]))
        with pytest.raises(TableError, match=r"'itm'.*Give item='item' \(--item item\)"):
            find_id_columns(CHOICES, item="itm")

    def test_a_column_of_the_items_or_users(self) -> None:
        with pytest.raises(TableError, match=r"'item', needed for the items of i.csv, is missing"):
            find_id_columns(CHOICES, table("i.csv", title=["a", "b"]))
        with pytest.raises(TableError, match=r"'isbn'.*Give items_id='Book_ID' \(--items-id"):
            find_id_columns(CHOICES, ITEMS, items_id="isbn")
        with pytest.raises(TableError, match=r"'user', needed for the users.*--users-id COLUMN"):
            find_id_columns(CHOICES, None, table(age=[30, 31]))

    def test_a_file_without_a_header_says_so(self) -> None:
        items = Table(pl.DataFrame({"1": [2], "7": [8]}), headless="Give --items-columns.")
        with pytest.raises(TableError, match=r"Found: 1, 7\. Give --items-columns\.$"):
            find_id_columns(table(user=[1], item=[2]), items)


NOON = datetime(2024, 1, 31, 12, tzinfo=UTC).timestamp()


def notes(columns: dict[str, Any], **options: Any) -> list[str]:
    n = len(next(iter(columns.values())))
    frame = pl.DataFrame({"user": range(n), "item": 1} | columns)
    return unused_notes(Table(frame, "r.csv"), RowReader("user", "item", **options))


class TestRatings:
    @pytest.mark.parametrize(
        ("cells", "rule"),
        [
            ([1, 2, 3, 4, 5], "rating >= 4"),
            ([0.5, 3.5, 5.0], "rating >= 4"),
            (list(range(1, 11)), "rating >= 7"),
            (list(range(11)), "rating >= 7"),
            ([-1, 5, 10, None], "rating >= 7"),
            ([-1, 0, 1], "rating >= 1"),
            ([0.0, 0.3, 1.0], "rating >= 0.67"),
            ([1.0, 2.0, 3.0, float("nan")], "rating >= 3"),
            ([0, 1, 1], "rating >= 0.67"),
            ([n / 7 for n in range(700)], "rating >= 67"),
        ],
    )
    def test_the_upper_third_is_proposed(self, cells: Any, rule: str) -> None:
        (said,) = notes({"rating": cells})
        assert said.endswith(f'give --positive "{rule}" (positive={rule!r})')
        assert Conditions.coerce(rule) is not None

    def test_a_rule_or_a_strength_answers_it(self) -> None:
        rule = Conditions.parse("action = 'like'")
        columns = {"rating": [1, 2, 3], "action": ["like"] * 3}
        assert notes(columns, positive=rule) == notes(columns, negative=rule) == []
        assert notes(columns, strength=Strength("rating")) == []
        assert len(notes(columns, strength=Strength(counts="log"))) == 1


class TestTimes:
    @pytest.mark.parametrize(
        ("name", "cells"),
        [
            ("timestamp", [NOON, NOON + 1]),
            ("unixReviewTime", [NOON * 1000, None]),
            ("date", ["2024-01-31", "2024-01-31T08:00:00"]),
            ("date", ["31/01/2024", "31/01/2024 08:00"]),
            ("created-time", [date(2024, 1, 31)] * 2),
        ],
    )
    def test_the_option_is_named(self, name: str, cells: Any) -> None:
        (said,) = notes({name: cells})
        assert "has times, such as 2024-01-31." in said
        assert said.endswith(f"give --time {name} (time={name!r})")

    @pytest.mark.parametrize(
        ("name", "cells"),
        [
            ("time", [30, 45]), ("day", ["Monday", "Sunday"]), ("order_id", [NOON, NOON]),
            ("when", [[1], [2]]), ("time", [timedelta(1), timedelta(2)]), ("ts", [None, None]),
            ("isbn", ["0553280368", "1853260086"]), ("steam", [76561197970982479] * 2),
            ("phone", [NOON, 5 * NOON]), ("x", [True, False]), ("empty", [None, None]),
            ("rank", [1, 2, 3]), ("rating", ["a", "b", "c"]), ("rating", [1, 1, 1]),
            ("accessed", [1, 1, 1]),
            ("weight", [1, 1, 1]), ("plays", [-1, 2, 3]), ("count", ["a", "b", "c"]),
            ("height", [1, 2, 3]), ("plays", [None, None, None]),
        ],
    )  # fmt: skip
    def test_other_columns_are_not_pointed_out(self, name: str, cells: Any) -> None:
        assert notes({name: cells}) == []

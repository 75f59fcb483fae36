"""Columns of ids are taken as given, by name, or by the values that tables share."""

import re
from typing import Any

import polars as pl
import pytest

from teaser.data.columns import find_id_columns, find_key, names_ids
from teaser.data.reading import Table, snake_case
from teaser.errors import TableError


def table(name: str = "x.csv", /, **columns: Any) -> Table:
    return Table(pl.DataFrame(columns), name)


def found(*tables: Any, **ids: Any) -> tuple[str, str, str, str]:
    columns = find_id_columns(*tables, **ids)
    return columns.user, columns.item, columns.items_id, columns.users_id


CHOICES = table("c.csv", user=[1, 1, 2], item=[10, 11, 10], rating=[3, 4, 5])
ITEMS = table("i.csv", n=[1, 2, 3], Book_ID=[10, 11, 12], year=[10, 10, 11])
USERS = table("u.csv", **{"User-ID": [1, 2], "age": [3, 3]})


def test_names_are_read_in_any_spelling() -> None:
    cases = [
        ("Book-Title", "book_title"),
        ("bookTitle", "book_title"),
        ("ImageURL", "image_url"),
        ("Image-URL-L", "image_url_l"),
        ("ratings_5", "ratings_5"),
        ("Année de sortie", "année_de_sortie"),
        ("isbn13", "isbn_13"),
        ("  ", ""),
    ]
    for name, wanted in cases:
        assert snake_case(name) == wanted


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

    def test_the_default_goes_first(self) -> None:
        columns = {"item": [1], "movie_id": [1], "item_id": [1], "user": [1], "user_id": [1]}
        assert found(table(**columns))[:2] == ("user_id", "item_id")

    def test_what_is_given_is_taken(self) -> None:
        choices = table(a=[1], b=[2], user_id=[3], item_id=[4])
        assert found(choices, user="a", item="b")[:2] == ("a", "b")

    def test_what_was_taken_is_told(self) -> None:
        columns = find_id_columns(CHOICES, ITEMS, USERS)
        assert columns.notes == (
            "columns of ids that were not named, taken as likely: --user user --item item "
            "--items-id Book_ID --users-id User-ID",
        )
        given = {"user": "user", "item": "item", "items_id": "Book_ID", "users_id": "User-ID"}
        assert find_id_columns(CHOICES, ITEMS, USERS, **given).notes == ()


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

    def test_a_name_that_tells_nothing_is_found_by_values(self) -> None:
        choices = table(user=[1, 2], thing=["x", "y"], stars=[1, 2])
        assert found(choices, table(key=["x", "y", "z"]))[1:3] == ("thing", "key")

    def test_texts_and_numbers_may_be_the_same_ids(self) -> None:
        assert found(CHOICES, table(book=["10", "11"]))[2] == "book"

    def test_numbers_with_a_missing_one_are_the_same_ids(self) -> None:
        # pandas has 10.0 where a cell of the column is empty.
        assert (
            found(table(user=[1, 2], item=[10.0, None]), table(sku=[10.0, 11.0, None]))[2] == "sku"
        )
        assert found(table(user=[1], item=[" a"]), table(code_of_it=["a ", "b"]))[2] == "code_of_it"

    def test_fractions_are_no_ids(self) -> None:
        with pytest.raises(TableError, match="'item', needed for the items"):
            find_id_columns(table(user=[1, 2], item=[1.5, 2.5]), table(height=[1.5, 2.5]))

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

    def test_the_one_column_that_may_be_of_users_is_proposed(self) -> None:
        choices = table("c.csv", nick=["a"], game_id=[2], stars=[3.0], date_of_it=["x"])
        with pytest.raises(TableError, match=r"Likely: nick\. Give user='nick' \(--user nick\)"):
            find_id_columns(choices)
        with pytest.raises(TableError, match=r"Found: nick, mail, game_id\. Name it"):
            find_id_columns(table(nick=["a"], mail=["b"], game_id=[2]))

    def test_tables_in_the_wrong_order(self) -> None:
        items = table("i.csv", item=[10, 11], title=["a", "b"])
        with pytest.raises(
            TableError, match=r"i\.csv has no column of users, and column 'user' of "
        ):
            find_id_columns(items, CHOICES)
        with pytest.raises(TableError, match=r"^The table of x has .*Interactions come first"):
            find_id_columns(Table(items.frame, "the x"), CHOICES)
        assert found(items, CHOICES, user="title", item="item")[:2] == ("title", "item")

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

    def test_a_usual_name_is_proposed_where_no_values_are_shared(self) -> None:
        with pytest.raises(TableError, match=r"Likely: id\. Give items_id='id' \(--items-id id\)"):
            find_id_columns(CHOICES, table(id=["010", "011"], genre=["a", "b"]))

    def test_of_two_equal_columns_one_must_be_named(self) -> None:
        items = table("i.csv", p=[10, 11, 12], q=[10, 11, 12])
        with pytest.raises(TableError, match=r"Likely: p. Give items_id='p' \(--items-id p\)"):
            find_id_columns(CHOICES, items)

    def test_a_file_without_a_header_says_so(self) -> None:
        headless = Table(
            pl.DataFrame({"1": [2], "7": [8]}), headless="Name its columns: --columns."
        )
        with pytest.raises(TableError, match=r"Found: 1, 7\. Name its columns: --columns\."):
            find_id_columns(headless)

    def test_two_files_without_a_header_say_so_together(self) -> None:
        rows = pl.DataFrame({"1": [2], "7": [8]})
        choices, items = (
            Table(rows, headless="Give --columns."),
            Table(rows, headless="And --more."),
        )
        for tables in ((choices, items), (table(user=[1], item=[2]), items)):
            wanted = " ".join(each.headless for each in tables if each.headless)
            with pytest.raises(TableError, match=re.escape(f"Found: 1, 7. {wanted}") + "$"):
                find_id_columns(*tables)

    def test_a_column_for_each_item_is_no_table_of_rows(self) -> None:
        wide = table("w.csv", user_id=[1, 2], i0=[1, 2], i1=[2, 3], i2=[3, 1])
        with pytest.raises(TableError, match=r"3 columns of w\.csv .*i0, i1\. If each .* melt"):
            find_id_columns(wide, table("m.csv", item_id=[1, 2, 3]))

    def test_a_name_with_spaces_is_quoted(self) -> None:
        with pytest.raises(TableError, match=r"\(--user 'User ID'\)"):
            find_id_columns(table(**{"User ID": [1], "item": [1]}), user="usr")


def test_partitions_find_the_column_of_their_items() -> None:
    ids = pl.Series([10, 11])
    assert find_key(ITEMS, ids, "item", None)[0] == "Book_ID"
    assert find_key(ITEMS, ids, "item", "Book_ID") == ("Book_ID", ())
    assert "--items-id Book_ID" in find_key(ITEMS, ids, "item", None)[1][0]


def test_names_of_columns_tell_users_and_items() -> None:
    assert names_ids(["Book_ID", "Title"], "items")
    assert not names_ids(["Book_ID", "Title"], "users")
    assert names_ids(["User-ID", "Age"], "users")
    assert not names_ids(["Age"], "items")

"""Tables of any kind read alike; what cannot be read is named with its line."""

import gzip
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from forgery import bomb
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from teaser.data.dataset import read_tables
from teaser.data.interactions import as_ids
from teaser.data.reading import (
    Table,
    check_wide,
    read_delimited,
    read_table,
    widen,
)
from teaser.errors import ParameterError, TableError

FRAME = pl.DataFrame({"user_id": [1, 2], "item_id": ["a", "b"]})
ROWS = [(1, "a"), (2, "b")]

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


class TestCsv:
    def test_a_byte_order_mark_is_no_part_of_a_name(self, write: Write) -> None:
        path = write("x.csv", b"\xef\xbb\xbfuser_id,item_id\n1,a\n2,b\n")
        assert_frame_equal(read_table(path), FRAME)

    def test_zipped_text_is_read_by_its_content(self, write: Write) -> None:
        text = b"user_id;item_id\n1;a\n2;b\n"
        for name, content in [("x.csv.gz", gzip.compress(text)), ("x.csv", gzip.compress(text))]:
            assert_frame_equal(read_table(write(name, content)), FRAME)

    def test_other_encodings_are_read_when_given(self, write: Write) -> None:
        for encoding in ("latin-1", "utf-16", "utf-8-sig", "UTF8"):
            path = write("x.csv", "town,n\nLiège,1\n".encode(encoding))
            assert read_table(path, encoding=encoding).rows() == [("Liège", 1)]


class TestCellTypes:
    """Cells become numbers only where nothing is lost."""

    def test_cells_stay_text_where_numbers_would_lose_something(self, write: Write) -> None:
        for cells in (
            ["007", "8"],
            ["007", "1.5"],
            ["1.1", "1.10"],
            ["+1", "2"],
            [" 1", "2"],
            ["18446744073709551615", "18446744073709551614"],
            ["9007199254740993", "1.5"],
            ["1_000", "2"],
            ["0x10", "2"],
            ["1", "x"],
        ):
            assert read_table(write("x.csv", "\n".join(["a", *cells])))["a"].to_list() == cells

    def test_cells_that_are_all_numbers_become_numbers(self, write: Write) -> None:
        for cells, numbers in (
            (["1", "-2"], [1, -2]),
            (["9007199254740993", "2"], [9007199254740993, 2]),
            (["4.5", "3"], [4.5, 3.0]),
            (["1.0", "2.0"], [1.0, 2.0]),
            (["1e3", "2"], [1000.0, 2.0]),
            (["inf", "2"], [float("inf"), 2.0]),
        ):
            found = read_table(write("x.csv", "\n".join(["a", *cells])))["a"]
            assert found.dtype.is_numeric()
            assert found.to_list() == numbers

    @settings(max_examples=40)
    @given(
        ids=st.lists(
            st.integers(0, 10**25).map(str)
            | st.from_regex(r"[0-9.]{1,6}", fullmatch=True).filter(lambda t: t.strip(".")),
            min_size=1,
            unique=True,
        )
    )
    def test_different_ids_stay_different(
        self, tmp_path_factory: pytest.TempPathFactory, ids: list[str]
    ) -> None:
        path = tmp_path_factory.mktemp("csv") / "x.csv"
        path.write_text("\n".join(["id,n", *(f"{name},1" for name in ids)]))
        assert as_ids(read_table(path)["id"]).n_unique() == len(ids)


class TestUnreadableText:
    def test_an_empty_file(self, write: Write) -> None:
        for name in ("x.csv", "x.jsonl", "x.csv.gz"):
            for content in (b"", b"\n\n", b"\xef\xbb\xbf"):
                with pytest.raises(TableError, match=r"x\.\S+ is empty"):
                    read_table(write(name, content))

    def test_a_header_without_rows(self, write: Write) -> None:
        with pytest.raises(TableError, match=r"no rows of items in .*x\.csv\. Found columns: a, b"):
            read_table(write("x.csv", "a,b\n"), what="items")

    @pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
    def test_another_encoding(self, write: Write, encoding: str) -> None:
        for name, text in (("x.jsonl", '{"a": "é“"}\n'), ("x.csv", "a,b\né“,1\n")):
            text = text.replace("“", "") if encoding == "latin-1" else text
            path = write(name, text.encode(encoding))
            with pytest.raises(TableError, match=rf"utf-8.*encoding='{encoding}' \(--encoding"):
                read_table(path)
            assert read_table(path, encoding=encoding).height == 1

    def test_a_byte_order_mark_names_the_encoding(self, write: Write) -> None:
        for encoding in ("utf-16", "utf-8-sig"):
            path = write("x.csv", "town,n\nLiège,1\n".encode(encoding))
            assert read_table(path).rows() == [("Liège", 1)]

    def test_an_encoding_that_does_not_exist(self, write: Write) -> None:
        text = write("x.csv", "a\n1\n")
        with pytest.raises(ParameterError, match=r"encoding 'klingon' to read .*x\.csv in\. Usual"):
            read_table(text, encoding="klingon")
        with pytest.raises(ParameterError, match=r"Closest: latin-1.*Without --encoding"):
            read_table(text, encoding="lat-1n")

    def test_a_zipped_file_that_was_cut_off(self, write: Write) -> None:
        content = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
        with pytest.raises(TableError, match="could not be read"):
            read_table(write("x.csv.gz", content[:-9]))


class TestJsonl:
    def test_objects_may_lack_keys_and_hold_lists(self, write: Write) -> None:
        text = '{"a": 1, "tags": ["x", "y"]}\n\n{"a": 2}\n'
        assert read_table(write("x.jsonl", text)).rows() == [(1, ["x", "y"]), (2, None)]

    def test_a_line_that_is_no_object_is_named(self, write: Write) -> None:
        for bad in ("not json", '{"a":', "[1]", "3", "null", '{"a": NaN}'):
            path = write("x.jsonl", f'{{"a": 1}}\n{bad}\n{{"a": 3}}\n')
            with pytest.raises(TableError, match=r"Line 2 of .*x\.jsonl"):
                read_table(path)


class TestParquet:
    def test_what_is_no_parquet_is_refused(self, write: Write) -> None:
        for content in (b"", b"a,b\n1,2\n", b"PAR1" + b"x" * 30 + b"PAR1"):
            with pytest.raises(TableError, match=r"x\.parquet could not be read"):
                read_table(write("x.parquet", content))


class TestPaths:
    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(TableError, match=r"There is no file .*x\.csv to read the items from"):
            read_table(tmp_path / "x.csv", what="items")

    @pytest.mark.parametrize(
        ("start", "said"),
        [
            (b"PK\x03\x04", "a zip archive or an Excel workbook.*save the sheet as csv"),
            (b"\x00\x01\x02abcdefghijkl", "is not text.*--encoding utf-16-le"),
        ],
    )
    def test_what_is_no_text_is_named(self, write: Write, start: bytes, said: str) -> None:
        with pytest.raises(TableError, match=said):
            read_table(write("x.xlsx", start))


class TestBombs:
    """Small files that would fill the memory, or never end."""

    def test_a_parquet_file_that_claims_billions_of_rows(self, tmp_path: Path) -> None:
        (tmp_path / "a.parquet").write_bytes(bomb())
        with pytest.raises(TableError, match=r"a\.parquet .*1000000000000 rows"):
            read_table(tmp_path / "a.parquet")

    @pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
    def test_a_pipe_is_not_waited_for(self, tmp_path: Path, name: str) -> None:
        os.mkfifo(tmp_path / name)
        with pytest.raises(TableError, match="not a regular file"):
            read_table(tmp_path / name)


class TestOptions:
    def test_what_has_names_takes_no_columns(self, write: Write) -> None:
        with pytest.raises(ParameterError, match="no meaning for a DataFrame"):
            read_table(FRAME, columns=["a", "b"])
        for name in ("x.parquet", "x.jsonl"):
            with pytest.raises(ParameterError, match=r"no meaning for .*x\."):
                read_table(write(name, '{"a": 1}'), delimiter=";")


class TestTables:
    """The tables of a data set, read together."""

    def test_entities_are_decoded_but_in_ids(self) -> None:
        items = {
            "item_id": ["a&amp;b"], "title": ["Tom &amp; Jerry"],
            "place": ["caf&eacute; &#39;x&#x27;"],
            "firm": ["AT&T; R&D"], "twice": ["R &amp;amp; B"], "n": [1],
        }  # fmt: skip
        choices = {"user_id": [1], "item_id": ["a&amp;b"]}
        found = read_tables(choices, items, None, encoding="utf-8")
        assert found.items is not None
        assert found.items.frame.row(0) == (
            "a&amp;b", "Tom & Jerry", "café 'x'", "AT&T; R&D", "R & B", 1,
        )  # fmt: skip
        assert "3 cells of the items had HTML entities" in found.notes[0]


class TestBlank:
    def test_blank_texts_are_missing(self) -> None:
        items = pl.DataFrame({"item_id": ["a", "b", "c"], "title": ["  ", "", "Heat"]})
        found = read_tables(FRAME, items, None, encoding="utf-8").items
        assert found is not None
        assert found.frame["title"].to_list() == [None, None, "Heat"]


class TestFrames:
    @pytest.mark.parametrize(
        "source",
        [
            FRAME,
            FRAME.lazy(),
            FRAME.to_arrow(),
            FRAME.to_arrow().to_batches()[0],
            FRAME.to_arrow().to_reader(),
            pd.DataFrame({"user_id": [1, 2], "item_id": ["a", "b"]}, index=[5, 5]),
            {"user_id": [1, 2], "item_id": ["a", "b"]},
        ],
        ids=lambda source: type(source).__name__,
    )
    def test_every_kind_of_frame_reads_alike(self, source: Any) -> None:
        found = read_table(source)
        assert found.columns == FRAME.columns
        assert found.rows() == ROWS

    def test_what_pandas_misses_is_missing(self) -> None:
        frame = pd.DataFrame(
            {
                "n": [1.0, None],
                "t": ["a", None],
                "c": pd.Categorical(["a", None]),
                "d": [pd.Timestamp("2024-01-01"), pd.NaT],
            }
        )
        assert read_table(frame).row(1) == (None, None, None, None)

    def test_cells_of_mixed_types_are_refused_with_advice(self) -> None:
        frame = pd.DataFrame({"item_id": [1, "x"]})
        with pytest.raises(TableError, match=r"cannot be read as items: .*'x'.* one type each"):
            read_table(frame, what="items")

    def test_what_is_no_frame_is_refused(self) -> None:
        for source in (3, object(), {"a": [1, 2], "b": [1, 2, 3]}):
            with pytest.raises(TableError, match=f"A {type(source).__name__} cannot be read"):
                read_table(source)


PATH = Path("x.dat")


def read(text: str, **options: Any) -> Table:
    return read_delimited(text.rstrip("\n").encode(), PATH, **options)


class TestDelimiter:
    @pytest.mark.parametrize("mark", [",", ";", "\t", "|", "::"])
    def test_it_is_found(self, mark: str) -> None:
        text = "user_id,item_id,rating\n1,a,3\n2,b,4\n".replace(",", mark)
        assert read(text).frame.rows() == [(1, "a", 3), (2, "b", 4)]


class TestHeader:
    def test_unnamed_columns_are_numbered_and_empty_ones_dropped(self) -> None:
        assert read(",a,b\n0,1,2\n").frame.columns == ["", "a", "b"]
        assert read("a,b,,\n1,2,,\n3,4,,\n").frame.columns == ["a", "b"]
        assert read("a,b,,\n1,2,,x\n").frame.columns == ["a", "b", "column_3", "column_4"]

    def test_twice_the_same_name(self) -> None:
        with pytest.raises(TableError, match=r"more than one column 'a'\. Rename all but one"):
            read("a,a\nx,y\n")

    def test_data_in_the_place_of_names_are_noticed(self) -> None:
        found = read("1::1193::5::978300760\n1::661::3::978302109\n", what="interactions")
        assert "The first line of x.dat looks like data, not names" in found.headless
        assert "--columns user_id,item_id,rating,timestamp " in found.headless
        found = read("1::Toy Story (1995)::Comedy\n2::Heat::Action\n", what="items")
        assert "--items-columns item_id,title,column_3 " in found.headless
        found = read("1::F::18\n2::M::25\n", what="users")
        assert "--users-columns user_id,column_2,column_3 " in found.headless
        with pytest.raises(TableError, match=r"more than one column '1'.*--columns user_id,item_"):
            read("1,1,5\n1,2,3\n", what="interactions")


class TestColumns:
    def test_they_name_the_fields(self) -> None:
        found = read("1::a\n2::b\n", columns=("x", "y"))
        assert found.frame.columns == ["x", "y"]
        assert found.frame.height == 2
        assert (found.headless, found.notes) == ("", ())

    def test_they_replace_a_header(self) -> None:
        for header in ("userId,title", "x,title"):
            found = read(f"{header}\n1,a\n2,b\n", columns=("x", "y"))
            assert found.frame.rows() == [(1, "a"), (2, "b")]
            assert "the first line of x.dat has names" in found.notes[0]

    def test_they_are_as_many_as_the_fields(self) -> None:
        wanted = r"columns names 2, x, y, but the rows of x.dat have 3 fields, such as '1, a, b'"
        with pytest.raises(TableError, match=wanted):
            read("1,a,b\n2,c,d\n", columns=("x", "y"))


class TestRows:
    def test_a_delimiter_may_end_every_row(self) -> None:
        for header in ("a,b", "a,b,"):
            for end in ("\n", "\r\n"):
                text = end.join([header, "1,2,", "3,4,"])
                assert read(text).frame.rows() == [(1, 2), (3, 4)]
                assert read(text).notes == ()


@given(
    st.lists(
        st.lists(
            st.text(st.sampled_from('ab1 ",;\n'), max_size=4).map(lambda s: f"x{s}"),
            min_size=3,
            max_size=3,
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([",", ";", "\t"]),
)
def test_what_a_program_wrote_is_read_back(rows: list[list[str]], mark: str) -> None:
    def quoted(cell: str) -> str:
        escaped = cell.replace('"', '""')
        return f'"{escaped}"' if re.search(rf'["\n{mark}]', cell) else cell

    text = "\n".join(mark.join(map(quoted, row)) for row in [["u", "v", "w"], *rows])
    found = read_delimited(text.encode(), PATH, delimiter=mark)
    assert [list(row) for row in found.frame.rows()] == rows
    assert not found.refused


FINE = "".join(f"{i}\tx{i}\ty{i}\n" for i in range(100, 150))


def repair(text: str, delimiter: str = "\t") -> Table:
    return read(f"{delimiter.join('abc')}\n{text}", delimiter=delimiter)


class TestLongRows:
    def test_fields_that_an_entity_cut_are_joined(self) -> None:
        found = repair(FINE + "1\tNorton &amp\t Company\ty\t\n2\tA&#39\tB &lt\tC\ty\n")
        assert found.frame.rows()[-2:] == [
            (1, "Norton &amp; Company", "y"),
            (2, "A&#39;B &lt;C", "y"),
        ]
        (note,) = found.notes
        assert note == (
            "2 rows of x.dat with too many fields, joined where the semicolon of an HTML entity "
            "(&amp;) had cut them: line 52, line 53"
        )

    def test_a_field_that_begins_with_a_space_goes_on(self) -> None:
        found = repair(FINE + "1\tBook\t Volume I\ty\n")
        assert found.frame.rows()[-1] == (1, "Book; Volume I", "y")
        assert "joined where a field begins with a space, as no other does" in found.notes[0]
        commas = repair("1,Hello, World,5\n2,b,3\n", ",")
        assert commas.frame.rows() == [(1, "Hello, World", 5), (2, "b", 3)]

    def test_the_rest_is_refused_by_line(self) -> None:
        found = repair(FINE + "1\ta\tb\tc\n")
        (refusal,) = found.refused
        assert str(refusal) == (
            "1 row refused, more fields than the header, which has 3: line 52 has 4 "
            r"('1\ta\tb\tc')"
        )
        assert found.frame.height == 50

    def test_many_are_an_error(self) -> None:
        with pytest.raises(TableError, match=r"1 of 3 rows of x.dat have more fields .*line 3 has"):
            repair("1\t2\t3\n1\ta\tb\tc\n2\t3\t4")
        with pytest.raises(TableError, match=r"Every row has 4: name as many columns.*--columns"):
            repair("1\ta\tb\tc\n2\ta\tb\tc")


class TestShortRows:
    def test_missing_cells_are_empty_and_the_lines_told(self) -> None:
        found = repair("1\tx\ty\n2\n3\tx\n\n4\tx\ty\n")
        assert found.frame.rows() == [
            (1, "x", "y"), (2, None, None), (3, "x", None), (None, None, None), (4, "x", "y"),
        ]  # fmt: skip
        assert found.notes == (
            "2 rows of x.dat with fewer fields than the header, which has 3; the missing cells are "
            "empty: line 3 has 1, line 4 has 2",
        )


class TestQuotes:
    def test_stray_quotes_are_characters_and_their_lines_told(self) -> None:
        found = repair('1\t5" disk\ty\n2\t"Weird" Al\ty\n3\t"fine"\ty\n4\t"open\ty\n')
        assert found.frame["b"].to_list() == ['5" disk', '"Weird" Al', "fine", '"open']
        assert found.notes == (
            "3 rows of x.dat with quotes that enclose no field, read as characters: line 2, "
            "line 3, line 5",
        )

    def test_line_breaks_stay_in_their_field(self) -> None:
        found = repair('1,"two\r\nlines",y\n2,5" disk,y\n3,a\n', ",")
        assert found.frame.rows() == [
            (1, "two\nlines", "y"), (2, '5" disk', "y"), (3, "a", None),
        ]  # fmt: skip
        assert "line 4" in found.notes[0]
        assert "line 5 has 2" in found.notes[1]

    def test_two_stray_quotes_swallow_no_rows(self) -> None:
        found = repair('1,"Weird Al,3\n2,x,4\n4,Size 5",5', ",")
        assert found.frame["b"].to_list() == ['"Weird Al', "x", 'Size 5"']

    def test_what_quotes_enclose_is_kept_where_other_rows_are_ragged(self) -> None:
        found = repair('1;"a;b";"He said ""no"""\n2;"The ""\n3;"\\"O\\" is; for";x\n', ";")
        assert found.frame.rows() == [
            (1, "a;b", 'He said "no"'), (2, '"The ""', None), (3, '"O" is; for', "x"),
        ]  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.dat"


def test_the_line_in_another_encoding_is_shown(path: Path) -> None:
    path.write_bytes("a,b\n1,Liège\n".encode("latin-1"))
    wanted = r"line 2 has the byte 0xe8\. Read as latin-1, it has '1,Liège'"
    with pytest.raises(TableError, match=wanted):
        read_table(path)


LONG_TABLE_ROWS = pl.DataFrame(
    {
        "id": [1, 1, 1, 2, 2, 3],
        "property": ["genre", "genre", "year", "year", "title", "genre"],
        "value": ["jazz", "rock", "1999", "2001", "Two", "jazz"],
    }
)


class TestWide:
    def test_properties_become_columns(self) -> None:
        found = widen(Table(LONG_TABLE_ROWS, "x.csv"), "id,property,value")
        assert found.frame.columns == ["id", "genre", "year", "title"]
        assert found.frame.rows() == [
            (1, ["jazz", "rock"], 1999, None),
            (2, None, 2001, "Two"),
            (3, ["jazz"], None, None),
        ]
        assert found.notes == (
            "long form of x.csv: 6 rows of 3 items became the columns genre, year, title",
        )

    def test_a_value_alone_is_its_own_property(self) -> None:
        rows = pl.DataFrame({"user": [1, 2, 1], "movie": [7, 7, 8], "tag": ["fun", "dark", "fun"]})
        found = widen(Table(rows), ("movie", "tag"))
        assert found.frame.rows() == [(7, ["fun", "dark"]), (8, ["fun"])]

    def test_incomplete_rows_are_left_out_and_counted(self) -> None:
        gaps = pl.DataFrame(
            {"id": [None, 5, 5], "property": ["a", " ", "a"], "value": ["x", "x", None]}
        )
        found = widen(Table(pl.concat([LONG_TABLE_ROWS, gaps]), "x.csv"), "id,property,value")
        assert found.frame["id"].to_list() == [1, 2, 3]
        assert found.notes[1] == "3 rows of x.csv without id, property or value left out"

    def test_what_cannot_be(self) -> None:
        with pytest.raises(TableError, match="'kind', needed for the long form, is missing"):
            widen(Table(LONG_TABLE_ROWS), "id,kind,value")
        many = pl.DataFrame({"i": range(300), "p": range(300), "v": ["x"] * 300})
        with pytest.raises(TableError, match=r"has 300 properties.*--long i,v"):
            widen(Table(many), "i,p,v")
        with pytest.raises(TableError, match="none may be called 'id'"):
            widen(Table(LONG_TABLE_ROWS.with_columns(property=pl.lit("id"))), "id,property,value")
        with pytest.raises(TableError, match="No row"):
            widen(Table(LONG_TABLE_ROWS.with_columns(value=pl.lit(None))), "id,property,value")


class TestRecognised:
    def test_a_table_in_long_form_asks_for_the_option(self) -> None:
        rows = pl.concat([LONG_TABLE_ROWS.rename({"property": "sort", "value": "what"})] * 5)
        rows = rows.with_columns(what=pl.col("what") + pl.int_range(pl.len()).cast(pl.String))
        with pytest.raises(
            TableError, match=r"The 30 rows of x.csv describe 3 items.*\(--long id,sort,what\)"
        ):
            check_wide(Table(rows, "x.csv"), "id")
        tags = pl.DataFrame({"user": [1, 2, 3], "movie": [7, 7, 7], "tag": ["a", "b", "c"]})
        with pytest.raises(TableError, match=r"differ in user, tag.*--long movie,tag\)"):
            check_wide(Table(tags), "movie")

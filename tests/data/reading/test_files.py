"""Tables of every kind are read alike, or refused with what was found."""

import gzip
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from forgery import bomb
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import teaser
from teaser import files as named
from teaser.data.dataset import read_tables
from teaser.data.interactions import as_ids, check_interactions
from teaser.data.reading import need_columns, read_table
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
    def test_the_separator_is_seen_in_the_header(self, write: Write) -> None:
        for mark in ",;\t|":
            text = "user_id,item_id\n1,a\n2,b\n".replace(",", mark)
            assert_frame_equal(read_table(write("x.csv", text)), FRAME)

    def test_the_kind_is_seen_in_the_name(self, write: Write) -> None:
        for name in ("x.csv", "x.tsv", "x.txt", "x.CSV", "x.2024.csv"):
            assert read_table(write(name, "user_id,item_id\n1,a\n2,b")).rows() == ROWS

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_lines_end_as_on_any_machine(self, write: Write, end: str) -> None:
        for last in ("", end, 3 * end):
            text = end.join(["user_id,item_id", "1,a", "2,b"]) + last
            assert read_table(write("x.csv", text)).rows() == ROWS

    def test_a_byte_order_mark_is_no_part_of_a_name(self, write: Write) -> None:
        path = write("x.csv", b"\xef\xbb\xbfuser_id,item_id\n1,a\n2,b\n")
        assert_frame_equal(read_table(path), FRAME)

    def test_blank_lines_before_the_header_are_passed_over(self, write: Write) -> None:
        assert read_table(write("x.csv", "\n\nuser_id,item_id\n1,a\n2,b\n")).rows() == ROWS

    def test_a_blank_line_among_the_rows_is_a_row_to_be_refused(self, write: Write) -> None:
        frame = read_table(write("x.csv", "u,i\n1,a\n\n2,b\n"))
        _, report = check_interactions(frame, user="u", item="i")
        assert (report.rows, [str(r) for r in report.refused]) == (
            3,
            ["1 row refused, u is missing: row 2 (None)"],
        )

    def test_quotes_hold_separators_line_breaks_and_quotes(self, write: Write) -> None:
        frame = read_table(write("x.csv", 'a,b\n"x,\ny",1\n"say ""hi""",2\n'))
        assert frame.rows() == [("x,\ny", 1), ('say "hi"', 2)]

    def test_zipped_text_is_read_by_its_content(self, write: Write) -> None:
        text = b"user_id;item_id\n1;a\n2;b\n"
        for name, content in [("x.csv.gz", gzip.compress(text)), ("x.csv", gzip.compress(text))]:
            assert_frame_equal(read_table(write(name, content)), FRAME)

    def test_other_encodings_are_read_when_given(self, write: Write) -> None:
        for encoding in ("latin-1", "utf-16", "utf-8-sig", "UTF8"):
            path = write("x.csv", "town,n\nLiège,1\n".encode(encoding))
            assert read_table(path, encoding=encoding).rows() == [("Liège", 1)]

    def test_short_rows_have_missing_cells(self, write: Write) -> None:
        assert read_table(write("x.csv", "a,b\n1\n2,y\n")).rows() == [(1, None), (2, "y")]


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

    @pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-16-be"])
    def test_another_encoding(self, write: Write, encoding: str) -> None:
        for name, text in (("x.jsonl", '{"a": "é“"}\n'), ("x.csv", "a,b\né“,1\n")):
            text = text.replace("“", "") if encoding == "latin-1" else text
            path = write(name, text.encode(encoding))
            with pytest.raises(TableError, match=rf"utf-8.*encoding='{encoding}' \(--encoding"):
                read_table(path)
            assert read_table(path, encoding=encoding).height == 1

    def test_a_byte_order_mark_names_the_encoding(self, write: Write) -> None:
        for encoding in ("utf-16", "utf-32", "utf-8-sig"):
            path = write("x.csv", "town,n\nLiège,1\n".encode(encoding))
            assert read_table(path).rows() == [("Liège", 1)]

    def test_an_encoding_that_does_not_exist(self, write: Write) -> None:
        text = write("x.csv", "a\n1\n")
        with pytest.raises(ParameterError, match=r"encoding 'klingon' to read .*x\.csv in\. Usual"):
            read_table(text, encoding="klingon")
        with pytest.raises(ParameterError, match=r"Closest: latin-1.*Without --encoding"):
            read_table(text, encoding="lat-1n")

    def test_two_columns_of_one_name(self, write: Write) -> None:
        with pytest.raises(TableError, match="more than one column 'a'"):
            read_table(write("x.csv", 'a,b,"a"\n1,2,3\n'))

    def test_rows_with_too_many_fields_are_named(self, write: Write) -> None:
        wanted = r"2 of 3 rows .*has 2: line 2 has 3, line 4 has 4\. Quote"
        with pytest.raises(TableError, match=wanted):
            read_table(write("x.csv", "a,b\n1,2,3\n1,2\n1,2,3,4\n"))

    def test_a_quote_that_is_not_closed_is_a_character(
        self, write: Write, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = write("x.csv", 'a,b\n"1,2\n3,4\n')
        assert read_table(path).rows() == [('"1', 2), ("3", 4)]
        assert "1 row of" in caplog.text
        assert "with quotes that enclose no field, read as characters: line 2" in caplog.text

    def test_a_zipped_file_that_was_cut_off(self, write: Write) -> None:
        content = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
        with pytest.raises(TableError, match="could not be read"):
            read_table(write("x.csv.gz", content[:-9]))

    def test_a_zipped_file_that_was_damaged(self, write: Write) -> None:
        content = bytearray(gzip.compress(np.random.default_rng(0).bytes(2000)))
        content[100:200] = b"\xff" * 100
        with pytest.raises(TableError, match="could not be read"):
            read_table(write("x.csv.gz", bytes(content)))


class TestJsonl:
    def test_objects_may_lack_keys_and_hold_lists(self, write: Write) -> None:
        text = '{"a": 1, "tags": ["x", "y"]}\n\n{"a": 2}\n'
        assert read_table(write("x.jsonl", text)).rows() == [(1, ["x", "y"]), (2, None)]

    def test_nested_objects_are_kept(self, write: Write) -> None:
        frame = read_table(write("x.ndjson", '{"a": {"b": [1]}}\n{"a": null}\n'))
        assert frame["a"].to_list() == [{"b": [1]}, None]

    def test_late_keys_are_not_lost(self, write: Write) -> None:
        text = '{"a": 1}\n' * 500 + '{"a": 2, "late": "x"}\n'
        assert read_table(write("x.jsonl", text))["late"][-1] == "x"

    def test_a_byte_order_mark_is_passed_over(self, write: Write) -> None:
        assert read_table(write("x.jsonl", b'\xef\xbb\xbf{"a": 1}')).rows() == [(1,)]

    def test_a_line_that_is_no_object_is_named(self, write: Write) -> None:
        for bad in ("not json", '{"a":', "[1]", "3", "null", '{"a": NaN}'):
            path = write("x.jsonl", f'{{"a": 1}}\n{bad}\n{{"a": 3}}\n')
            with pytest.raises(TableError, match=r"Line 2 of .*x\.jsonl"):
                read_table(path)

    def test_columns_of_two_types_are_refused_in_one_sentence(self, write: Write) -> None:
        with pytest.raises(TableError, match="could not be read") as caught:
            read_table(write("x.jsonl", '{"a": true}\n{"a": 1}\n'))
        assert "\n" not in str(caught.value)


class TestParquet:
    def test_types_are_kept(self, tmp_path: Path) -> None:
        frame = pl.DataFrame({"id": ["007"], "tags": [["a", "b"]], "day": [date(2024, 2, 29)]})
        frame.write_parquet(tmp_path / "x.parquet")
        assert_frame_equal(read_table(tmp_path / "x.parquet"), frame)

    def test_what_is_no_parquet_is_refused(self, write: Write) -> None:
        for content in (b"", b"a,b\n1,2\n", b"PAR1" + b"x" * 30 + b"PAR1"):
            with pytest.raises(TableError, match=r"x\.parquet could not be read"):
                read_table(write("x.parquet", content))


class TestPaths:
    def test_a_path_may_be_text(self, write: Write) -> None:
        assert read_table(str(write("x.csv", "user_id,item_id\n1,a\n2,b"))).rows() == ROWS

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(TableError, match=r"There is no file .*x\.csv to read the items from"):
            read_table(tmp_path / "x.csv", what="items")

    def test_a_folder(self, tmp_path: Path) -> None:
        for name in ("folder", "folder.csv", "folder.parquet"):
            (tmp_path / name).mkdir()
            with pytest.raises(TableError, match=f"{name} is a folder"):
                read_table(tmp_path / name)

    def test_any_extension_is_text(self, write: Write) -> None:
        for name in ("x.dat", "x", "x.data", "x.csv.bak", "x.inter"):
            assert read_table(write(name, "user_id\titem_id\n1\ta\n2\tb\n")).rows() == ROWS

    @pytest.mark.parametrize(
        ("start", "said"),
        [
            (b"PK\x03\x04", "a zip archive or an Excel workbook.*save the sheet as csv"),
            (b"BZh91AY", "packed with bzip2.*Unpack it first"),
            (b"\xfd7zXZ\x00", "packed with xz"),
            (b"SQLite format 3\x00", "an SQLite database"),
            (b"\x00\x01\x02abcdefghijkl", "is not text"),
        ],
    )
    def test_what_is_no_text_is_named(self, write: Write, start: bytes, said: str) -> None:
        with pytest.raises(TableError, match=said):
            read_table(write("x.xlsx", start))

    def test_a_name_that_no_file_can_have(self) -> None:
        with pytest.raises(TableError, match="could not be read"):
            read_table("x" * 5000 + ".csv")


class TestBombs:
    """Small files that would fill the memory, or never end."""

    def test_a_parquet_file_that_claims_billions_of_rows(self, tmp_path: Path) -> None:
        (tmp_path / "a.parquet").write_bytes(bomb())
        with pytest.raises(TableError, match=r"a\.parquet .*1000000000000 rows"):
            read_table(tmp_path / "a.parquet")

    @pytest.mark.parametrize("name", ["a.csv.gz", "a.csv", "a.jsonl.gz"])
    def test_text_that_expands_without_end(
        self, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(named, "_SMALL", 2**20)
        (tmp_path / name).write_bytes(gzip.compress(b"0" * 2**23))
        with pytest.raises(TableError, match="expands to more than"):
            read_table(tmp_path / name)

    def test_text_that_polars_would_unpack(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_bytes(zlib.compress(b"user_id,item_id\n" + b"1,2\n" * 9))
        with pytest.raises(TableError, match="packed with zlib"):
            read_table(tmp_path / "a.csv")

    @pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
    def test_a_pipe_is_not_waited_for(self, tmp_path: Path, name: str) -> None:
        os.mkfifo(tmp_path / name)
        with pytest.raises(TableError, match="it is a pipe, not a regular file"):
            read_table(tmp_path / name)


class TestOptions:
    def test_columns_name_those_of_a_file_without_a_header(self, write: Write) -> None:
        found = read_table(write("x.dat", "1::a\n2::b\n"), columns=["user_id", " item_id"])
        assert_frame_equal(found, FRAME)

    @pytest.mark.parametrize("columns", ["ab", [], ["a", "a"], ["a", ""], [1, 2]])
    def test_columns_are_different_names(self, columns: Any) -> None:
        with pytest.raises(ParameterError, match="columns must be a list of different names"):
            read_table("nowhere.csv", columns=columns)

    def test_what_has_names_takes_no_columns(self, write: Write) -> None:
        with pytest.raises(ParameterError, match="no meaning for a DataFrame"):
            read_table(FRAME, columns=["a", "b"])
        for name in ("x.parquet", "x.jsonl"):
            with pytest.raises(ParameterError, match=r"no meaning for .*which has names"):
                read_table(write(name, '{"a": 1}'), delimiter=";")

    def test_long_form_becomes_one_row_an_item(self, write: Write) -> None:
        path = write("x.csv", "id,what,is\n1,genre,a\n1,genre,b\n2,year,1999\n")
        found = read_table(path, long=("id", "what", "is"))
        assert found.rows() == [(1, ["a", "b"], None), (2, None, 1999)]

    def test_it_is_public(self) -> None:
        assert teaser.read_table is read_table


class TestTables:
    """The tables of a data set, read together."""

    def read(self, *tables: Any, **ids: str) -> Any:
        every = (*tables, None, None)[:3]
        return read_tables(*every, encoding="utf-8", **ids)

    def test_they_come_with_the_columns_of_their_ids(self) -> None:
        items = {"Book_ID": [1, 2], "name": ["x", "y"]}
        found = self.read({"user": [1], "item": [2]}, items, {"User-ID": [1], "age": [3]})
        ids = found.ids
        assert (ids.user, ids.item, ids.items_id, ids.users_id) == (
            "user", "item", "Book_ID", "User-ID",
        )  # fmt: skip
        assert found.notes == ids.notes

    def test_entities_are_decoded_but_in_ids(self) -> None:
        items = {"item_id": ["a&amp;b"], "title": ["Tom &amp; Jerry"]}
        found = self.read({"user_id": [1], "item_id": ["a&amp;b"]}, items)
        assert found.items.frame.rows() == [("a&amp;b", "Tom & Jerry")]
        assert "1 cell of the items had HTML entities" in found.notes[0]

    def test_long_form_is_recognised(self) -> None:
        items = {"item_id": [1, 1], "property": ["a", "b"], "value": ["x", "y"]}
        found = self.read({"user_id": [1], "item_id": [1]}, items)
        assert found.items.frame.rows() == [(1, "x", "y")]
        assert "long form of" in found.notes[0]

    def test_other_rows_of_one_item_ask_for_an_option(self) -> None:
        items = {"item_id": [1, 1], "genre": ["a", "b"]}
        with pytest.raises(TableError, match=r"--long item_id,genre"):
            self.read({"user_id": [1], "item_id": [1]}, items)

    def test_notes_and_refused_rows_of_files_are_kept(self, write: Write) -> None:
        rows = "".join(f"{i},x\n" for i in range(30))
        items = write("i.csv", f"item_id,title\n{rows}40,a,b,c\n41\n")
        found = self.read({"user_id": [1], "item_id": [1]}, items)
        assert found.items.refused[0].count == 1
        assert "1 row of" in found.notes[0]
        assert "line 33 has 1" in found.notes[0]


class TestEach:
    """What is wrong with several tables is said at once."""

    def test_one_error_names_all(self, write: Write) -> None:
        first, second = write("a.csv", b"town\nLi\xe8ge\n"), write("b.csv", "")
        with pytest.raises(TableError, match=r"a\.csv is not encoded.*b\.csv is empty\."):
            read_tables(first, second, None, encoding="utf-8")
        with pytest.raises(TableError, match=r"^\S*b\.csv is empty\.$"):
            read_tables(FRAME, second, None, encoding="utf-8")

    def test_blank_texts_are_missing(self) -> None:
        items = pl.DataFrame({"item_id": ["a", "b", "c"], "title": ["  ", "", "Heat"]})
        found = read_tables(FRAME, items, None, encoding="utf-8").items
        assert found is not None
        assert found.frame["title"].to_list() == [None, None, "Heat"]

    def test_a_file_without_a_header_is_among_them(self, write: Write) -> None:
        rows, items = write("r.csv", "1,1,5\n1,2,4\n"), write("i.csv", "1,Heat\n2,Big\n")
        with pytest.raises(TableError, match=r"'1'\..* --columns .* --items-columns item_id,title"):
            read_tables(rows, items, None, encoding="utf-8")


class TestFrames:
    def test_a_named_index_of_pandas_is_a_column(self) -> None:
        frame = pd.DataFrame({"item": [1, 2], "w": [3, 4]})
        assert read_table(frame.set_index("item")).columns == ["item", "w"]
        assert read_table(frame.set_index(["item", "w"])).rows() == [(1, 3), (2, 4)]
        assert read_table(frame.set_index("item", drop=False)).columns == ["item", "w"]
        assert read_table(frame).columns == ["item", "w"]

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

    @pytest.mark.parametrize(
        "source",
        [pl.DataFrame(), FRAME.clear(), pd.DataFrame({"a": []}), pa.table({"a": []}), None],
        ids=lambda source: type(source).__name__,
    )
    def test_frames_without_rows_are_refused(self, source: Any) -> None:
        with pytest.raises(TableError, match="There are no rows of items"):
            read_table(source, what="items")

    def test_cells_of_mixed_types_are_refused_with_advice(self) -> None:
        frame = pd.DataFrame({"item_id": [1, "x"]})
        with pytest.raises(TableError, match=r"cannot be read as items: .*'x'.* one type each"):
            read_table(frame, what="items")

    def test_two_columns_of_one_name_are_refused(self) -> None:
        with pytest.raises(TableError, match="cannot be read as items"):
            read_table(pd.DataFrame([[1, 2]], columns=["a", "a"]), what="items")

    def test_what_is_no_frame_is_refused(self) -> None:
        for source in (3, object(), {"a": [1, 2], "b": [1, 2, 3]}):
            with pytest.raises(TableError, match=f"A {type(source).__name__} cannot be read"):
                read_table(source)

    def test_columns_of_python_objects_are_refused(self) -> None:
        frame = pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)})
        with pytest.raises(TableError, match="Column 'a' of the data contains Python objects"):
            read_table(frame)

    @pytest.mark.parametrize("bad", [FRAME.lazy().select("z"), pl.scan_csv("nothing.csv")])
    def test_a_lazy_frame_that_fails_is_refused(self, bad: pl.LazyFrame) -> None:
        with pytest.raises(TableError, match="could not be read") as caught:
            read_table(bad)
        assert "\n" not in str(caught.value)

    def test_without_pyarrow_a_pandas_frame_says_what_to_install(self) -> None:
        script = (
            "import sys; sys.modules['pyarrow'] = None\n"
            "import pandas as pd\n"
            "from teaser.data.reading import read_table\n"
            "from teaser.errors import TableError\n"
            "print(read_table(pd.DataFrame({'a': [1, 2]})).rows())\n"
            "try:\n"
            "    print(read_table(pd.DataFrame({'a': ['x']})).rows())\n"
            "except TableError as error:\n"
            "    print(error)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        numbers, texts = done.stdout.splitlines()
        assert numbers == "[(1,), (2,)]"
        assert texts == "[('x',)]" or texts.endswith("pip install pyarrow.")


@pytest.mark.parametrize("form", ["frame", "csv"])
def test_a_column_named_like_a_pattern_is_refused(write: Write, form: str) -> None:
    source = write("x.csv", "a,^b$\n1,2\n") if form == "csv" else {"a": [1], "^b$": [2]}
    with pytest.raises(TableError, match=r"A column cannot be called '\^b\$'\. Rename it"):
        read_table(source)


def test_a_missing_column_is_named_with_the_closest() -> None:
    with pytest.raises(TableError, match=r"'userid', needed for the test.*Closest: user_id"):
        need_columns(FRAME, ("item_id", "userid"), "the test")


def test_a_column_that_is_no_name_is_missing() -> None:
    names: Any = (None, 0)
    for name in names:
        with pytest.raises(TableError, match=r"is missing\. Found: user_id, item_id"):
            need_columns(FRAME, (name,), "the test")

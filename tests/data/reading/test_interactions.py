"""Tables of every kind are read alike, and each row is taken, merged or refused by name."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

from teaser.data.reading.interactions import (
    Positive,
    as_ids,
    check_interactions,
    check_items,
    need_column,
    read_table,
)
from teaser.errors import DataError, ParameterError, TableError

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
    @pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
    def test_the_separator_is_seen_in_the_header(self, write: Write, mark: str) -> None:
        text = "user_id,item_id\n1,a\n2,b\n".replace(",", mark)
        assert_frame_equal(read_table(write("x.csv", text)), FRAME)

    @pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.txt", "x.CSV", "x.2024.csv"])
    def test_the_kind_is_seen_in_the_name(self, write: Write, name: str) -> None:
        assert read_table(write(name, "user_id,item_id\n1,a\n2,b")).rows() == ROWS

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("last", ["", "{end}", "{end}{end}{end}"])
    def test_lines_end_as_on_any_machine(self, write: Write, end: str, last: str) -> None:
        text = end.join(["user_id,item_id", "1,a", "2,b"]) + last.format(end=end)
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
            ["1 rows refused, u is missing: row 2 (None)"],
        )

    def test_quotes_hold_separators_line_breaks_and_quotes(self, write: Write) -> None:
        frame = read_table(write("x.csv", 'a,b\n"x,\ny",1\n"say ""hi""",2\n'))
        assert frame.rows() == [("x,\ny", 1), ('say "hi"', 2)]

    def test_zipped_text_is_read_by_its_content(self, write: Write) -> None:
        text = b"user_id;item_id\n1;a\n2;b\n"
        for name, content in [("x.csv.gz", gzip.compress(text)), ("x.csv", gzip.compress(text))]:
            assert_frame_equal(read_table(write(name, content)), FRAME)

    @pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig", "UTF8"])
    def test_other_encodings_are_read_when_said(self, write: Write, encoding: str) -> None:
        path = write("x.csv", "town,n\nLiège,1\n".encode(encoding))
        assert read_table(path, encoding=encoding).rows() == [("Liège", 1)]

    def test_a_separator_can_be_given(self, write: Write) -> None:
        assert read_table(write("x.txt", "a b\n1 2\n"), separator=" ").rows() == [(1, 2)]

    def test_short_rows_have_missing_cells(self, write: Write) -> None:
        assert read_table(write("x.csv", "a,b\n1\n2,y\n")).rows() == [(1, None), (2, "y")]


class TestCellTypes:
    """Cells become numbers only where nothing is lost."""

    @pytest.mark.parametrize(
        "cells",
        [
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
        ],
    )
    def test_cells_stay_text_where_numbers_would_lose_something(
        self, write: Write, cells: list[str]
    ) -> None:
        assert read_table(write("x.csv", "\n".join(["a", *cells])))["a"].to_list() == cells

    @pytest.mark.parametrize(
        ("cells", "numbers"),
        [
            (["1", "-2"], [1, -2]),
            (["9007199254740993", "2"], [9007199254740993, 2]),
            (["4.5", "3"], [4.5, 3.0]),
            (["1.0", "2.0"], [1.0, 2.0]),
            (["1e3", "2"], [1000.0, 2.0]),
            (["inf", "2"], [float("inf"), 2.0]),
        ],
    )
    def test_cells_that_are_all_numbers_become_numbers(
        self, write: Write, cells: list[str], numbers: list[float]
    ) -> None:
        found = read_table(write("x.csv", "\n".join(["a", *cells])))["a"]
        assert found.dtype.is_numeric()
        assert found.to_list() == numbers

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
    @pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.csv.gz"])
    @pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
    def test_an_empty_file(self, write: Write, name: str, content: bytes) -> None:
        with pytest.raises(TableError, match=r"x\.\S+ is empty"):
            read_table(write(name, content))

    def test_a_header_without_rows(self, write: Write) -> None:
        with pytest.raises(TableError, match=r"no rows of items in .*x\.csv\. Found columns: a, b"):
            read_table(write("x.csv", "a,b\n"), what="items")

    @pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
    @pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le"])
    def test_another_encoding(self, write: Write, name: str, encoding: str) -> None:
        text = '{"a": "é"}\n' if name == "x.jsonl" else "a,b\né,1\n"
        with pytest.raises(TableError, match=r"is not written in utf-8.*encoding='latin-1'"):
            read_table(write(name, text.encode(encoding)))

    def test_an_encoding_that_does_not_exist(self, write: Write) -> None:
        with pytest.raises(TableError, match="unknown encoding: klingon"):
            read_table(write("x.csv", "a\n1\n"), encoding="klingon")

    def test_two_columns_of_one_name(self, write: Write) -> None:
        with pytest.raises(TableError, match="more than one column 'a'"):
            read_table(write("x.csv", 'a,b,"a"\n1,2,3\n'))

    def test_rows_with_too_many_fields_are_named(self, write: Write) -> None:
        with pytest.raises(TableError, match=r"2 rows .*has 2: row 1 has 3, row 3 has 4\. Quote"):
            read_table(write("x.csv", "a,b\n1,2,3\n1,2\n1,2,3,4\n"))

    def test_a_quote_that_is_not_closed(self, write: Write) -> None:
        with pytest.raises(TableError, match=r"quoted field .* is not closed") as caught:
            read_table(write("x.csv", 'a,b\n"1,2\n3,4\n'))
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("separator", ["::", "\n", '"', "é"])
    def test_a_separator_that_cannot_be_one(self, write: Write, separator: str) -> None:
        with pytest.raises(ParameterError, match="one ASCII character"):
            read_table(write("x.csv", "a,b\n1,2\n"), separator=separator)

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

    @pytest.mark.parametrize("bad", ["not json", '{"a":', "[1]", "3", "null", '{"a": NaN}'])
    def test_a_line_that_is_no_object_is_named(self, write: Write, bad: str) -> None:
        path = write("x.jsonl", f'{{"a": 1}}\n{bad}\n{{"a": 3}}\n')
        with pytest.raises(TableError, match=r"Line 2 of .*x\.jsonl is not a JSON object"):
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

    @pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PAR1" + b"x" * 30 + b"PAR1"])
    def test_what_is_no_parquet_is_refused(self, write: Write, content: bytes) -> None:
        with pytest.raises(TableError, match=r"x\.parquet could not be read"):
            read_table(write("x.parquet", content))


class TestPaths:
    def test_a_path_may_be_text(self, write: Write) -> None:
        assert read_table(str(write("x.csv", "user_id,item_id\n1,a\n2,b"))).rows() == ROWS

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(TableError, match=r"There is no file .*x\.csv to read the items from"):
            read_table(tmp_path / "x.csv", what="items")

    @pytest.mark.parametrize("name", ["folder", "folder.csv", "folder.parquet"])
    def test_a_folder(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).mkdir()
        with pytest.raises(TableError, match="is a folder; name the file"):
            read_table(tmp_path / name)

    @pytest.mark.parametrize("name", ["x.xlsx", "x", "x.gz", "x.csv.bak"])
    def test_a_kind_that_is_not_known(self, write: Write, name: str) -> None:
        with pytest.raises(TableError, match=r"of no known kind. Known: \.csv"):
            read_table(write(name, "a\n1\n"))

    def test_a_name_that_no_file_can_have(self) -> None:
        with pytest.raises(TableError, match="could not be read"):
            read_table("x" * 5000 + ".csv")


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

    @pytest.mark.parametrize("source", [3, object(), {"a": [1, 2], "b": [1, 2, 3]}])
    def test_what_is_no_frame_is_refused(self, source: Any) -> None:
        with pytest.raises(TableError, match=f"A {type(source).__name__} cannot be read as data"):
            read_table(source)

    def test_columns_of_python_objects_are_refused(self) -> None:
        frame = pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)})
        with pytest.raises(TableError, match="Column 'a' of the data holds Python objects"):
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
            "from teaser.data.tables import read_table\n"
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


class TestIds:
    @pytest.mark.parametrize(
        ("column", "wanted"),
        [
            (pl.Series([1, None, 3]), [1, None, 3]),
            (pl.Series([1, 2], dtype=pl.UInt8), [1, 2]),
            (pl.Series([1, 2**64 - 1], dtype=pl.UInt64), ["1", "18446744073709551615"]),
            (pl.Series([1.0, None, float("nan"), 3.0]), [1, None, None, 3]),
            (pl.Series([float("inf"), 2.0]), [None, 2]),
            (pl.Series([1.5, 2.0]), ["1.5", "2.0"]),
            (pl.Series([Decimal("17.00"), Decimal("18.00")]), [17, 18]),
            (pl.Series(["007", "7", " 7 ", "", "  ", None]), ["007", "7", "7", None, None, None]),
            (pl.Series(["b", None], dtype=pl.Categorical), ["b", None]),
            (pl.Series(["b", None], dtype=pl.Enum(["a", "b"])), ["b", None]),
            (pl.Series([b"abc", None]), ["abc", None]),
            (pl.Series([True, False]), ["true", "false"]),
            (pl.Series([date(2024, 2, 29)]), ["2024-02-29"]),
            (pl.Series([None, None]), [None, None]),
        ],
        ids=str,
    )
    def test_ids_are_whole_numbers_or_texts(self, column: pl.Series, wanted: list[object]) -> None:
        found = as_ids(column)
        assert found.dtype in (pl.Int64, pl.String)
        assert found.to_list() == wanted

    @pytest.mark.parametrize(
        "cells",
        [[[1], [2]], [{"a": 1}], [b"\xff"], [UUID(int=2**127).bytes], [timedelta(1)]],
        ids=str,
    )
    def test_what_cannot_be_an_id_is_refused(self, cells: list[object]) -> None:
        with pytest.raises(TableError, match=r"Column 'item' holds .* are no ids"):
            as_ids(pl.Series("item", cells))

    @pytest.mark.parametrize("number", [2.0**53, -(2.0**60), 1e300])
    def test_decimals_too_large_to_be_told_apart_are_refused(self, number: float) -> None:
        with pytest.raises(TableError, match="Column 'item' keeps ids as decimals, too large"):
            as_ids(pl.Series("item", [1.0, number, None]))

    @given(st.lists(st.integers(-(2**63), 2**64 - 1), unique=True))
    def test_whole_numbers_of_any_size_stay_different(self, ids: list[int]) -> None:
        found = as_ids(pl.Series(ids, dtype=pl.Int128))
        assert [int(name) for name in found] == ids


class TestPositiveRule:
    FRAME = pl.DataFrame(
        {
            "rating": [1.0, 4.0, 5.0],
            "stars": ["1", " 4", "5"],
            "action": ["like", "rock and roll", "like "],
            "seen": [True, False, True],
            "day": [date(2024, 1, 1), date(2024, 6, 1), date(2024, 12, 31)],
            "at": [datetime(2024, 1, 1, 8), datetime(2024, 6, 1), datetime(2024, 12, 31)],
            "my rating": [1, 2, 3],
            "a>b": [1, 2, 3],
            "colour": pl.Series(["red", "blue", "red"], dtype=pl.Categorical),
        }
    )

    def rows(self, rule: str) -> list[int]:
        positive, unclear = Positive.parse(rule).split(self.FRAME)
        assert not any(mask.any() for _, mask, _ in unclear)
        return [row for row, taken in enumerate(positive, 1) if taken]

    @pytest.mark.parametrize(
        ("rule", "rows"),
        [
            ("rating >= 4", [2, 3]),
            ("rating>=4", [2, 3]),
            ("  rating\n>= 4e0  ", [2, 3]),
            ("rating > 4", [3]),
            ("rating < 4", [1]),
            ("rating <= 4", [1, 2]),
            ("rating = 4", [2]),
            ("rating == 4", [2]),
            ("rating != 4", [1, 3]),
            ("rating >= '4'", [2, 3]),
            ("rating > -1", [1, 2, 3]),
            ("stars >= 4", [2, 3]),
            ("action = like", [1, 3]),
            ("action = 'like'", [1, 3]),
            ('action != "like"', [2]),
            ("action = 'rock and roll'", [2]),
            ("seen = true", [1, 3]),
            ("seen = False", [2]),
            ("seen = 1", [1, 3]),
            ("day >= 2024-06-01", [2, 3]),
            ("at < '2024-01-01 09:00'", [1]),
            ("my rating >= 2", [2, 3]),
            ("`my rating` >= 2", [2, 3]),
            ("'a>b' >= 2", [2, 3]),
            ("colour = red", [1, 3]),
            ("rating >= 4 and action = like", [3]),
            ("rating >= 4 AND rating < 5", [2]),
            ("action = 'rock and roll' and rating >= 4", [2]),
            ("rating > 1 and my rating < 3 and seen = false", [2]),
        ],
    )
    def test_rules_take_the_rows_they_say(self, rule: str, rows: list[int]) -> None:
        assert self.rows(rule) == rows

    @pytest.mark.parametrize(
        "rule",
        [
            "",
            " ",
            "rating",
            "rating >=",
            ">= 4",
            "rating => 4",
            "rating >< 4",
            "rating >= 4 and",
            "and rating >=",
            "rating >= 4 or seen = true",
            "rating >= 4 rating < 5",
            "rating >= 4, seen = true",
            "action = rock and roll",
            "action = 'like",
            "1 < rating < 5",
        ],
    )
    def test_a_rule_that_cannot_be_read_is_refused(self, rule: str) -> None:
        with pytest.raises(ParameterError, match=r"Cannot read .* in the rule"):
            Positive.parse(rule)

    @pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
    def test_numbers_that_nothing_compares_with_are_refused(self, value: str) -> None:
        with pytest.raises(ParameterError, match="cannot be compared with"):
            Positive.parse(f"rating >= {value}")

    def test_an_unknown_sign_is_refused(self) -> None:
        with pytest.raises(ParameterError, match=r"compared by '~'\. Known: >="):
            Positive((("rating", "~", 4.0),))

    @pytest.mark.parametrize(
        "rule",
        [
            "rating >= four",
            "rating >= 4,5",
            "colour >= four",
            "seen = maybe",
            "day >= 2024",
            "day <= yesterday",
        ],
    )
    def test_values_of_another_kind_are_refused(self, rule: str) -> None:
        with pytest.raises(ParameterError, match="cannot be compared with"):
            self.rows(rule)

    @pytest.mark.parametrize("cells", [[[1]], [{"a": 1}], [b"\xff"], [timedelta(1)]], ids=str)
    def test_cells_that_cannot_be_compared_are_refused(self, cells: list[object]) -> None:
        with pytest.raises(ParameterError, match="Column 'x' holds"):
            Positive.parse("x = y").split(pl.DataFrame({"x": cells}))

    def test_a_missing_column_is_named_with_the_closest(self) -> None:
        with pytest.raises(TableError, match=r"'ratng', needed for the rule .* Closest: rating"):
            self.rows("ratng >= 4")

    def test_a_rule_reads_as_it_was_written(self) -> None:
        rule = "rating >= 4.5 and action = 'like'"
        assert str(Positive.parse(rule)) == rule

    @given(
        st.lists(
            st.tuples(
                st.text("abc _", min_size=1).map(str.strip).filter(bool),
                st.sampled_from([">=", "<=", "!=", "==", "=", ">", "<"]),
                st.floats(-1e6, 1e6).map(lambda number: float(f"{number:g}"))
                | st.text("abc <=", max_size=5),
            ),
            min_size=1,
            max_size=3,
        ).map(tuple)
    )
    def test_a_written_rule_reads_back(
        self, terms: tuple[tuple[str, str, float | str], ...]
    ) -> None:
        assert Positive.parse(str(Positive(terms))) == Positive(terms)


class TestInteractions:
    def test_pairs_come_in_order_of_appearance(self) -> None:
        frame = pl.DataFrame({"u": ["b", "a", "b", "b"], "i": [2, 1, 1, 2]})
        pairs, report = check_interactions(frame, user="u", item="i")
        assert pairs.rows() == [("b", 2), ("a", 1), ("b", 1)]
        assert (report.users, report.items, report.duplicates) == (2, 2, 1)

    def test_a_pair_counts_when_any_of_its_rows_is_positive(self) -> None:
        frame = pl.DataFrame({"u": [1, 1], "i": [1, 1], "rating": [1, 5]})
        pairs, report = check_interactions(frame, user="u", item="i", positive="rating >= 4")
        assert pairs.rows() == [(1, 1)]
        assert (report.not_positive, report.duplicates) == (1, 0)

    def test_refused_rows_are_counted_and_the_first_named(self) -> None:
        frame = pl.DataFrame(
            {
                "u": ["a", None, "", "b", "c", "d", "e"],
                "i": [1, 1, 1, None, 1, 1, 1],
                "rating": [5.0, 5.0, 5.0, 5.0, None, float("nan"), float("inf")],
            }
        )
        _, report = check_interactions(frame, user="u", item="i", positive="rating >= 4")
        assert [str(refusal) for refusal in report.refused] == [
            "2 rows refused, u is missing: row 2 (None), row 3 ('')",
            "1 rows refused, i is missing: row 4 (None)",
            "3 rows refused, rating is not a number: row 5 (None), row 6 (nan), row 7 (inf)",
        ]

    def test_long_cells_are_named_in_short(self) -> None:
        frame = pl.DataFrame({"u": [1, 1], "i": [1, 2], "rating": ["5", "x" * 10_000]})
        _, report = check_interactions(frame, user="u", item="i", positive="rating >= 4")
        assert len(str(report.refused[0])) < 200

    def test_the_report_reads_as_sentences(self) -> None:
        frame = pl.DataFrame({"u": [1, 1, 1, None], "i": [1, 1, 2, 2], "rating": [5, 5, 1, 5]})
        _, report = check_interactions(frame, user="u", item="i", positive="rating >= 4")
        assert report.lines() == [
            "4 rows read: 1 interactions of 1 users with 1 items",
            "1 rows not positive, 1 duplicates merged",
            "1 rows refused, u is missing: row 4 (None)",
        ]

    @given(
        rows=st.lists(
            st.tuples(
                st.none() | st.integers(0, 3) | st.just(float("nan")),
                st.none() | st.sampled_from(["a", "b", " a", "", "c"]),
                st.none() | st.integers(1, 5) | st.sampled_from([float("nan"), float("inf")]),
            ),
            min_size=1,
        ),
        positive=st.none() | st.sampled_from(["rating >= 4", "rating >= 3 and i = 'a'"]),
    )
    def test_every_row_is_accounted_for(
        self, rows: list[tuple[Any, Any, Any]], positive: str | None
    ) -> None:
        schema = {"u": pl.Float64, "i": pl.String, "rating": pl.Float64}
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        good = {
            (user, item.strip())
            for user, item, rating in rows
            if user is not None and user == user and item is not None and item.strip()
            if positive is None or (rating is not None and 3 <= rating <= 5)
            if positive != "rating >= 4" or rating >= 4
            if positive != "rating >= 3 and i = 'a'" or item.strip() == "a"
        }
        if not good:
            with pytest.raises(DataError, match="No positive interaction is left"):
                check_interactions(frame, user="u", item="i", positive=positive)
            return
        pairs, report = check_interactions(frame, user="u", item="i", positive=positive)
        assert set(pairs.rows()) == good
        assert report.interactions == len(good) == pairs.height
        refused = sum(refusal.count for refusal in report.refused)
        assert report.rows == len(rows)
        assert report.rows == (
            report.interactions + report.duplicates + report.not_positive + refused
        )

    @pytest.mark.parametrize("rule", ["rating > 100", "rating > 3 and rating < 2"])
    def test_no_positive_row_is_an_error_that_says_what_was_read(self, rule: str) -> None:
        frame = pl.DataFrame({"u": [1, 2], "i": [1, 2], "rating": [5, 4]})
        with pytest.raises(
            DataError, match=f"by the rule {rule}. 2 rows read.*2 rows not positive"
        ):
            check_interactions(frame, user="u", item="i", positive=rule)

    def test_only_missing_ids_is_an_error_that_says_so(self) -> None:
        with pytest.raises(DataError, match=r"left\. .*2 rows refused, u is missing: row 1"):
            check_interactions(pl.DataFrame({"u": [None, None], "i": [1, 2]}), user="u", item="i")

    @pytest.mark.parametrize("positive", [4, ["rating >= 4"], True])
    def test_a_rule_of_another_type_is_refused(self, positive: Any) -> None:
        with pytest.raises(ParameterError, match="positive must be a rule such as"):
            check_interactions(FRAME, user="user_id", item="item_id", positive=positive)

    def test_users_and_items_are_two_columns(self) -> None:
        with pytest.raises(ParameterError, match="cannot both be column 'user_id'"):
            check_interactions(FRAME, user="user_id", item="user_id")

    def test_a_missing_column_is_named_with_the_closest(self) -> None:
        with pytest.raises(
            TableError, match=r"'userid', needed for the interactions.*Closest: user_id"
        ):
            check_interactions(FRAME, user="userid", item="item_id")

    @pytest.mark.parametrize("column", [None, 0])
    def test_a_column_that_is_no_name_is_missing(self, column: Any) -> None:
        with pytest.raises(TableError, match=r"is missing\. Found: user_id, item_id"):
            need_column(FRAME, column, "the test")


class TestItems:
    def test_the_first_description_stands_and_the_rest_is_refused_by_row(self) -> None:
        frame = pl.DataFrame(
            {"i": [None, "a", "b", " a", "", "b"], "title": ["x", "A", "B", "C", "y", "D"]}
        )
        items, refused = check_items(frame, item="i")
        assert items.rows() == [("a", "A"), ("b", "B")]
        assert [str(refusal) for refusal in refused] == [
            "2 rows refused, i is missing: row 1 (None), row 5 ('')",
            "2 rows refused, the item is described twice, the first row stands: "
            "row 4 (' a'), row 6 ('b')",
        ]

    def test_nothing_is_refused_of_clean_items(self) -> None:
        frame = pl.DataFrame({"i": [2, 1], "title": ["x", None]})
        items, refused = check_items(frame, item="i")
        assert_frame_equal(items, frame)
        assert refused == ()

    def test_no_item_left_is_an_error(self) -> None:
        with pytest.raises(DataError, match="No item is left: 2 rows refused, i is missing"):
            check_items(pl.DataFrame({"i": ["", None]}), item="i")

    def test_the_given_frame_is_not_changed(self) -> None:
        frame = pl.DataFrame({"i": [" a", "b"]})
        check_items(frame, item="i")
        assert_series_equal(frame["i"], pl.Series("i", [" a", "b"]))

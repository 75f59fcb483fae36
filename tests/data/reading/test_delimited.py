"""Delimited text of any kind reads alike, with the header told from the rows."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser.data.reading import (
    Table,
    as_delimiter,
    guess_delimiter,
    read_delimited,
    sample_lines,
)
from teaser.errors import ParameterError, TableError

PATH = Path("x.dat")


def read(text: str, **options: Any) -> Table:
    return read_delimited(text.rstrip("\n").encode(), PATH, **options)


class TestDelimiter:
    @pytest.mark.parametrize("mark", [",", ";", "\t", "|", "::"])
    def test_it_is_found(self, mark: str) -> None:
        text = "user_id,item_id,rating\n1,a,3\n2,b,4\n".replace(",", mark)
        assert read(text).frame.rows() == [(1, "a", 3), (2, "b", 4)]

    @pytest.mark.parametrize("mark", [";", "\t", "|", "::", "¤", "~~", "^"])
    def test_it_may_be_given(self, mark: str) -> None:
        text = "a,b\n1,x\n2,y\n".replace(",", mark)
        assert read(text, delimiter=mark).frame.rows() == [(1, "x"), (2, "y")]

    def test_rows_decide_where_the_first_line_does_not(self) -> None:
        movies = (
            "1::Toy Story (1995)::Animation|Children's|Comedy|Drama",
            "2::Jumanji, the (1995)::Adventure",
            "3::Heat (1995)::Action|Crime",
        )
        assert guess_delimiter(movies) == "::"
        assert guess_delimiter(["1;2;3,5", "2;4;1,5"]) == ";"
        assert guess_delimiter(["1\ta, b", "2\tc", "3\td, e, f"]) == "\t"

    def test_numbers_may_stand_apart_by_spaces(self) -> None:
        assert read("1 2 5\n3 4 1\n", columns=["u", "i", "r"]).frame.rows() == [
            (1, 2, 5),
            (3, 4, 1),
        ]
        assert guess_delimiter(["title", "Toy Story", "The Matrix"]) == ","

    def test_it_may_be_named(self) -> None:
        names = {
            "tab": "\t",
            "\\t": "\t",
            "Comma": ",",
            "semicolon": ";",
            "pipe": "|",
            "space": " ",
        }
        for name, mark in names.items():
            assert as_delimiter(name) == mark
        assert as_delimiter(None) is None

    @pytest.mark.parametrize("wrong", ["", '"', "\n", 3])
    def test_it_is_a_text(self, wrong: Any) -> None:
        with pytest.raises(ParameterError, match="delimiter must be what stands between fields"):
            as_delimiter(wrong)

    def test_a_long_one_needs_an_unused_character(self) -> None:
        text = "a::b\n" + "".join(map(chr, (1, 2, 3, 4, 28, 29, 30, 31))) + "::c"
        with pytest.raises(TableError, match="control characters"):
            read(text)

    def test_the_first_lines_of_a_file_are_enough(self, tmp_path: Path) -> None:
        path = tmp_path / "x"
        path.write_text("\n\na;b\n" + "1;2\n" * 50_000)
        lines = sample_lines(path)
        assert lines[:2] == ["a;b", "1;2"]
        assert len(lines) == 100


class TestHeader:
    def test_names_lose_the_spaces_around(self) -> None:
        assert read('a, b ,"c"\n1,2,3\n').frame.columns == ["a", "b", "c"]

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

    def test_names_are_not_taken_for_data(self) -> None:
        assert read("a,b\n1,2\n").headless == ""
        assert read("a,1995\nx,few\n").headless == ""
        assert read("a,b\n").headless == ""


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

    def test_a_delimiter_at_the_end_is_no_field(self) -> None:
        found = read("1,a,\n2,b,\n", columns=("x", "y"))
        assert found.frame.rows() == [(1, "a"), (2, "b")]

    def test_one_row_is_enough(self) -> None:
        assert read("1,a\n", columns=("x", "y")).frame.rows() == [(1, "a")]


class TestRows:
    def test_a_delimiter_may_end_every_row(self) -> None:
        for header in ("a,b", "a,b,"):
            for end in ("\n", "\r\n"):
                text = end.join([header, "1,2,", "3,4,"])
                assert read(text).frame.rows() == [(1, 2), (3, 4)]
                assert read(text).notes == ()

    def test_a_tab_separated_file_has_quotes_as_characters(self) -> None:
        found = read('a\tb\n1\t5" disk\n2\t"Weird" Al\n')
        assert found.frame["b"].to_list() == ['5" disk', '"Weird" Al']
        assert "line 2, line 3" in found.notes[0]

    def test_two_stray_quotes_merge_no_rows(self) -> None:
        found = read('a,b,c\n1,5" x,u\n2,6" y,v\n3,z,w\n')
        assert found.frame.height == 3
        found = read('a,b,c\n1,"Weird Al,3\n2,x,4\n4,Size 5",5\n5,y,6\n')
        assert found.frame["a"].to_list() == [1, 2, 4, 5]

    def test_repairs_do_not_lose_types(self) -> None:
        found = read("a\tb\n1\tx &amp\t y\n2\tz\n")
        assert found.frame.rows() == [(1, "x &amp; y"), (2, "z")]

    def test_lines_are_named_after_blank_ones_at_the_start(self) -> None:
        assert "line 5 has 1" in read("\n\na,b\n1,2\n3\n").notes[0]


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


class TestPreamble:
    """Lines above the header."""

    def test_comments_are_passed_over(self) -> None:
        found = read("# exported\n# by a shop\n\nuser::item\n1::2\n3::4\n")
        assert found.frame.rows() == [(1, 2), (3, 4)]
        assert found.notes == ("2 lines of x.dat that begin with # passed over",)
        bad = read("# exported\na,b\n" + "1,2\n" * 30 + "1,2,3,4\n")
        assert "line 33 has 4" in str(bad.refused[0])

    @pytest.mark.parametrize("text", ["#user,item\n1,2\n", "#a\n1\n", "# a,b\n# c,d\n1,2\n2,3\n"])
    def test_a_header_that_begins_so_is_a_header(self, text: str) -> None:
        assert read(text).frame.columns[0].startswith("#")

    def test_excel_names_the_delimiter(self) -> None:
        for mark in (";", "|"):
            found = read(f"sep={mark}\r\na{mark}b\r\n1,5{mark}2\r\n")
            assert (found.frame.rows(), found.notes) == ([("1,5", 2)], ())
        assert read("sep=;\na,b\n1,2\n", delimiter=",").frame.rows() == [(1, 2)]

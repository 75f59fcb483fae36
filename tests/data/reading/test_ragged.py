"""Rows that are not alike are repaired, or refused by their line."""

from pathlib import Path
from typing import Any

import pytest

from teaser.data.reading import (
    Layout,
    Table,
    quoted_field,
    read_ragged,
    split_fields,
    swallows_rows,
)
from teaser.errors import TableError

FINE = "".join(f"{i}\tx{i}\ty{i}\n" for i in range(100, 150))


def layout(separator: str = "\t", names: str = "abc", **options: Any) -> Layout:
    return Layout(Path("x.dat"), separator, separator, tuple(names), **options)


def repair(text: str, separator: str = "\t", names: str = "abc") -> Table:
    header = separator.join(names)
    return read_ragged(f"{header}\n{text}".rstrip("\n").encode(), layout(separator, names))


class TestFields:
    @pytest.mark.parametrize(
        ("line", "wanted"),
        [
            ("a,b,c", ["a", "b", "c"]),
            ('"a,b",c', ["a,b", "c"]),
            ('"a ""b"", c",d', ['a "b", c', "d"]),
            (r'"a \"b\" c",d', ['a "b" c', "d"]),
            ('"a "b" c",d', ['a "b" c', "d"]),
            ('5" disk,d', ['5" disk', "d"]),
            ('"Weird" Al,d', ['"Weird" Al', "d"]),
            ('"open,d', ['"open', "d"]),
            ('"",""', ["", ""]),
            ('a,""', ["a", ""]),
            (",,", ["", "", ""]),
            ('"a",', ["a", ""]),
            ("", [""]),
        ],
    )
    def test_a_quote_encloses_a_field_or_is_a_character(self, line: str, wanted: list[str]) -> None:
        assert split_fields(line, ",") == wanted

    def test_enclosed_fields_are_found_in_a_text(self) -> None:
        text = b'"a","b\n""c"""\r\n5" x,"y"z,"w"'
        assert quoted_field(",").findall(text) == [b'"a"', b'"b\n""c"""', b'"w"']

    def test_an_unclosed_quote_takes_no_long_search(self) -> None:
        text = b'"a,' * 20_000
        assert quoted_field(",").findall(text) == []


class TestLongRows:
    def test_empty_fields_at_the_end_are_passed_over(self) -> None:
        found = repair("1\tx\ty\t\n2\tx\ty\t\t \n")
        assert found.frame.rows() == [("1", "x", "y"), ("2", "x", "y")]
        assert (found.notes, found.refused) == ((), ())

    def test_fields_that_an_entity_cut_are_joined(self) -> None:
        found = repair(FINE + "1\tNorton &amp\t Company\ty\t\n2\tA&#39\tB &lt\tC\ty\n")
        assert found.frame.rows()[-2:] == [
            ("1", "Norton &amp; Company", "y"),
            ("2", "A&#39;B &lt;C", "y"),
        ]
        (note,) = found.notes
        assert note == (
            "2 rows of x.dat with too many fields, joined where the semicolon of an HTML entity "
            "(&amp;) had cut them: line 52, line 53"
        )

    def test_what_looks_like_an_entity_must_be_one(self) -> None:
        found = repair(FINE + "1\tR&Dxyz\tb\tc\n")
        assert found.refused[0].count == 1

    def test_a_field_that_begins_with_a_space_goes_on(self) -> None:
        found = repair(FINE + "1\tBook\t Volume I\ty\n")
        assert found.frame.rows()[-1] == ("1", "Book; Volume I", "y")
        assert "joined where a field begins with a space, as no other does" in found.notes[0]
        commas = repair("1,Hello, World,5\n2,b,3\n", ",")
        assert commas.frame.rows() == [("1", "Hello, World", "5"), ("2", "b", "3")]

    def test_not_where_spaces_are_usual(self) -> None:
        fine = "".join(f"{i}, x, y\n" for i in range(40))
        found = repair(fine + "1, a, b, c\n", ",")
        assert found.refused[0].examples == ("line 42 has 4 ('1, a, b, c')",)

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
            ("1", "x", "y"), ("2", None, None), ("3", "x", None), (None, None, None),
            ("4", "x", "y"),
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
            ("1", "two\nlines", "y"), ("2", '5" disk', "y"), ("3", "a", None),
        ]  # fmt: skip
        assert "line 4" in found.notes[0]
        assert "line 5 has 2" in found.notes[1]

    def test_two_stray_quotes_swallow_no_rows(self) -> None:
        text = 'a,b,c\n1,"Weird Al,3\n2,x,4\n4,Size 5",5'
        assert swallows_rows(text.encode(), layout(","))
        found = read_ragged(text.encode(), layout(","))
        assert found.frame["b"].to_list() == ['"Weird Al', "x", 'Size 5"']

    def test_a_text_of_two_lines_is_one_field(self) -> None:
        assert not swallows_rows(b'a,b\n"x,\ny",1\n2,3', layout(",", "ab"))
        assert not swallows_rows(b'a,b,c\n1,"no break",3', layout(","))


def test_lines_are_counted_from_the_start_of_the_file() -> None:
    found = read_ragged(b"1,2,3\n4", layout(",", has_header=False, first_line=3))
    assert "columns, which names 3; the missing cells are empty: line 4 has 1" in found.notes[0]

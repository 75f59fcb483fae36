"""Text files: unzipped, in UTF-8, or refused with the encoding that they have."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from teaser.data.reading import (
    decode_entities,
    read_json_lines,
    read_text,
    wrong_encoding,
)
from teaser.errors import TableError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.dat"


class TestReading:
    def test_text_comes_unzipped_without_marks_and_last_lines(self, path: Path) -> None:
        for raw in (b"a\nb\n\n", b"\xef\xbb\xbfa\nb", gzip.compress(b"a\r\nb\r\n"), b"a\rb\r"):
            path.write_bytes(raw)
            text, notes = read_text(path, "utf-8")
            assert text.replace(b"\r", b"") == b"a\nb"
            assert notes == ()

    def test_a_given_encoding_is_used(self, path: Path) -> None:
        path.write_bytes("Liège".encode("cp1252"))
        assert read_text(path, "cp1252") == ("Liège".encode(), ())

    def test_utf8_stays_utf8_where_bytes_prove_it(self, path: Path) -> None:
        path.write_bytes("Liège".encode())
        for encoding in ("latin-1", "shift_jis", "ascii"):
            text, (note,) = read_text(path, encoding)
            assert text.decode() == "Liège"
            assert note.endswith(f"is encoded in utf-8, and was read so, not as {encoding}")

    def test_an_encoding_of_escapes_is_never_taken_for_utf8(self, path: Path) -> None:
        path.write_bytes("日本".encode("iso2022_jp"))
        assert read_text(path, "iso2022_jp") == ("日本".encode(), ())


class TestWrongEncoding:
    def said(self, raw: bytes, encoding: str = "utf-8") -> str:
        return str(wrong_encoding(raw, Path("x.csv"), encoding))

    def test_the_line_and_its_text_are_shown(self) -> None:
        said = self.said("a,b\n1,Liège\n".encode("latin-1"))
        assert "x.csv is not encoded in utf-8: line 2 has the byte 0xe8." in said
        assert "Read as latin-1, the line has '1,Liège'" in said
        assert "give encoding='latin-1' (--encoding latin-1)" in said

    def test_typographic_quotes_tell_cp1252(self) -> None:
        assert "--encoding cp1252" in self.said("“é”".encode("cp1252"))
        assert "--encoding latin-1" in self.said(b"\x81\xe9")  # no character of cp1252

    def test_utf16_without_a_mark(self) -> None:
        for encoding in ("utf-16-le", "utf-16-be"):
            assert f"It looks like {encoding}" in self.said("user,item\n".encode(encoding))

    def test_utf8_that_was_called_otherwise(self, path: Path) -> None:
        path.write_bytes("Liège\n日本".encode())
        for encoding in ("utf-16", "utf-16-le"):
            with pytest.raises(TableError, match=f"not encoded in {encoding}. It looks like utf-8"):
                read_text(path, encoding)

    def test_what_is_no_text(self) -> None:
        assert "is not text" in self.said(b"\0" + b"abc" * 9)


class TestEntities:
    def test_names_are_decoded_and_counted(self) -> None:
        frame = pl.DataFrame(
            {
                "id": ["&amp;"],
                "a": ["W. W. Norton &amp; Company"],
                "b": ["caf&eacute; &#39;x&#x27;"],
                "c": ["AT&T; R&D"],
                "n": [1],
            }
        )
        found, notes = decode_entities(frame, name="the items", but="id")
        assert found.row(0) == ("&amp;", "W. W. Norton & Company", "café 'x'", "AT&T; R&D", 1)
        assert notes == ("2 cells of the items had HTML entities such as &amp;, now decoded: a, b",)
        again = pl.DataFrame({"id": [1], "a": ["R &amp;amp; B"]})
        assert decode_entities(again, name="the items", but="id")[0]["a"].item() == "R & B"

    def test_nothing_is_told_where_nothing_was_decoded(self) -> None:
        frame = pl.DataFrame({"id": [1, 2], "a": ["x & y", None]})
        found, notes = decode_entities(frame, name="the items", but="id")
        assert found is frame
        assert notes == ()


def test_a_list_of_objects_is_read_too(path: Path) -> None:
    assert read_json_lines(b'[{"a": 1}, {"a": 2}]', path).rows() == [(1,), (2,)]


def test_a_line_that_is_no_object_is_named(path: Path) -> None:
    with pytest.raises(TableError, match="Line 2 of"):
        read_json_lines(b'{"a": 1}\nno\n', path)

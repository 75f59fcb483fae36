"""Parquet files that would not fit into memory are told by their footers."""

import io
import os
from contextlib import suppress
from datetime import UTC, date, datetime, time
from pathlib import Path

import polars as pl
import pytest
from forgery import ROWS, claim_rows, footer_number, parquet_bytes

from teaser.artifact import _read_footer, _sizes, _text_bytes, check_parquet, read_parquet
from teaser.files import FileRefusedError, available_memory


def sizes(content: bytes) -> tuple[int, int]:
    file = io.BytesIO(content)
    footer = _read_footer(file)
    assert footer is not None
    return _sizes(footer, file)


@pytest.fixture(scope="module")
def small() -> bytes:
    rows = pl.int_range(ROWS, eager=True)
    return parquet_bytes(pl.DataFrame({"a": rows, "b": (rows % 3).cast(pl.String), "c": rows > 9}))


def test_the_size_of_a_table_is_about_what_it_takes(small: bytes) -> None:
    rows, size = sizes(small)
    assert rows == ROWS
    assert (8 + 16 + 1) * ROWS <= size < 2 * (8 + 16 + 1) * ROWS


def test_lists_count_with_all_their_values() -> None:
    long = parquet_bytes(pl.DataFrame({"a": [[1] * 50_000, [2] * 50_000]}))
    assert sizes(long)[1] >= 8 * 100_000


def test_a_footer_that_hides_how_far_texts_unpack_is_not_believed() -> None:
    texts = parquet_bytes(pl.DataFrame({"a": ["x" * 10_000_019]}))
    footer = _read_footer(io.BytesIO(texts)) or b""
    true = next(n for n in range(10_000_019, 10_000_400) if footer_number(n) in footer)
    hidden = claim_rows(texts, 3, true)
    assert hidden != texts
    assert len(hidden) < 10_000
    assert sizes(hidden)[1] > 10_000_000


def test_a_footer_that_hides_the_length_of_lists_is_not_believed() -> None:
    long = parquet_bytes(pl.DataFrame({"a": [[1] * ROWS]}))
    hidden = claim_rows(long, 3)
    assert hidden != long
    assert sizes(hidden)[1] >= 8 * ROWS


def test_a_small_file_that_claims_billions_of_rows_is_refused(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    path.write_bytes(small)
    check_parquet(path)
    for rows in (available_memory() // 20, 10**13, 2**61):
        path.write_bytes(claim_rows(small, rows))
        with pytest.raises(FileRefusedError, match=f"{rows:,} rows"):
            check_parquet(path)


def test_one_long_text_that_many_rows_share_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    pl.DataFrame({"a": ["x" * 20_000_000] * 9}).write_parquet(path)
    assert path.stat().st_size < 100_000
    with pytest.raises(FileRefusedError, match=r"dictionary .* 20 MB"):
        read_parquet(path)


def test_texts_that_rows_share_count_once_for_each() -> None:
    texts = pl.Series(["ab"] * 1_000)
    for column in (texts, texts.cast(pl.Categorical), pl.Series([["a", "b"], None] * 1_000)):
        assert _text_bytes(pl.DataFrame({"a": column, "n": range(len(column))})) == 2_000


def test_an_open_file_is_checked_and_stands_at_its_beginning(small: bytes) -> None:
    file = io.BytesIO(small)
    check_parquet(file)
    assert file.tell() == 0
    with pytest.raises(FileRefusedError, match="rows"):
        check_parquet(io.BytesIO(claim_rows(small, 10**12)))


def test_what_is_no_parquet_is_left_to_its_reader(small: bytes) -> None:
    length = int.from_bytes(small[-8:-4], "little")
    for content in (b"", b"PAR1", b"a,b\n1,2\n" * 9, b"PAR1" + b"x" * 40 + b"PAR1"):
        check_parquet(io.BytesIO(content))
    for place in range(len(small) - 8 - length, len(small) - 8, 11):
        for byte in (0x00, 0x19, 0xFF, 0x7C):
            damaged = small[:place] + bytes([byte]) + small[place + 1 :]
            with suppress(FileRefusedError):
                check_parquet(io.BytesIO(damaged))


def with_footer(content: bytes, footer: bytes) -> bytes:
    """Return a parquet file with another footer."""
    length = int.from_bytes(content[-8:-4], "little")
    return content[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(b"\xfc" + b"\x1c" * 25 + b"\0" * 26, id="structs"),
        pytest.param(b"\xf9" + b"\x19" * 3000 + b"\x03", id="lists"),
        pytest.param(b"\xfb\0", id="a type that parquet does not use"),
        # As 16 bits the number is 4, the groups of rows; here none, in front of the true ones.
        pytest.param(b"\x09\x88\x80\x08\x0c", id="a number of a field that is too large"),
    ],
)
def test_a_footer_that_is_not_understood_is_refused(small: bytes, extra: bytes) -> None:
    footer = _read_footer(io.BytesIO(small)) or b""
    forged = with_footer(small, footer[:-1] + extra + b"\0")
    with pytest.raises(FileRefusedError, match=r"make no sense.*Write it anew"):
        check_parquet(io.BytesIO(forged))


def test_a_field_of_another_type_than_polars_takes_it_for_is_refused(small: bytes) -> None:
    footer = _read_footer(io.BytesIO(small)) or b""
    place = footer.index(b"\x16" + footer_number(ROWS))
    # Said to be a text: all the rest of the footer would be hidden in it.
    forged = with_footer(small, footer[:place] + b"\x18" + footer[place + 1 :] + b"\0" * 3 * ROWS)
    assert pl.read_parquet(io.BytesIO(forged)).height == ROWS
    with pytest.raises(FileRefusedError, match="make no sense"):
        check_parquet(io.BytesIO(forged))


def test_a_number_with_more_bits_than_polars_keeps_is_refused(small: bytes) -> None:
    footer = _read_footer(io.BytesIO(small)) or b""
    rows = b"\x16" + footer_number(ROWS)
    forged = with_footer(small, footer.replace(rows, b"\x16" + footer_number(ROWS + 2**64)))
    assert pl.read_parquet(io.BytesIO(forged)).height == ROWS
    with pytest.raises(FileRefusedError, match="make no sense"):
        check_parquet(io.BytesIO(forged))


def test_tables_of_all_types_are_understood() -> None:
    row = {"a": 1, "b": 1.5, "c": "x", "d": b"x", "e": True, "f": [["x"]], "g": {"h": [None, 2]}}
    times = {"i": date(2020, 1, 1), "j": datetime(2020, 1, 1, tzinfo=UTC), "k": time(1), "l": None}
    table = pl.DataFrame([row | times]).with_columns(
        m=pl.lit("1.50").cast(pl.Decimal(9, 2)), n=pl.lit("y").cast(pl.Categorical), o=pl.lit(7)
    )
    table = table.with_columns(pl.col("o").cast(pl.UInt8))
    for statistics in (False, "full"):
        for some in (table, table.clear(), pl.DataFrame()):
            check_parquet(io.BytesIO(parquet_bytes(some, statistics=statistics)))


def test_a_list_that_claims_to_be_endless_ends(small: bytes) -> None:
    # A list of structs of which each is one byte: the footer ends before the list does.
    footer = b"\x49\xfc" + b"\xff" * 8 + b"\x7f" + b"\0" * 1000
    with pytest.raises(FileRefusedError, match="make no sense"):
        check_parquet(io.BytesIO(with_footer(small, footer)))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.parquet")
    with pytest.raises(FileRefusedError, match="a pipe"):
        check_parquet(tmp_path / "p.parquet")

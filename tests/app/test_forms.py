"""Texts of forms and addresses: no lone surrogates, presses as a JSON object and nothing else."""

import pytest

from teaser.app.http import read_json, read_object, valid_text
from teaser.errors import ParameterError


def test_a_text_stays_as_it_is() -> None:
    for text in ("", "Agnès", "\x00", "\U0001f600", "\ufffe"):
        assert valid_text(text) == text


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udc00\ud800"])
def test_lone_surrogates_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="surrogates"):
        valid_text(text)


def test_presses_are_an_object() -> None:
    assert read_object('{"a=b": -2, "c=d": "x"}', "presses") == {"a=b": -2, "c=d": "x"}
    for text in ("", "[[1,1]]", '[["a=b", 1]]', "null", "1", '"a=b"', "{", "[" * 20_000):
        with pytest.raises(ParameterError, match="object"):
            read_object(text, "presses")
    with pytest.raises(ParameterError, match="surrogates"):
        read_object('{"a=\\ud800": 1}', "presses")


def test_an_object_names_its_field() -> None:
    assert read_object('{"only": ["a=b"]}', "filter") == {"only": ["a=b"]}
    with pytest.raises(ParameterError, match="filter must be"):
        read_object("[]", "filter")
    with pytest.raises(ParameterError, match="surrogates"):
        read_object('{"only": ["\\udc00"]}', "filter")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("9" * 5_000, "5,000 digits"),
        ('{"a": [-%s]}' % ("9" * 41), "42 digits"),
        ("NaN", "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ("1e999", "1e999"),
        ("[" * 100_000, "not JSON"),
        (b"\xff", "not JSON"),
    ],
)
def test_only_json_with_finite_numbers_is_read(text: str | bytes, found: str) -> None:
    with pytest.raises(ParameterError, match=found):
        read_json(text)
    assert read_json(b'[12, -0.5, 1e3, "x"]') == [12, -0.5, 1000.0, "x"]

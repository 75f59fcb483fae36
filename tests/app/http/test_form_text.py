"""Texts of forms and addresses: no lone surrogates, presses as a JSON object and nothing else."""

import pytest

from teaser.app.http.form_text import read_presses, valid_text
from teaser.errors import ParameterError


def test_a_text_stays_as_it_is() -> None:
    for text in ("", "Agnès", "\x00", "\U0001f600", "\ufffe"):
        assert valid_text(text) == text


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udc00\ud800"])
def test_lone_surrogates_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="surrogates"):
        valid_text(text)


def test_presses_are_an_object() -> None:
    assert read_presses('{"a=b": -2, "c=d": "x"}') == {"a=b": -2, "c=d": "x"}
    for text in ("", "[[1,1]]", '[["a=b", 1]]', "null", "1", '"a=b"', "{", "[" * 20_000):
        with pytest.raises(ParameterError, match="object"):
            read_presses(text)
    with pytest.raises(ParameterError, match="surrogates"):
        read_presses('{"a=\\ud800": 1}')

"""The options that commands share are said to people."""

from typing import get_args

import pytest
import typer.models

from teaser import LearnedDecoder
from teaser.cli import options
from teaser.errors import ParameterError


def test_every_option_says_what_it_is() -> None:
    shared = [
        name for name in vars(options) if name[0].isupper() and get_args(getattr(options, name))
    ]
    assert len(shared) > 10
    for name in shared:
        (*_, info) = get_args(getattr(options, name))
        assert isinstance(info, typer.models.ParameterInfo)
        assert info.help


def test_ids_are_repeated_or_separated_by_commas() -> None:
    items = ["a", "b,c", "d"]
    assert options.read_history(items, None) == []
    assert options.read_history(items, ["a", "d, a", "b,c", "e,,d"]) == [
        "a", "d", "a", "b,c", "e", "d",
    ]  # fmt: skip


def test_presses_are_counted_by_tag() -> None:
    assert options.read_presses(None) == {}
    given = ["a=b", "a=b:+2", "c=d:-3", "e=f:g", "h=i:+j"]
    assert options.read_presses(given) == {"a=b": 3, "c=d": -3, "e=f:g": 1, "h=i:+j": 1}


def test_settings_of_weights_need_weights() -> None:
    assert options.read_decoder("tags", None, None) == {}
    assert options.read_decoder("learned", None, None) == {"decoder": LearnedDecoder()}
    assert options.read_decoder("learned", 5.0, 2) == {"decoder": LearnedDecoder(l2=5.0, rounds=2)}
    with pytest.raises(ParameterError, match=r"--l2-decoder.*--decoder learned"):
        options.read_decoder("tags", 5.0, None)
    with pytest.raises(ParameterError, match="--rounds"):
        options.read_decoder("tags", None, 3)

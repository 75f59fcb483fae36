"""The options that commands share are said to people."""

from typing import get_args

import typer.models

from teaser import options


def test_every_option_says_what_it_is() -> None:
    shared = [
        name for name in vars(options) if name[0].isupper() and name not in ("Path", "Annotated")
    ]
    assert len(shared) > 10
    for name in shared:
        (*_, info) = get_args(getattr(options, name))
        assert isinstance(info, typer.models.ParameterInfo)
        assert info.help

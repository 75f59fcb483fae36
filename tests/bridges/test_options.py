"""The options of a bridge: rules and bad values."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError, create_model

import teaser
from teaser import Rules
from teaser.bridges._options import GivenOptions, option_fields

Options: Any = create_model("Options", __base__=GivenOptions, **option_fields(strength="weight"))


def test_rules_are_read_from_a_file_a_table_or_objects(tmp_path: Path) -> None:
    rules = Rules((teaser.ListOf("genres", min_items=2),))
    rules.write(tmp_path / "rules.toml")
    ways = (rules, rules.tags, tmp_path / "rules.toml", str(tmp_path / "rules.toml"))
    for way in (*ways, rules.as_dict()):
        found = Options(rules=way)
        assert found.rules.tags == rules.tags
        assert Options(**found.model_dump(mode="json")).rules.tags == rules.tags
    assert Options(rules=None).model_dump() == {"rules": None}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"l2": 1}, "Extra inputs"),
        ({"remainder": {"l3": 1}}, "no option 'l3'"),
        ({"remainder": 5}, "remainder"),
        ({"l2_weights": "many"}, "number"),
        ({"rules": {"tag": []}}, r"Unknown table \[tag\]"),
    ],
)
def test_bad_options_are_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Options(**given)

"""What users had before the house was made small is still there, or has a reason to be gone."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contract import contract

HERE = Path(__file__).parent


def _leaves(value: Any, path: str = "") -> Iterator[str]:
    """Yield the path of every entry of nested tables and lists."""
    if isinstance(value, dict):
        for name, below in value.items():
            yield f"{path}{name}"
            yield from _leaves(below, f"{path}{name}/")
    elif isinstance(value, list):
        yield from (f"{path}{name}" for name in value)


def test_what_users_had_is_there_or_has_a_reason_to_be_gone() -> None:
    gone = tomllib.loads((HERE / "contract_gone.toml").read_text())
    before = set(_leaves(json.loads((HERE / "contract.json").read_text())))
    assert set(gone) <= before, "a reason for something that never was"
    missing = {
        path
        for path in before - set(_leaves(contract()))
        if not any(path == name or path.startswith(f"{name}/") for name in gone)
    }
    assert missing == set()
    assert all(gone.values()), "an entry without a reason"

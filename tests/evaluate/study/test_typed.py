"""Plain data become dataclasses, and what does not fit is named with its place."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from teaser.evaluate.study.typed import TypedError, from_plain


@dataclass(frozen=True)
class Inner:
    size: float
    count: int = 1


@dataclass(frozen=True)
class Outer:
    name: str
    parts: tuple[Inner, ...]
    by_name: Mapping[str, Inner] = field(default_factory=dict)
    share: int | float = 0
    limit: int | None = None
    on: bool = False
    free: Any = None


def outer(**changes: Any) -> Any:
    return from_plain(Outer, {"name": "a", "parts": [{"size": 1}], **changes}, "", strict=True)


def test_nested_data_become_dataclasses() -> None:
    found = outer(
        by_name={"x": {"size": 2.5, "count": 3}}, share=0.5, limit=None, on=True, free=[1]
    )
    assert found == Outer("a", (Inner(1),), {"x": Inner(2.5, 3)}, 0.5, None, True, [1])
    assert math.isnan(from_plain(Inner, {"size": None}, "").size)


def test_other_names_are_ignored_unless_strict() -> None:
    assert from_plain(Inner, {"size": 1, "other": 2}, "") == Inner(1)
    with pytest.raises(TypedError, match=r"parts\[0\] has no entry 'sise'.*size"):
        outer(parts=[{"sise": 1}])


def test_what_does_not_fit_is_named_with_its_place() -> None:
    wrong: dict[str, dict[str, Any]] = {
        r"name must be a text, found 3": {"name": 3},
        r"parts must be a list, found 1": {"parts": 1},
        r"parts\[1\] lacks size": {"parts": [{"size": 1}, {}]},
        r"parts\[0\]\.size must be a number, found 'x'": {"parts": [{"size": "x"}]},
        r"by_name\.x\.count must be a whole number, found 1\.5": {
            "by_name": {"x": {"size": 1, "count": 1.5}}
        },
        r"by_name must be a table, found \[\]": {"by_name": []},
        r"share must be a number, found True": {"share": True},
        r"limit must be a whole number, found '3'": {"limit": "3"},
        r"on must be true or false, found 1": {"on": 1},
    }
    for said, changes in wrong.items():
        with pytest.raises(TypedError, match=said):
            outer(**changes)
    with pytest.raises(TypedError, match="It must be a table"):
        from_plain(Outer, [], "")

"""JSON files of results: short, whole, and without what JSON does not have."""

import json
import math
from pathlib import Path

import numpy as np

from teaser.evaluate.study.json_file import to_json, write_whole


def test_numbers_are_plain_and_short() -> None:
    odd = {"a": np.float64(1 / 3), "b": np.int64(7), "c": math.nan, 4: (math.inf, True, None)}
    assert json.loads(to_json(odd)) == {"a": 0.333333, "b": 7, "c": None, "4": [None, True, None]}


def test_innermost_lists_and_tables_have_a_line_each() -> None:
    text = to_json({"rows": [{"a": 1, "b": 2}, {"a": 3}], "name": "x", "empty": []})
    assert text.splitlines() == [
        "{",
        ' "rows": [',
        '  {"a": 1, "b": 2},',
        '  {"a": 3}',
        " ],",
        ' "name": "x",',
        ' "empty": []',
        "}",
    ]


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for text in ("first", "second"):
        write_whole(path, text)
        assert path.read_text() == text
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]

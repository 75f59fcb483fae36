"""`make soak`: a small run of it loses nothing."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks() -> Iterator[None]:
    # At the end of the path: some benchmarks have the names of other modules.
    sys.path.append(str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def test_a_small_soak(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from soak.__main__ import main

    size = ["--items", "120", "--visitors", "3", "--programs", "1", "--workers", "1"]
    kind = ["--minutes", "0.05", "--databases", "sqlite", "--only", "the database is locked"]
    status = main([*size, *kind, "--out", str(tmp_path / "soak.json")])
    found = json.loads((tmp_path / "soak.json").read_text())
    # A server that has just started still fills its caches.
    assert all("memory" in text for text in found["wrong"]), found
    assert status == (1 if found["wrong"] else 0)
    (stage,) = found["stages"]
    assert stage["acknowledged"] > 0
    assert (stage["lost"], stage["unexplained"], stage["5xx"]) == (0, 0, 0)
    assert stage["models replaced"] >= 2
    assert {"quiet", "a model is replaced", "the database is locked"} <= {
        row["phase"] for row in stage["phases"]
    }
    assert "the database is locked" in capsys.readouterr().out

"""`make soak`: what it calls lost, and a small run of it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from soak.ledger import Action, Ledger
    from soak.stage import Outcome

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
A, B, C = ("view", "a"), ("press", "t=b"), ("undo", "")


@pytest.fixture(autouse=True)
def benchmarks() -> Iterator[None]:
    # At the end of the path: some benchmarks have the names of other modules.
    sys.path.append(str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def ledger(*sent: "tuple[Action, bool]", is_deleted: bool | None = False) -> "Ledger":
    from soak.ledger import Ledger

    return Ledger(list(sent), is_deleted)


@pytest.mark.parametrize(
    ("sent", "stored", "lost", "unexplained"),
    [
        ([(A, True), (B, True), (C, True)], [A, B, C], 0, 0),
        ([(A, True), (B, True), (C, True)], [A, C], 1, 0),
        ([(A, True), (B, True)], [B, A], 1, 1),
        ([(A, True)], [], 1, 0),
        # An answer that was lost: the action is stored or not, and was sent again.
        ([(A, False), (A, True), (B, True)], [A, B], 0, 0),
        ([(A, False), (A, True), (B, True)], [A, A, B], 0, 0),
        ([(A, False), (A, True), (B, True)], [B], 1, 0),
        ([(A, True), (B, True)], [A, A, B], 0, 1),
        ([], [A], 0, 1),
    ],
)
def test_what_was_acknowledged_must_be_stored_in_its_order(
    sent: "list[tuple[Action, bool]]", stored: "list[Action]", lost: int, unexplained: int
) -> None:
    from soak.ledger import compare

    found = compare(ledger(*sent), stored)
    assert (found.lost, found.unexplained) == (lost, unexplained)
    assert found.acknowledged == sum(is_sure for _, is_sure in sent)


def test_what_was_deleted_must_be_gone() -> None:
    from soak.ledger import compare

    assert compare(ledger((A, True), is_deleted=True), []).lost == 0
    assert compare(ledger((A, True), is_deleted=True), [A]).lost == 1
    assert compare(ledger((A, True), is_deleted=None), [A]).acknowledged == 0


def outcome() -> "Outcome":
    from soak.ledger import Comparison
    from soak.records import QUIET, Record
    from soak.stage import Outcome

    record = Record(QUIET)
    record.add("2xx/3xx", QUIET, 0.040)
    record.add("503", "the disk is full", 2.0)
    return Outcome("SQLite", record, Comparison(5), {"all processes": (100.0, 109.0)})


def test_the_verdict_names_losses_failures_and_growth() -> None:
    from soak.ledger import Comparison
    from soak.table import verdict

    assert verdict([outcome()]) == []
    assert verdict([outcome()], max_p99=50.0) == []
    assert len(verdict([outcome()], max_p99=30.0)) == 1  # what a fault takes is not judged
    bad = outcome()
    bad.compared = Comparison(5, lost=2, unexplained=1)
    bad.record.add("5xx", "quiet", said="GET /: 500")
    bad.memory["all processes"] = 100.0, 111.0
    bad.broken = "the disk is full"
    broken, lost, unexplained, failed, grew = verdict([bad])
    assert "the disk is full" in broken
    assert "2 of 5" in lost
    assert "1 action" in unexplained
    assert "GET /: 500" in failed
    assert "from 100 to 111 MB" in grew


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

"""`make soak`: what it calls lost, and a small run of it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from soak.ledger import Action, Ledger

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

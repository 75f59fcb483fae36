"""The tables of a real study: every figure is one of the json, and stands where it belongs."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from reports import Content, a_dial, reported

from teaser.errors import DataError, ParameterError
from teaser.evaluate.protocol import PAPER_METRICS
from teaser.evaluate.report.tables import (
    BETTER,
    MINUS,
    PAPER_COLUMNS,
    WORSE,
    ResultsLike,
    Table,
    accuracy_table,
    feedback_table,
    read_studies,
)


def rows_of(table: Table | None) -> dict[str, list[str]]:
    """The cells of each row by its name, headings left out."""
    assert table is not None
    return {head: cells for head, *cells in table.rows if cells}


def blocks_of(table: Table | None) -> dict[str, dict[str, list[str]]]:
    """The rows under each heading."""
    assert table is not None
    out: dict[str, dict[str, list[str]]] = {}
    for head, *cells in table.rows:
        if cells:
            out[list(out)[-1]][head] = cells
        else:
            out[head] = {}
    return out


def plain(cell: str) -> str:
    """The figure of a cell, without its error, mark and bold."""
    return cell.partition(" ")[0].strip("*")


def test_every_figure_of_the_first_table_is_of_the_json(content: Content) -> None:
    rows = rows_of(accuracy_table([reported(content)]))
    for model in content["models"]:
        for cell, metric in zip(rows[model["name"]], PAPER_METRICS, strict=True):
            found = model["metrics"][metric]
            assert plain(cell) == f"{found['mean']:.3f}"
            assert f"± {found['error']:.3f}" in cell
            best = max(m["metrics"][metric]["mean"] for m in content["models"])
            assert cell.startswith("**") == (f"{found['mean']:.3f}" == f"{best:.3f}")


def test_marks_are_where_the_interval_against_ease_leaves_out_zero(content: Content) -> None:
    rows = rows_of(accuracy_table([reported(content)]))
    checked = 0
    for found in content["comparisons"]:
        if "EASE" in (found["a"], found["b"]) and found["metric"] in PAPER_METRICS:
            turn = 1 if found["a"] == "EASE" else -1
            other = found["b"] if turn == 1 else found["a"]
            clear = found["low"] > 0 or found["high"] < 0
            sign = BETTER if turn * found["mean"] > 0 else WORSE
            cell = rows[other][PAPER_METRICS.index(found["metric"])]
            assert [m for m in (BETTER, WORSE) if m in cell] == ([sign] if clear else [])
            checked += 1
    assert checked == 4 * 3
    content["models"] = [m for m in content["models"] if m["kind"] not in ("EASE", "Product")]
    without = accuracy_table([reported(content)])
    assert not any(BETTER in cell for row in rows_of(without).values() for cell in row)
    assert not any(BETTER in note for note in without.notes)


# The headings of simulated feedback: number of tags, presses, scale.
BLOCKS = {
    f"{count} {sign}{scale}": (n, strength, name)
    for sign, strength in (("+3", 3), (f"{MINUS}3", -3))
    for scale, name in (("", "robust"), (", on the paper's scale", "paper"))
    for count, n in (("one tag", 1), ("two tags", 2))
}


def test_every_figure_of_feedback_is_of_the_json(content: Content) -> None:
    found = blocks_of(feedback_table([reported(content)]))
    assert list(found) == ["no simulation", *BLOCKS]
    models = {m["name"]: m for m in content["models"]}
    pressed = {(s["model"], s["n_tags"], s["strength"], s["scale"]): s
               for s in content["simulations"]}  # fmt: skip
    publiq = PAPER_COLUMNS["publiq"]["pressed"]
    for heading, (n, strength, scale) in BLOCKS.items():
        assert list(found[heading]) == ["TEASER", "WMF-S", "TEASER × EASE"]
        for label, cells in found[heading].items():
            one = pressed[label, n, strength, scale]
            means = [f"{one['metrics'][m]['mean']:.3f}" for m in PAPER_METRICS]
            assert list(map(plain, cells[:3])) == means
            gain, before = one["gain"]["ndcg@100"], models[label]["metrics"]["ndcg@100"]
            change = float(plain(cells[3]).replace(MINUS, "-"))
            assert change == pytest.approx(100 * gain["mean"] / before["mean"], abs=0.06)
            clear = BETTER if gain["low"] > 0 else WORSE if gain["high"] < 0 else ""
            assert cells[3].endswith(f"] {clear}".rstrip())
            assert not cells[3].startswith("**")
            in_paper = (strength, scale) == (3, "paper")
            beside = [f" *({f:.3f})*" if in_paper else "" for f in publiq[str(n)][label]]
            assert all(cell.endswith(text) for cell, text in zip(cells[:3], beside, strict=True))
            assert ("*(" in cells[0]) == in_paper
        top = max(plain(cells[2]) for cells in found[heading].values())
        for cells in found[heading].values():
            assert cells[2].startswith("**") == (plain(cells[2]) == top)


def test_dials_are_sorted_to_their_studies(results_folder: Path, tmp_path: Path) -> None:
    found = read_studies([results_folder])
    assert [each.key for each in found] == ["small-run-quick", "small-run"]
    assert [each.dial for each in found] == [None, None]
    for name in ("small_run.json", "small_run-quick.json"):
        shutil.copy(results_folder / name, tmp_path)
    (tmp_path / "small_run.new-items.json").write_text("{}")  # which has no part in a report
    dial = replace(a_dial(), study="small_run")
    dial.write(tmp_path / "small_run.dial.json")
    named = sorted(p for p in tmp_path.glob("*.json") if "new-items" not in p.name)
    for sources in ([tmp_path], named, [tmp_path / "small_run.json"]):
        dials = {study.key: study.dial for study in read_studies(sources)}
        assert dials["small-run"] == dial
        assert dials.get("small-run-quick") is None
    elsewhere: list[ResultsLike] = [results_folder / "small_run.json", dial]
    assert read_studies(elsewhere)[0].dial == dial
    with pytest.raises(ParameterError, match="not of dials alone"):
        read_studies([tmp_path / "small_run.dial.json"])


def test_bad_input_is_named(results_folder: Path, tmp_path: Path, content: Content) -> None:
    with pytest.raises(DataError, match=r"nowhere.json"):
        read_studies([tmp_path / "nowhere.json"])
    with pytest.raises(DataError, match=str(tmp_path)):
        read_studies([tmp_path])
    with pytest.raises(ParameterError, match="needs the results of studies"):
        read_studies([])
    with pytest.raises(ParameterError, match=r"'ml-20'.*ml-20m"):
        _ = reported({**content, "paper": "ml-20"}).paper

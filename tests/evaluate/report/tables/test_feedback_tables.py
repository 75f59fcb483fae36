"""The tables of simulated feedback, of a real study."""

from collections.abc import Callable

import pytest
from reports import Content, reported

from teaser.evaluate.report.tables.feedback_tables import feedback_table, steering_table
from teaser.evaluate.report.tables.number import MINUS
from teaser.evaluate.report.tables.paper import COLUMNS, METRICS
from teaser.evaluate.report.tables.table import BETTER, NONE, WORSE, Row, Table

NAMES = {"TEASER": "teaser", "WMF-S": "wmf-s", "TEASER × EASE": "product"}
BLOCKS = {
    "one tag +3": (1, 3, "robust"),
    "two tags +3": (2, 3, "robust"),
    "one tag +3, on the paper's scale": (1, 3, "paper"),
    "two tags +3, on the paper's scale": (2, 3, "paper"),
    f"one tag {MINUS}3": (1, -3, "robust"),
    f"two tags {MINUS}3": (2, -3, "robust"),
    f"one tag {MINUS}3, on the paper's scale": (1, -3, "paper"),
    f"two tags {MINUS}3, on the paper's scale": (2, -3, "paper"),
}


def blocks(table: Table | None) -> dict[str, list[Row]]:
    assert table is not None
    out: dict[str, list[Row]] = {}
    for row in table.rows:
        if row.is_group:
            out[row.head] = []
        else:
            out[list(out)[-1]].append(row)
    return out


def found_in(content: Content, label: str, way: tuple[int, int, str]) -> Content:
    return next(
        s
        for s in content["simulations"]
        if (s["n_tags"], s["strength"], s["scale"]) == way and s["model"] == NAMES[label]
    )


def test_blocks_follow_the_paper_then_its_scale_then_minus(content: Content) -> None:
    found = blocks(feedback_table([reported(content)]))
    assert list(found) == ["no simulation", *BLOCKS]
    for rows in found.values():
        assert [row.head for row in rows] == list(NAMES)


def test_every_figure_is_of_the_json(content: Content) -> None:
    found = blocks(feedback_table([reported(content)]))
    models = {m["name"]: m for m in content["models"]}
    for row in found["no simulation"]:
        metrics = models[NAMES[row.head]]["metrics"]
        assert [c.text for c in row.cells] == [f"{metrics[m]['mean']:.3f}" for m in METRICS] + [""]
    for heading, way in BLOCKS.items():
        for row in found[heading]:
            pressed = found_in(content, row.head, way)
            texts = [f"{pressed['metrics'][m]['mean']:.3f}" for m in METRICS]
            assert [c.text for c in row.cells[:3]] == texts
            before = models[NAMES[row.head]]["metrics"]["ndcg@100"]["mean"]
            gain = pressed["gain"]["ndcg@100"]
            change = 100 * gain["mean"] / before
            shown = float(row.cells[3].text.replace(MINUS, "-"))
            assert shown == pytest.approx(change, abs=0.06)
            clear = BETTER if gain["low"] > 0 else WORSE if gain["high"] < 0 else ""
            assert row.cells[3].mark == clear
            ends = row.cells[3].error.replace(MINUS, "-").strip("[]").split(", ")
            wanted = [100 * gain["low"] / before, 100 * gain["high"] / before]
            assert [float(end) for end in ends] == pytest.approx(wanted, abs=0.06)


def test_bold_is_on_the_best_of_the_block_and_never_on_changes(content: Content) -> None:
    for rows in blocks(feedback_table([reported(content)])).values():
        for place in range(3):
            top = max(row.cells[place].text for row in rows)
            assert [r.cells[place].best for r in rows] == [r.cells[place].text == top for r in rows]
        assert not any(row.cells[3].best for row in rows)


def test_the_papers_presses_stand_beside_those_on_its_scale(content: Content) -> None:
    found = blocks(feedback_table([reported(content)]))
    publiq = COLUMNS["publiq"]
    for heading, (n_tags, strength, scale) in BLOCKS.items():
        for row in found[heading]:
            figures = publiq.pressed[str(n_tags)][row.head]
            expected = (
                [f"{f:.3f}" for f in figures] if (strength, scale) == (3, "paper") else [""] * 3
            )
            assert [cell.beside for cell in row.cells[:3]] == expected


def test_users_without_a_tag_to_press_are_counted(content: Content) -> None:
    for each in content["simulations"]:
        each["without_tags"] = 7 if each["n_tags"] == 2 and each["strength"] == 3 else 0
    table = feedback_table([reported(content)])
    assert table is not None
    assert any("(two tags +3: 7 of 80)" in note for note in table.notes)


def test_a_study_without_presses_is_left_out(
    content: Content, without: Callable[..., Content]
) -> None:
    silent = {**without("simulations"), "study": "silent", "title": "Silent"}
    assert feedback_table([reported(silent)]) is None
    assert steering_table([reported(silent)]) is None
    table = feedback_table([reported(silent), reported(content)])
    assert table is not None
    assert [block.title for block in table.blocks] == [content["title"]]


def test_a_way_that_only_one_study_ran_is_a_dash_in_the_other(content: Content) -> None:
    kept = [s for s in content["simulations"] if s["strength"] > 0 and s["model"] != "wmf-s"]
    second = {**content, "study": "second", "title": "Second", "simulations": kept}
    found = blocks(feedback_table([reported(content), reported(second)]))
    assert [c.text for c in found[f"one tag {MINUS}3"][0].cells[4:]] == [NONE] * 4
    assert [c.text for c in found["one tag +3"][1].cells[4:]] == [NONE] * 4
    assert NONE not in [c.text for c in found["one tag +3"][0].cells]


def test_steps_are_compared_and_the_second_table_keeps_to_the_default(content: Content) -> None:
    small = [{**s, "step": 0.1} for s in content["simulations"]]
    for each in small:
        each["gain"] = {
            metric: {**gap, **{k: gap[k] / 2 for k in ("mean", "low", "high")}}
            for metric, gap in each["gain"].items()
        }
    # The smaller step first: the order of the json must not decide.
    study = reported({**content, "simulations": [*small, *content["simulations"]]})
    assert blocks(feedback_table([study])) == blocks(feedback_table([reported(content)]))
    table = steering_table([study])
    assert table is not None
    assert table.blocks[0].columns == ("robust, 0.1", "robust, 0.2", "paper, 0.1", "paper, 0.2")
    for rows in blocks(table).values():
        for row in rows:
            values = [float(c.text.replace(MINUS, "-")) for c in row.cells]
            assert [c.best for c in row.cells] == [v == max(values) for v in values]


def test_kinds_of_tags_have_blocks_of_their_own(content: Content) -> None:
    kept = [s for s in content["simulations"] if s["model"] == "teaser"]
    declared = [{**s, "among": "declared"} for s in kept]
    found_tags = [{**s, "among": "discovered"} for s in kept if s["scale"] == "robust"]
    study = reported({**content, "simulations": [*found_tags, *declared]})
    found = blocks(feedback_table([study]))
    assert list(found) == [
        "no simulation",
        *(name.replace("tag", "declared tag", 1) for name in BLOCKS),
        *(name.replace("tag", "discovered tag", 1) for name in BLOCKS if "scale" not in name),
    ]
    # Only models that were pressed have rows.
    assert {row.head for rows in found.values() for row in rows} == {"TEASER"}
    # The paper's figures stand beside presses on declared tags alone.
    beside = {name for name, rows in found.items() for row in rows if row.cells[0].beside}
    assert "one declared tag +3, on the paper's scale" in beside
    assert not any("discovered" in name for name in beside)
    steered = blocks(steering_table([study]))
    assert next(iter(steered)) == f"{content['title']}, one declared tag +3"
    assert not any("discovered" in head for head in steered)

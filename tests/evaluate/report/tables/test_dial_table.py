"""The table of the dial."""

from dataclasses import replace

from reports import SETTINGS, Content, a_dial, a_setting, reported

from teaser.evaluate.report.tables.dial_table import dial_table, notable
from teaser.evaluate.report.tables.table import NONE

SHARES = {"general": 0.2, "declared": 0.25, "discovered": 0.35, "popularity": 0.0, "viewed": 0.2}


def test_the_best_of_each_kind_and_the_most_tags() -> None:
    dial = a_dial()
    assert notable(dial) == {
        "EASE": SETTINGS[0],
        "tags alone, most accurate": SETTINGS[5],
        "tags, then neighbours, most accurate": SETTINGS[2],
        "most from tags within 1 % of the best": SETTINGS[2],
    }
    near = a_setting("NeighbourEASE", 0.4, 0.0)
    more = replace(dial, settings=(near, *SETTINGS), at_ease=SETTINGS[2], within=0.02)
    found = notable(more)
    assert found["EASE on neighbours"] is near
    assert list(found)[-2:] == [
        "most from tags within 2 % of the best",
        "most from tags at EASE's accuracy or better",
    ]


def test_every_figure_is_of_the_setting(content: Content) -> None:
    chosen = replace(SETTINGS[2], shares=SHARES, personal_share=0.75)
    study = reported(content)
    table = dial_table([study, replace(study, dial=replace(a_dial(), recommended=chosen))])
    assert table is not None
    assert [row.head for row in table.rows if row.is_group] == [content["title"]]
    rows = {row.head: [cell.text for cell in row.cells] for row in table.rows}
    given = "l2_weights = 5, remainder.l2 = 10000"
    assert rows["most from tags within 1 % of the best"] == [
        "0.423", "60 %", "20 %", "25 %", "35 %", "20 %", "75 %", given,
    ]  # fmt: skip
    assert rows["EASE"] == ["0.420", "0 %", *[NONE] * 5, given]
    assert {len(row.cells) for row in table.rows if not row.is_group} == {table.width}


def test_without_a_dial_there_is_no_table(content: Content) -> None:
    assert dial_table([reported(content)]) is None

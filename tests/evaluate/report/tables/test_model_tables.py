"""The tables of a real study: every figure is one of the json, and stands where it belongs."""

from collections.abc import Callable

from reports import Content, reported

from teaser.evaluate.report.tables.model_tables import (
    accuracy_table,
    advantage_table,
    beyond_table,
    comparison_tables,
    cost_table,
    parts_table,
)
from teaser.evaluate.report.tables.number import format_value
from teaser.evaluate.report.tables.paper import COLUMNS, METRICS
from teaser.evaluate.report.tables.table import BETTER, NONE, WORSE, Row, Table

LABELS = {"EASE": "ease", "TEASER": "teaser", "WMF-S": "wmf-s", "TEASER × EASE": "product"}


def model_of(content: Content, label: str) -> Content:
    name = LABELS.get(label, label)
    return next(m for m in content["models"] if m["name"] == name)


def figure_rows(table: Table) -> list[Row]:
    return [row for row in table.rows if len(row.cells) == table.width]


def test_every_figure_of_the_first_table_is_of_the_json(content: Content) -> None:
    rows = figure_rows(accuracy_table([reported(content)]))
    assert len(rows) == len(content["models"])
    for row in rows:
        metrics = model_of(content, row.head)["metrics"]
        for cell, metric in zip(row.cells, METRICS, strict=True):
            assert cell.text == f"{metrics[metric]['mean']:.3f}"
            assert cell.error == f"± {metrics[metric]['error']:.3f}"


def test_bold_is_on_the_best_model(content: Content) -> None:
    rows = figure_rows(accuracy_table([reported(content)]))
    for place, metric in enumerate(METRICS):
        top = max(f"{m['metrics'][metric]['mean']:.3f}" for m in content["models"])
        assert {r.cells[place].text for r in rows if r.cells[place].best} == {top}
        assert not any(r.cells[place].best for r in rows if r.cells[place].text != top)


def test_bold_moves_with_the_figures(content: Content) -> None:
    model_of(content, "Popularity")["metrics"]["recall@20"]["mean"] = 0.999
    rows = figure_rows(accuracy_table([reported(content)]))
    assert [row.head for row in rows if row.cells[0].best] == ["Popularity"]
    assert [row.head for row in rows if row.cells[2].best] != ["Popularity"]


def test_marks_are_where_the_interval_against_ease_leaves_out_zero(content: Content) -> None:
    rows = figure_rows(accuracy_table([reported(content)]))
    names = {"ease": "EASE", **{v: k for k, v in LABELS.items()}}
    expected = {}
    for found in content["comparisons"]:
        if "ease" not in (found["a"], found["b"]) or found["metric"] not in METRICS:
            continue
        turn = 1 if found["a"] == "ease" else -1
        other = found["b"] if turn == 1 else found["a"]
        clear = found["low"] > 0 or found["high"] < 0
        sign = BETTER if turn * found["mean"] > 0 else WORSE
        expected[names.get(other, other), found["metric"]] = sign if clear else ""
    assert len(expected) == 4 * 3
    for row in rows:
        for cell, metric in zip(row.cells, METRICS, strict=True):
            assert cell.mark == expected.get((row.head, metric), "")
    assert expected["Popularity", "ndcg@100"] == WORSE


def test_models_are_in_two_groups_and_the_data_below(content: Content) -> None:
    table = accuracy_table([reported(content)])
    assert [row.head for row in table.rows] == [
        "static baselines",
        "EASE",
        "Popularity",
        "interactive models",
        "TEASER",
        "WMF-S",
        "TEASER × EASE",
        "data",
        "# users",
        "# items",
        "interaction density",
        "# tags",
        "tag density",
        "features",
        "# test users",
    ]
    found = {row.head: row.cells[0].text for row in table.rows if row.cells}
    data = content["data"]
    assert found["# users"] == f"{data['users']:,}"
    assert found["# tags"] == f"{data['tags']:,}"
    assert found["tag density"] == f"{100 * data['tag_density']:.3f} %"
    assert found["features"] == ", ".join(data["features"])
    assert found["# test users"] == "80"


def test_the_papers_figures_stand_beside_ours_only_where_it_has_them(content: Content) -> None:
    table = accuracy_table([reported(content)])
    beside = {row.head: [cell.beside for cell in row.cells] for row in figure_rows(table)}
    publiq = COLUMNS["publiq"].static
    assert beside["EASE"] == [f"{f:.3f}" for f in publiq["EASE"]]
    assert beside["TEASER × EASE"] == [f"{f:.3f}" for f in publiq["TEASER × EASE"]]
    assert beside["Popularity"] == ["", "", ""]
    assert any("paper's figures for Publiq" in note for note in table.notes)
    assert any(content["note"] in note for note in table.notes)
    plain = accuracy_table([reported({**content, "paper": None, "note": ""})])
    assert not any(cell.beside for row in plain.rows for cell in row.cells)
    assert len(plain.notes) == 1


def test_several_studies_stand_side_by_side(content: Content) -> None:
    fewer = [m for m in content["models"] if m["kind"] != "WMFS"]
    second = {**content, "study": "second", "title": "Second", "models": fewer, "paper": None}
    second["models"] = [*fewer, {**fewer[0], "name": "Other", "kind": "Other"}]
    table = accuracy_table([reported(content), reported(second)])
    assert [block.title for block in table.blocks] == [content["title"], "Second"]
    rows = {row.head: [cell.text for cell in row.cells] for row in figure_rows(table)}
    assert rows["WMF-S"][3:] == [NONE] * 3
    assert rows["Other"][:3] == [NONE] * 3
    assert rows["EASE"][:3] == rows["EASE"][3:]
    spans = [[cell.span for cell in row.cells] for row in table.rows if row.head == "# users"]
    assert spans == [[3, 3]]


def test_without_ease_nothing_is_marked_or_explained(content: Content) -> None:
    content["models"] = [m for m in content["models"] if m["kind"] not in ("EASE", "Product")]
    table = accuracy_table([reported(content)])
    assert not any(cell.mark for row in table.rows for cell in row.cells)
    assert not any(BETTER in note for note in table.notes)


def test_the_lists_are_described_by_study(content: Content) -> None:
    table = beyond_table([reported(content)])
    columns = table.blocks[0].columns
    assert {"coverage@20", "diversity@20", "long tail@20", "nDCG@100, uncapped"} <= set(columns)
    for row in figure_rows(table):
        metrics = model_of(content, row.head)["metrics"]
        text = row.cells[columns.index("long tail@20")].text
        assert text == format_value(metrics["long_tail@20"]["mean"])


def test_parameters_and_cost(content: Content) -> None:
    rows = {row.head: [c.text for c in row.cells] for row in cost_table(reported(content)).rows}
    chosen = model_of(content, "TEASER")["parameters"]
    assert rows["TEASER"][0] == ", ".join(f"{k} = {v:g}" for k, v in chosen.items())
    assert rows["TEASER"][1] == "6"
    assert rows["TEASER"][4] == str(model_of(content, "TEASER")["fit"]["iterations"])
    assert rows["Popularity"][:2] == ["the defaults", NONE]
    assert rows["TEASER × EASE"][0] == "those of its parts"
    took = model_of(content, "EASE")["scoring_seconds"]
    assert rows["EASE"][5] == f"{1000 * took / 80:.2f}"


def test_tables_without_anything_to_show_are_left_out(without: Callable[..., Content]) -> None:
    def names(content: Content) -> list[str]:
        return [table.name for table in comparison_tables([reported(content)])]

    assert names(without()) == ["accuracy", "feedback", "steering", "beyond"]
    assert names(without("simulations")) == ["accuracy", "beyond"]


def test_the_recommended_model_is_set_against_every_other(content: Content) -> None:
    assert advantage_table([reported(content)]) is None
    for model in content["models"]:
        if model["name"] == "teaser":
            model["name"] = "TEASER, recommended"
    for found in content["comparisons"]:
        for end in ("a", "b"):
            found[end] = "TEASER, recommended" if found[end] == "teaser" else found[end]
        if (found["a"], found["metric"]) == ("ease", "ndcg@100"):
            found.update(mean=0.02, low=0.01, high=0.03)
    model_of(content, "EASE")["metrics"]["ndcg@100"]["mean"] = 0.2
    # A product names its parts.
    model_of(content, "TEASER × EASE")["parts"] = ["TEASER, recommended", "ease"]
    table = advantage_table([reported(content)])
    assert table is not None
    rows = {row.head: row.cells for row in table.rows}
    assert len(rows) == len(content["models"]) - 1
    assert "TEASER, recommended" not in rows
    assert [cell.text for cell in rows["EASE"]] == ["0.200", "+10.0"]
    assert (rows["EASE"][1].error, rows["EASE"][1].mark) == ("[+5.0, +15.0]", BETTER)
    assert rows["Popularity"][1].mark == BETTER
    without = advantage_table([reported({**content, "comparisons": []})])
    assert without is not None
    assert {row.cells[1].text for row in without.rows} == {NONE}


def test_parts_of_scores_are_in_percent_and_tags_are_summed(content: Content) -> None:
    assert parts_table([reported(content)]) is None
    shares = {"general": 0.3, "declared": 0.4, "discovered": 0.2, "popularity": 0.0, "viewed": 0.1}
    model_of(content, "TEASER")["shares"] = shares
    model_of(content, "TEASER × EASE")["shares"] = shares
    table = parts_table([reported(content)])
    assert table is not None
    assert table.blocks[0].columns[-1] == "from tags"
    assert [row.head for row in table.rows] == ["TEASER", "TEASER × EASE"]
    for row in table.rows:
        assert [cell.text for cell in row.cells] == ["30", "40", "20", "0", "10", "60"]
    assert table.notes == ("TEASER × EASE: of the part with tags.",)
    second = {**content, "study": "second", "title": "Second"}
    second["models"] = [{**m, "shares": {}} for m in content["models"]]
    both = parts_table([reported(content), reported(second)])
    assert both is not None
    assert [block.title for block in both.blocks] == [content["title"]]

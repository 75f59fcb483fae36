"""The figures of the paper hold together: its percentages follow from its accuracies."""

import pytest

from teaser.evaluate.report.tables.paper import COLUMNS, INTERACTIVE, METRICS, STATIC

# The last column of each block of the paper's second table, in the order of its rows.
IMPROVEMENTS = {
    ("ml-20m", 1): (11.8, 4.9, 1.8),
    ("ml-20m", 2): (25.7, 10.2, 3.4),
    ("amazon-video-games", 1): (94.7, 205.9, 50.0),
    ("amazon-video-games", 2): (209.5, 558.8, 69.7),
    ("publiq", 1): (39.0, 37.4, 9.2),
    ("publiq", 2): (79.2, 76.8, 15.0),
}
BEST = {"ml-20m": "EASE", "amazon-video-games": "WMF", "publiq": "WMF"}


def test_percentages_follow_from_the_figures() -> None:
    for (name, n_tags), improvements in IMPROVEMENTS.items():
        for model, printed in zip(INTERACTIVE, improvements, strict=True):
            before = COLUMNS[name].figure(model, "ndcg@100")
            after = COLUMNS[name].figure(model, "ndcg@100", n_tags)
            assert before is not None
            assert after is not None
            assert 100 * (after / before - 1) == pytest.approx(printed, abs=0.051)


def test_every_model_has_its_figures_and_the_best_is_the_papers() -> None:
    assert set(COLUMNS) == set(BEST)
    for name, column in COLUMNS.items():
        for metric in METRICS:
            figures = {model: column.figure(model, metric) or 0.0 for model in STATIC + INTERACTIVE}
            assert all(0 < figure < 1 for figure in figures.values())
            assert max(figures, key=lambda model: figures[model]) == BEST[name]
        for model in STATIC + INTERACTIVE:
            r20, r100, ndcg = (column.figure(model, metric) or 0.0 for metric in METRICS)
            assert r20 < r100
            assert ndcg < r100


def test_what_the_paper_does_not_have_is_none() -> None:
    column = COLUMNS["ml-20m"]
    assert column.figure("Popularity", "ndcg@100") is None
    assert column.figure("EASE", "ndcg@10") is None
    assert column.figure("EASE", "ndcg@100", 1) is None
    assert column.figure("TEASER", "ndcg@100", 3) is None

"""The card of a model says what the model, its folder and its data set hold."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import small_tables

import teaser
from teaser import Dataset, Teaser
from teaser.errors import NotFittedError, ParameterError
from teaser.evaluate import Recipe, Trial

RECIPE = Recipe(
    (
        Trial("Popularity", ndcg=0.1, share=0.25, error=0.01),
        Trial("EASE", ndcg=0.4, share=1.0, error=0.02),
        Trial("paper", {}, 0.31, 0.775, {"general": 0.7, "declared": 0.3}, 1.5, error=0.025),
        Trial("discovered", {}, 0.38, 0.95, {"general": 0.5, "discovered": 0.5}, 2.5),
        Trial("discovered", {}, 0.37, 0.925),
        Trial("neighbours", reason="it needs 80 GB"),
    ),
    "paper",
    "Because | of <that>.",
    n_users=50,
)


@pytest.fixture(scope="module")
def chosen(dataset: Dataset) -> Teaser:
    found = Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset)
    found.recipe_ = RECIPE
    return found


def section(text: str, title: str) -> str:
    return text.partition(f"\n## {title}\n\n")[2].partition("\n\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of a table, without its header."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_section_has_a_body(chosen: Teaser, dataset: Dataset) -> None:
    titles = [
        *("Data", "Tags", "Recipe", "Accuracy", "Parts of scores", "Truth"),
        *("Hyper-parameters", "Limits", "How to use it"),
    ]
    for text in (teaser.evaluate.card(chosen), teaser.evaluate.card(chosen, dataset)):
        assert text.startswith("# Model card: a Teaser model\n\nA linear recommender of 40 items.")
        assert [x[3:] for x in text.splitlines() if x.startswith("## ")] == titles
        assert all(section(text, title).strip() for title in titles)


def test_the_report_is_that_of_the_data_set(chosen: Teaser, dataset: Dataset) -> None:
    told = section(teaser.evaluate.card(chosen, dataset), "Data").splitlines()
    assert told == [f"- {line}" for line in dataset.lines()]
    alone = section(teaser.evaluate.card(chosen), "Data")
    assert "- 40 items, of which 0 were not chosen" in alone
    assert "teaser card MODEL --data DATA" in alone


def test_tags_are_counted_by_feature(chosen: Teaser, dataset: Dataset) -> None:
    told = {row[0]: row[1:] for row in rows(section(teaser.evaluate.card(chosen), "Tags"))}
    assert set(told) == {tag.feature for tag in dataset.tags}
    for feature, (origin, number, share, largest) in told.items():
        columns = [j for j, tag in enumerate(dataset.tags) if tag.feature == feature]
        assert int(number) == len(columns)
        assert share == f"{100 * (dataset.S.toarray()[:, columns].any(axis=1)).mean():.0f} %"
        counts = dataset.S.sum(axis=0)[columns]
        assert largest.split("; ")[0] == dataset.tags[columns[int(np.argmax(counts))]].value
        assert feature in origin
    assert "Displayed, not learned from: title: title" in teaser.evaluate.card(chosen)
    assert "User features: none" in teaser.evaluate.card(chosen)


def test_a_model_without_tags_has_a_card() -> None:
    interactions, _ = small_tables()
    data = Dataset.from_tables(interactions)
    found = Teaser(remainder=teaser.extensions.Remainder(l2=20.0)).fit(data)
    assert "The model has no tags" in section(teaser.evaluate.card(found, data), "Tags")


def test_texts_of_the_data_stay_texts(chosen: Teaser) -> None:
    odd = replace(RECIPE, tried=(Trial("paper | <b>\nx", ndcg=0.3),), chosen="paper | <b>\nx")
    chosen.recipe_ = odd
    try:
        told = section(teaser.evaluate.card(chosen), "Recipe")
    finally:
        chosen.recipe_ = RECIPE
    assert "paper \\| &lt;b> x" in told


def test_what_has_no_card_is_refused(dataset: Dataset, chosen: Teaser) -> None:
    with pytest.raises(NotFittedError):
        teaser.evaluate.card(Teaser())
    with pytest.raises(ParameterError, match="fitted to"):
        teaser.evaluate.card(chosen, Dataset.from_tables(small_tables(n_items=20)[0]))

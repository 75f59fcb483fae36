"""The card of a model says what the model, its folder and its data set hold."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
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


def test_the_recipe_has_its_trials(chosen: Teaser) -> None:
    text = section(teaser.evaluate.card(chosen), "Recipe")
    assert text.startswith("**paper**. Because | of &lt;that>.")
    assert rows(text) == [
        ["Popularity", "0.100 ± 0.020", "25 %", "", "", "", "0.0"],
        ["EASE", "0.400 ± 0.039", "100 %", "", "", "", "0.0"],
        ["**paper**", "0.310 ± 0.049", "78 %", "70 %", "30 %", "", "1.5"],
        ["discovered", "0.380", "95 %", "50 %", "", "50 %", "2.5"],
    ]
    assert "of 5 trials" in text
    assert "- neighbours is left out: it needs 80 GB" in text


def test_accuracy_is_said_to_be_validation(chosen: Teaser, model: Teaser) -> None:
    told = section(teaser.evaluate.card(chosen), "Accuracy")
    assert told.startswith("nDCG@100 = 0.310 ± 0.049 (95 % interval) on 50 held-out users")
    assert "- EASE: 0.400 ± 0.039" in told
    assert "This is validation" in told
    assert model.recipe_ is None
    alone = teaser.evaluate.card(model)
    assert section(alone, "Accuracy").startswith("Not measured")
    assert "was not measured when it was fitted" in section(alone, "Limits")
    assert section(alone, "Recipe") == "The parameters were given: no recipe was chosen."


def test_parts_are_of_the_data_set_or_of_the_trial(
    chosen: Teaser, model: Teaser, dataset: Dataset
) -> None:
    trial = dict(rows(section(teaser.evaluate.card(chosen), "Parts of scores")))
    assert list(trial.values()) == ["70 %", "30 %"]
    found = teaser.evaluate.check_model(chosen, dataset, stability=False)
    told = rows(section(teaser.evaluate.card(chosen, dataset), "Parts of scores"))
    wanted = [f"{100 * share:.0f} %" for share in found.parts.values() if share > 0]
    assert sorted(row[1] for row in told) == sorted(wanted)
    assert section(teaser.evaluate.card(model), "Parts of scores").startswith("Not measured")


def test_hyper_parameters_stand_beside_their_defaults(chosen: Teaser) -> None:
    told = {
        row[0]: row[1:] for row in rows(section(teaser.evaluate.card(chosen), "Hyper-parameters"))
    }
    assert set(told) == set(chosen.parameters())
    assert told["l2_weights"] == ["5", "200"]
    assert told["remainder"] == ["none", "none"]
    assert "The solver converged after" in teaser.evaluate.card(chosen)


def test_limits_tell_what_was_found(chosen: Teaser, dataset: Dataset) -> None:
    text = teaser.evaluate.card(chosen, dataset)
    told = [line.strip() for s in ("Limits", "Truth") for line in section(text, s).splitlines()]
    for line in teaser.evaluate.check_model(chosen, dataset, stability=False).lines():
        assert told.count(line.strip()) + told.count(f"- {line}") == 1
    both = section(teaser.evaluate.card(chosen, dataset, stability=True), "Limits")
    assert "Two halves of the people" in both
    loose = Teaser(l2_weights=5.0, l2_encoder=5.0, max_iter=1, tol=1e-6)
    with pytest.warns(teaser.ConvergenceWarning):
        loose.fit(dataset)
    assert "did not converge: raise max_iter" in teaser.evaluate.card(loose)
    assert "stopped before it converged after 1 iteration," in teaser.evaluate.card(loose)


def test_items_that_nobody_chose_are_counted() -> None:
    interactions, items = small_tables()
    every = Teaser(l2_weights=5.0, l2_encoder=5.0).fit(Dataset.from_tables(interactions, items))
    limits = section(teaser.evaluate.card(every), "Limits")
    assert "- Items that nobody chose: 0 of 40.\n- Items without a tag: 0.\n" in limits
    new = pl.DataFrame({"item_id": ["n1", "n2"], "title": ["New", "Bare"], "type": ["film", None]})
    data = Dataset.from_tables(interactions, pl.concat([items, new], how="diagonal"))
    found = Teaser(l2_weights=5.0, l2_encoder=5.0).fit(data)
    limits = section(teaser.evaluate.card(found), "Limits")
    assert "- Items that nobody chose: 2 of 42." in limits
    assert "- Items without a tag: 1. Nobody chose 1 of them" in limits
    assert "of which 2 were not chosen" in section(teaser.evaluate.card(found), "Data")
    assert "neighbours" not in limits
    near = Teaser(l2_weights=5.0, l2_encoder=5.0, remainder=teaser.extensions.Remainder()).fit(data)
    said = "- Items without neighbours, by choices or by tags: 1. What was viewed adds nothing"
    assert said in section(teaser.evaluate.card(near), "Limits")


def test_extensions_and_a_folder_are_told(dataset: Dataset, tmp_path: Path) -> None:
    found = Teaser(
        l2_weights=5.0,
        l2_encoder=5.0,
        discovered=teaser.extensions.DiscoveredTags(grains=(8,)),
        remainder=teaser.extensions.Remainder(l2=20.0),
    ).fit(dataset)
    found.save(tmp_path / "films")
    text = teaser.evaluate.card(teaser.load(tmp_path / "films"), folder=tmp_path / "films")
    assert text.startswith("# Model card: films\n")
    assert "the user's affinities with its tags, and what viewed items add" in text
    assert f"written by version {teaser.__version__}, format 1" in text
    assert "model = teaser.load('films')" in text
    told = {row[0]: row[1] for row in rows(section(text, "Tags"))}
    assert told["discovered"] == "found by the fit"
    assert "l2 = 20, neighbours = 100" in section(text, "Hyper-parameters")


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

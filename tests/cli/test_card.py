"""card: what it prints, writes and refuses."""

import shutil
from pathlib import Path

from commands import refused, said

import teaser
from teaser import Dataset, Teaser


def test_a_card_finds_the_data_set_of_the_fit(shop: Path) -> None:
    model, data = teaser.load(shop / "model", Teaser), Dataset.load(shop / "data")
    wanted = teaser.evaluate.card(model, data, folder=shop / "model")
    assert said("card", shop / "model").splitlines() == wanted.splitlines()
    assert said("card", shop / "model", "--data", shop / "data", "--seed", 0) == said(
        "card", shop / "model"
    )


def test_a_card_is_written_to_a_file(shop: Path, tmp_path: Path) -> None:
    told = said("card", shop / "model", "--out", tmp_path / "CARD.md", "--stability")
    assert "CARD.md has the card of" in told
    text = (tmp_path / "CARD.md").read_text(encoding="utf-8")
    assert text.startswith("# Model card: model\n")
    assert "Two halves of the people" in text


def test_a_data_set_that_is_gone_or_another_is_left_out(shop: Path, tmp_path: Path) -> None:
    shutil.copytree(shop / "data", tmp_path / "data")
    said("fit", tmp_path / "data", "--out", tmp_path / "m", "--l2-weights", 5, "--l2-encoder", 5)
    shutil.rmtree(tmp_path / "data")
    assert "The model does not hold users and interactions" in said("card", tmp_path / "m")
    interactions = Dataset.load(shop / "data")
    other = Dataset.from_tables({"user_id": ["a", "b"], "item_id": ["x", "y"]})
    assert interactions.n_items != other.n_items
    other.save(tmp_path / "data")
    assert "The model does not hold users and interactions" in said("card", tmp_path / "m")


def test_bad_input_is_said(shop: Path, tmp_path: Path) -> None:
    assert "not a saved model" in refused("card", tmp_path / "nothing")
    assert "holds a data set, not a model" in refused("card", shop / "data")
    assert "could not be written" in refused(
        "card", shop / "model", "--out", tmp_path / "no" / "CARD.md"
    )

"""The commands that look at a model: check, groups, card."""

import json
import shutil
from pathlib import Path

import pytest
from commands import refused, run, said

import teaser
from teaser import Dataset, Teaser

GROUPS = ("--l2-weights", 5, "--l2-encoder", 20, "--discovered-grains", "8")


@pytest.fixture(scope="module")
def grouped(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with discovered groups, beside a data set of its own."""
    folder = tmp_path_factory.mktemp("grouped")
    shutil.copytree(shop / "data", folder / "data")
    said("fit", folder / "data", "--out", folder / "model", *GROUPS)
    return folder


def test_a_check_finds_the_data_set_of_the_fit(shop: Path) -> None:
    found = said("check", shop / "model")
    wanted = teaser.evaluate.check_model(teaser.load(shop / "model"), Dataset.load(shop / "data"))
    assert found.splitlines() == wanted.lines()
    assert "First reasons: " in found
    assert "Two halves of the people" in found


def test_a_data_set_that_is_gone_has_to_be_named(grouped: Path, shop: Path, tmp_path: Path) -> None:
    shutil.copytree(grouped, tmp_path / "g")
    said("fit", tmp_path / "g" / "data", "--out", tmp_path / "m", *GROUPS)
    shutil.rmtree(tmp_path / "g" / "data")
    heard = refused("check", tmp_path / "m")
    assert "which is gone" in heard
    assert "teaser check MODEL DATA" in heard
    assert said("check", tmp_path / "m", shop / "data", "--no-stability")
    teaser.load(shop / "model").save(tmp_path / "other")
    plain = Teaser().fit(Dataset.load(shop / "data"))
    plain.save(tmp_path / "plain")
    assert "does not say which" in refused("check", tmp_path / "plain")


def test_groups_are_listed_with_their_items(grouped: Path) -> None:
    found = said("groups", grouped / "model")
    groups = teaser.load(grouped / "model", Teaser).groups_
    assert groups is not None
    assert all(group.tag.value in found for group in groups.groups[:10])
    assert "items" in found
    plain = json.loads(said("groups", grouped / "model", "--json"))
    assert [g["name"] for g in plain] == [g.tag.value for g in groups.groups]
    assert plain[0]["size"] == groups.groups[0].size


def test_a_file_of_groups_renames_them_at_the_next_fit(grouped: Path, tmp_path: Path) -> None:
    shutil.copytree(grouped, tmp_path / "g")
    model, file = tmp_path / "g" / "model", tmp_path / "groups.toml"
    assert "--discovered-names" in said("groups", model, "--out", file)
    before = teaser.load(model, Teaser).groups_
    assert before is not None
    name = before.groups[0].tag.value
    text = file.read_text()
    assert f'# "{name}" = "{name}"' in text
    file.write_text(text.replace(f'# "{name}" = "{name}"', f'"{name}" = "Our favourites"'))
    options = (*GROUPS, "--discovered-names", file)
    said("fit", tmp_path / "g" / "data", "--out", model, *options)
    after = teaser.load(model, Teaser)
    assert after.groups_ is not None
    assert "Our favourites" in {g.tag.value for g in after.groups_.groups}
    # A press on the old name still counts.
    assert after.profile(["i1"], {f"discovered={name}": 2}).presses


def test_a_model_without_groups_says_how_to_get_them(shop: Path) -> None:
    assert "--recipe discovered" in refused("groups", shop / "model")
    assert run("groups", shop / "nowhere").exit_code == 2


def test_a_card_finds_the_data_set_of_the_fit(shop: Path) -> None:
    model, data = teaser.load(shop / "model", Teaser), Dataset.load(shop / "data")
    wanted = teaser.evaluate.card(model, data, folder=shop / "model")
    assert said("card", shop / "model").splitlines() == wanted.splitlines()
    assert said("card", shop / "model", "--data", shop / "data", "--seed", 0) == said(
        "card", shop / "model"
    )


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
    assert "No such file" in refused("card", shop / "model", "--out", tmp_path / "no" / "CARD.md")

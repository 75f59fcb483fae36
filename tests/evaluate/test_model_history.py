"""The history: models are kept, listed, brought back and removed; one works at a time."""

import shutil
from pathlib import Path

import pytest

from teaser import Teaser, artifact, load
from teaser.errors import ArtifactError, ParameterError
from teaser.evaluate.model_history import ACCEPTED, REFUSED, Entry, ModelHistory


def added(history: ModelHistory, model: Teaser, verdict: str = ACCEPTED) -> Entry:
    """Add a model that differs from all others by its seed."""
    model.rng = len(history.entries()) + 1
    with history.draft() as draft:
        model.save(draft)
        return history.add(draft, verdict, facts={"bytes": 1}, reasons=("why",))


@pytest.fixture
def folder(model: Teaser, tmp_path: Path) -> Path:
    place = tmp_path / "model"
    model.save(place)
    return place


@pytest.fixture
def copy(folder: Path) -> Teaser:
    return load(folder, Teaser)


def test_the_present_model_is_kept_once_and_can_be_brought_back(folder: Path, copy: Teaser) -> None:
    history, first = ModelHistory(folder), artifact.read_manifest(folder)
    assert (history.entries(), history.served()) == ([], None)
    with history.locked():
        history.add_present()
        history.add_present()
    (entry,) = history.entries()
    assert (entry.number, entry.verdict, entry.facts["items"]) == (1, "fitted", 40)
    assert history.served() == entry
    with history.locked():
        second = added(history, copy)
        history.publish(second)
    assert history.served() == second
    assert load(folder, Teaser).rng == 2
    assert history.roll_back(1) == entry
    assert artifact.read_manifest(folder) == first
    assert history.served() == entry
    assert second.reasons == ("why",)


def test_a_model_that_was_saved_by_hand_is_kept_before_a_rollback(
    folder: Path, copy: Teaser
) -> None:
    history = ModelHistory(folder)
    with history.locked():
        history.add_present()
    copy.rng = 99
    copy.save(folder)
    assert history.served() is None
    history.roll_back(1)
    assert [each.verdict for each in history.entries()] == ["fitted", "fitted"]
    history.roll_back(2)
    assert load(folder, Teaser).rng == 99


def test_a_damaged_model_can_be_replaced_by_an_earlier_one(folder: Path) -> None:
    history = ModelHistory(folder)
    with history.locked():
        history.add_present()
    path = next(folder.glob("*.safetensors"))
    path.write_bytes(path.read_bytes()[:-1])
    history.roll_back(1)
    assert load(folder, Teaser).items_[0] == "i0"


def test_the_last_models_are_kept_with_the_served_and_the_last_refused(
    folder: Path, copy: Teaser
) -> None:
    history = ModelHistory(folder)
    with history.locked():
        history.add_present()
        for verdict in (ACCEPTED, REFUSED, ACCEPTED, REFUSED, ACCEPTED):
            added(history, copy, verdict)
        history.prune(keep=2)
    kept = {each.number for each in history.entries() if history.is_kept(each)}
    assert kept == {1, 4, 5, 6}
    assert history.disk_bytes() > 0
    assert len(history.entries()) == 6
    with pytest.raises(ParameterError, match=r"Model 2 is not kept any more.* 1, 4, 5, 6"):
        history.roll_back(2)
    with pytest.raises(ParameterError, match=r"no model 7\. Known: 1, 2"):
        history.roll_back(7)


def test_only_one_works_on_a_history(folder: Path) -> None:
    history = ModelHistory(folder)
    with history.locked():
        history.add_present()
        with pytest.raises(ArtifactError, match="Another refit or rollback"):
            ModelHistory(folder).roll_back(1)
    history.roll_back(1)


def test_what_was_left_unfinished_is_removed_and_not_listed(folder: Path, copy: Teaser) -> None:
    history = ModelHistory(folder)
    with history.locked():
        history.add_present()
    left = history.folder / ".unfinished-x"
    copy.save(left / "model")
    assert len(history.entries()) == 1
    with history.locked():
        assert not left.exists()


def test_a_damaged_entry_is_named(folder: Path) -> None:
    history = ModelHistory(folder)
    with history.locked():
        history.add_present()
    (history.folder / "0001" / "entry.json").write_text("{")
    with pytest.raises(ArtifactError, match="0001 is damaged"):
        history.entries()
    shutil.rmtree(history.folder)
    assert history.entries() == []

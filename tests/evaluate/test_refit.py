"""A refit: what it learns from, when it is refused, how it goes live; the history of models."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import RULES, small_tables

from teaser import Category, Dataset, Teaser, artifact, load
from teaser.app.store import View, Visits
from teaser.data.matrix import Ids
from teaser.errors import ArtifactError, ParameterError
from teaser.evaluate.model_history import ACCEPTED, REFUSED, Entry, ModelHistory
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.refit import (
    METRIC,
    AccuracyChange,
    HeldOut,
    NameOverlap,
    RefitReport,
    SiteInteractions,
    gather,
    join,
    reasons_against,
    refit,
)
from teaser.extensions import DiscoveredTags

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def folder(model: Teaser, tmp_path: Path) -> Path:
    place = tmp_path / "model"
    model.save(place)
    return place


@pytest.fixture
def viewed(dataset: Dataset) -> Callable[..., SiteInteractions]:
    """Make visitors of the lists of items that each viewed."""

    def make(lists: Iterable[Iterable[str]], **presses: int) -> SiteInteractions:
        texts = {f"type={name}": steps for name, steps in presses.items()}
        visits = (Visits(tuple(View(i, 1.0, BEGIN) for i in each), texts) for each in lists)
        return gather(visits, dataset.items)

    return make


def visits(*items: str | int, **presses: int) -> Visits:
    times = (BEGIN + timedelta(hours=place) for place in range(len(items)))
    views = (View(item, 1.0, at) for item, at in zip(items, times, strict=True))
    return Visits(tuple(views), presses)


def test_rows_have_the_known_items_of_people_with_enough_views() -> None:
    items = Ids(["a", "b", "c"])
    found = gather(
        [visits("c", "a"), visits("a"), visits("a", "gone"), visits(), visits("b", "c", "gone")],
        items,
    )
    assert found.X.toarray().tolist() == [[1, 0, 1], [0, 1, 1]]
    assert (found.left_out, found.unknown_views, found.unknown_items) == (2, 2, 1)
    assert [line for line in found.lines() if "1 item that the data set does not have" in line]
    with pytest.raises(ParameterError, match="min_views"):
        gather([], items, min_views=0)


def test_a_data_set_has_the_people_of_the_site_below_its_users() -> None:
    interactions, items = small_tables()
    users = interactions.select("user_id").unique(maintain_order=True)
    dataset = Dataset.from_tables(
        interactions,
        items,
        rules=RULES,
        positive="rating >= 4",
        negative="rating <= 3",
        users=users.with_columns(camp=users["user_id"].str.slice(-1)),
        user_rules=[Category("camp")],
    )
    site = gather([visits("i0", "i3")], dataset.items)
    joined = join(dataset, site)
    n = dataset.n_users
    assert (joined.n_users, joined.n_items) == (n + 1, dataset.n_items)
    assert (joined.X[:n] != dataset.X).nnz == 0
    assert [dataset.items[i] for i in joined.X[[n]].indices] == ["i0", "i3"]
    assert joined.Q is not None
    assert joined.disliked is not None
    assert joined.Q[[n]].nnz == joined.disliked[[n]].nnz == 0
    assert joined.users[0] == 0
    assert join(dataset, gather((), dataset.items)).n_users == n
    assert np.array_equal(joined.item_counts - dataset.item_counts, site.X.toarray()[0])


@pytest.fixture(scope="module")
def joint(dataset: Dataset) -> Dataset:
    return join(dataset, gather((), dataset.items))


@pytest.fixture(scope="module")
def held(joint: Dataset) -> HeldOut:
    found = HeldOut.draw(joint, rng=0)
    assert found is not None
    return found


def test_a_twin_learns_from_all_others_and_from_none_of_the_held_out(
    joint: Dataset, held: HeldOut, model: Teaser
) -> None:
    people = np.array(list(held.fold.users))
    assert len(people) == 50
    assert np.array_equal(np.sort([*people, *held.rest]), np.arange(joint.n_users))
    twin = held.fit_twin(model, joint)
    counts = joint.at(held.rest).item_counts
    assert np.allclose(twin.popularity_, counts / counts.max())
    # What the held-out people chose does not reach it.
    changed = joint.X.tolil()
    changed[people] = 1.0
    other = Dataset(**{**vars(joint), "X": changed.tocsr()})
    assert np.array_equal(held.fit_twin(model, other).encoder_, twin.encoder_)
    reached = evaluate(twin, held.fold).values[METRIC]
    assert np.array_equal(held.measure_twin(model, joint), reached)


FINE = AccuracyChange(0.5, 0.49, -0.05, 0.02, 100)
GOOD = RefitReport(
    twins=FINE,
    models=FINE,
    coverage=(0.4, 0.3),
    items=NameOverlap(10, 12, 9),
    tags=NameOverlap(4, 4, 4),
    presses=NameOverlap(3, 3, 3),
    sizes={"bytes": (1000, 900), "users": (None, 30)},
)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"twins": AccuracyChange(0.5, 0.47, -0.1, 0, 9)}, "Twins: nDCG@100 falls by 6.0%"),
        ({"models": AccuracyChange(0.5, 0.4, -0.3, 0, 9)}, "The models themselves: nDCG@100 falls"),
        ({"twins": None, "models": None, "coverage": None}, "Fewer than 10 people"),
        ({"coverage": (0.4, 0.1)}, "Of the coverage of the present model 25 %"),
        ({"items": NameOverlap(10, 100, 4)}, "Of the items of the present model 40 %"),
        ({"tags": NameOverlap(10, 10, 4)}, "Of the tags of"),
        ({"presses": NameOverlap(10, 10, 4)}, "Of the presses of visitors of"),
        ({"sizes": {"interactions": (100, 49)}}, "Of the interactions of"),
    ],
)
def test_each_limit_is_a_reason(changes: dict[str, Any], said: str) -> None:
    (reason,) = reasons_against(replace(GOOD, **changes), 0.05)
    assert reason.startswith(said)


Viewed = Callable[..., SiteInteractions]

# Events of both groups, which nobody likes together: such views teach nonsense.
NONSENSE = [(f"i{2 * n}", f"i{(2 * n + 21) % 40}") for n in range(20)] * 100


def test_the_next_model_learns_from_the_views_and_is_served(
    folder: Path, dataset: Dataset, viewed: Viewed, model: Teaser
) -> None:
    site = viewed([("i38", "i36", "i34")] * 30, film=1)
    entry, measured = refit(folder, dataset, site, dataset_path="there")
    assert (entry.number, entry.verdict, entry.reasons) == (2, "accepted", ())
    found = load(folder, Teaser)
    counts = dataset.item_counts + np.bincount([38, 36, 34], minlength=40) * 30
    assert np.allclose(found.popularity_, counts / counts.max())
    assert found.parameters() == model.parameters()
    assert found.dataset_path_ == "there"
    assert entry.facts["visitors"] == 30
    assert (entry.facts["users"], entry.facts["views"]) == (dataset.n_users + 30, 90)
    # The views make the people of the site predictable; those of the data set hardly notice.
    assert measured.twins is not None
    assert measured.twins.change > -0.05
    assert measured.presses is not None
    assert (measured.presses.before, measured.presses.kept) == (30, 30)
    # The twin of the next refit knows them: nothing is new.
    _, again = refit(folder, dataset, site)
    assert again.twins is not None
    assert again.twins.before == again.twins.after == measured.twins.after
    assert again.sizes["users"] == (dataset.n_users + 30, dataset.n_users + 30)


def test_a_worse_model_is_refused_and_the_present_one_stays(
    folder: Path, dataset: Dataset, viewed: Viewed
) -> None:
    before = artifact.read_manifest(folder)
    site = viewed(NONSENSE)
    entry, measured = refit(folder, dataset, site)
    assert entry.verdict == "refused"
    assert any(reason.startswith("Twins: nDCG@100 falls by") for reason in entry.reasons)
    assert measured.twins is not None
    assert measured.twins.high < 0
    assert artifact.read_manifest(folder) == before
    history = ModelHistory(folder)
    assert history.served() == history.entry(1)
    stored = json.loads((history.folder / "0002" / "entry.json").read_text())
    assert stored["report"]["twins"]["after"] == measured.twins.after
    # A wider margin accepts it, and so does force.
    entry, _ = refit(folder, dataset, site, force=True)
    assert entry.verdict == "forced"
    assert entry.reasons
    assert history.served() == entry
    history.roll_back(1)
    entry, _ = refit(folder, dataset, site, margin=1.0)
    assert entry.verdict == "accepted"


def test_discovered_groups_keep_their_names(
    tmp_path: Path, dataset: Dataset, viewed: Viewed
) -> None:
    options = DiscoveredTags(grains=(5,), factors=8)
    before = Teaser(l2_weights=5.0, l2_encoder=5.0, discovered=options).fit(dataset)
    before.save(tmp_path / "model")
    _, measured = refit(tmp_path / "model", dataset, viewed([("i1", "i3", "i5")] * 5))
    after = load(tmp_path / "model", Teaser)
    assert after.groups_ is not None
    assert measured.tags.kept == len(before.tags_)
    assert {t for t in after.tags_ if t.discovered} == {t for t in before.tags_ if t.discovered}


def test_the_recipe_can_be_chosen_anew(folder: Path, dataset: Dataset) -> None:
    entry, _ = refit(folder, dataset, gather((), dataset.items), margin=1.0, choose=True)
    found = load(folder, Teaser)
    assert entry.verdict == "accepted"
    assert found.recipe_ is not None
    assert found.recipe_.chosen == "discovered"
    assert found.discovered is not None


def test_a_model_that_was_saved_meanwhile_is_not_replaced(folder: Path, dataset: Dataset) -> None:
    other = load(folder, Teaser)
    other.rng = 7

    def save(what: str, share: float) -> None:
        other.save(folder)

    with pytest.raises(ArtifactError, match="Another model was saved"):
        refit(folder, dataset, gather((), dataset.items), callback=save)
    assert load(folder, Teaser).rng == 7
    assert ModelHistory(folder).entries() == []


def test_a_killed_refit_leaves_the_served_model_and_the_next_one_works(
    folder: Path, dataset: Dataset
) -> None:
    before = artifact.read_manifest(folder)
    dataset.save(folder.parent / "data")
    program = """
import os, signal, sys
from pathlib import Path
from teaser import Dataset
from teaser.evaluate.refit import refit
from teaser.evaluate.refit import gather

data = Dataset.load(sys.argv[2])
def die(what, share):
    if what == "comparing the models":
        os.kill(os.getpid(), signal.SIGKILL)
refit(Path(sys.argv[1]), data, gather((), data.items), callback=die)
"""
    words = [sys.executable, "-c", program, str(folder), str(folder.parent / "data")]
    done = subprocess.run(words, check=False, capture_output=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert artifact.read_manifest(folder) == before
    history = ModelHistory(folder)
    assert history.entries() == []
    assert len(list(history.folder.glob(".unfinished-*"))) == 1
    entry, _ = refit(folder, dataset, gather((), dataset.items))
    assert entry.number == 2
    assert not list(history.folder.glob(".unfinished-*"))


def added(history: ModelHistory, model: Teaser, verdict: str = ACCEPTED) -> Entry:
    """Add a model that differs from all others by its seed."""
    model.rng = len(history.entries()) + 1
    with history.draft() as draft:
        model.save(draft)
        return history.add(draft, verdict, facts={"bytes": 1}, reasons=("why",))


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


def test_a_damaged_entry_is_named(folder: Path) -> None:
    history = ModelHistory(folder)
    with history.locked():
        history.add_present()
    (history.folder / "0001" / "entry.json").write_text("{")
    with pytest.raises(ArtifactError, match="0001 is damaged"):
        history.entries()
    shutil.rmtree(history.folder)
    assert history.entries() == []

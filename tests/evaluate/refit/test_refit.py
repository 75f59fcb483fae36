"""The next model: it learns from the views, is judged, and takes the place of the present one."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from teaser import Dataset, Teaser, artifact, load
from teaser.data.matrix import Ids
from teaser.errors import ArtifactError
from teaser.evaluate.refit.gate import GateLimits
from teaser.evaluate.refit.history import History
from teaser.evaluate.refit.refit import RefitOptions, refit
from teaser.evaluate.refit.site_interactions import SiteInteractions, no_views
from teaser.extensions import DiscoveredTags

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
    history = History(folder)
    assert history.served() == history.entry(1)
    stored = json.loads((history.folder / "0002" / "entry.json").read_text())
    assert stored["report"]["twins"]["change"] == measured.twins.change
    # A wider margin accepts it, and so does force.
    entry, _ = refit(folder, dataset, site, options=RefitOptions(force=True))
    assert entry.verdict == "forced"
    assert entry.reasons
    assert history.served() == entry
    history.roll_back(1)
    entry, _ = refit(folder, dataset, site, options=RefitOptions(GateLimits(margin=1.0, least=0.0)))
    assert entry.verdict == "accepted"


def test_a_data_folder_that_lost_its_items_is_refused(folder: Path, dataset: Dataset) -> None:
    names = [f"new{i}" if i >= 12 else item for i, item in enumerate(dataset.items)]
    other = replace(dataset, items=Ids(names))
    entry, measured = refit(folder, other, no_views(other.items))
    assert entry.verdict == "refused"
    assert measured.items.kept == 12
    assert any("Of the items of the present model 30 %" in reason for reason in entry.reasons)


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
    entry, _ = refit(
        folder, dataset, no_views(dataset.items), options=RefitOptions(GateLimits(1.0), choose=True)
    )
    found = load(folder, Teaser)
    assert entry.verdict == "accepted"
    assert found.recipe_ is not None
    assert found.recipe_.chosen == "discovered"
    assert found.discovered is not None


def test_two_refits_at_once_are_one_and_a_refusal(folder: Path, dataset: Dataset) -> None:
    said: list[str] = []

    def second(what: str, share: float) -> None:
        if not said:
            with pytest.raises(ArtifactError, match="Another refit") as caught:
                refit(folder, dataset, no_views(dataset.items))
            said.append(str(caught.value))

    entry, _ = refit(folder, dataset, no_views(dataset.items), callback=second)
    assert said
    assert entry.number == 2


def test_a_model_that_was_saved_meanwhile_is_not_replaced(folder: Path, dataset: Dataset) -> None:
    other = load(folder, Teaser)
    other.rng = 7

    def save(what: str, share: float) -> None:
        other.save(folder)

    with pytest.raises(ArtifactError, match="Another model was saved"):
        refit(folder, dataset, no_views(dataset.items), callback=save)
    assert load(folder, Teaser).rng == 7
    assert History(folder).entries() == []


def test_a_killed_refit_leaves_the_served_model_and_the_next_one_works(
    folder: Path, dataset: Dataset
) -> None:
    before = artifact.read_manifest(folder)
    dataset.save(folder.parent / "data")
    program = """
import os, signal, sys
from pathlib import Path
from teaser import Dataset
from teaser.evaluate.refit.refit import refit
from teaser.evaluate.refit.site_interactions import no_views

data = Dataset.load(sys.argv[2])
def die(what, share):
    if what == "comparing the models":
        os.kill(os.getpid(), signal.SIGKILL)
refit(Path(sys.argv[1]), data, no_views(data.items), callback=die)
"""
    words = [sys.executable, "-c", program, str(folder), str(folder.parent / "data")]
    done = subprocess.run(words, check=False, capture_output=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert artifact.read_manifest(folder) == before
    history = History(folder)
    assert history.entries() == []
    assert len(list(history.folder.glob(".unfinished-*"))) == 1
    entry, _ = refit(folder, dataset, no_views(dataset.items))
    assert entry.number == 2
    assert not list(history.folder.glob(".unfinished-*"))

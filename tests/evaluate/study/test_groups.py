"""Some discovered groups beside the results: drawn at random, with titles, read back."""

from pathlib import Path

import pytest

from teaser import Dataset, Teaser
from teaser.errors import DataError
from teaser.evaluate.study.groups import DRAWN, EXEMPLARS, draw_groups, read_groups, write_groups
from teaser.extensions import DiscoveredTags


@pytest.fixture(scope="module")
def model(dataset: Dataset) -> Teaser:
    return Teaser(discovered=DiscoveredTags(grains=(6, 2), factors=16)).fit(dataset)


def test_groups_are_drawn_at_random_and_the_same_for_a_seed(model: Teaser) -> None:
    assert model.groups_ is not None
    names = [group.tag.value for group in model.groups_.groups]
    assert len(names) > DRAWN
    found = draw_groups(model, seed=1)
    assert len(found) == len({group.name for group in found}) == DRAWN
    assert {group.name for group in found} <= set(names)
    assert draw_groups(model, seed=1) == found
    assert draw_groups(model, seed=2) != found
    assert len(draw_groups(model, seed=1, n=10_000)) == len(names)


def test_a_group_tells_what_the_model_holds(model: Teaser) -> None:
    assert model.groups_ is not None
    by_name = {group.tag.value: group for group in model.groups_.groups}
    for shown in draw_groups(model, seed=0):
        group = by_name[shown.name]
        titles = [model.title(model.items_.index_of(e)) or str(e) for e in group.exemplars]
        assert list(shown.exemplars) == titles[:EXEMPLARS]
        assert (shown.size, shown.label_share) == (group.size, group.label_share)
        assert shown.label == ("" if group.label_tag is None else str(group.label_tag))


def test_those_of_the_last_model_with_groups_are_written(model: Teaser, tmp_path: Path) -> None:
    bare = Teaser()
    path = tmp_path / "some.groups.parquet"
    write_groups({"bare": bare}, path, seed=0)
    assert not path.exists()
    assert read_groups(path) == ()
    write_groups({"with": model, "bare": bare}, path, seed=3)
    assert read_groups(path) == tuple(draw_groups(model, seed=3))


def test_another_file_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "some.groups.parquet"
    path.write_text("no parquet")
    with pytest.raises(DataError, match=r"some\.groups\.parquet holds no discovered groups"):
        read_groups(path)

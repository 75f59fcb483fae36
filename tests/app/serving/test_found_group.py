"""The group behind a discovered tag: members by weight, names of today and of before."""

from pathlib import Path

import pytest

from teaser import Tag
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.found_group import find_group
from teaser.app.serving.model_holder import ModelHolder
from teaser.errors import ParameterError, UnknownTagError


@pytest.fixture(scope="module")
def catalogue(events_folder: Path) -> Catalogue:
    return ModelHolder(events_folder).current


def test_members_are_those_of_the_model_the_most_first(catalogue: Catalogue) -> None:
    groups = catalogue.model.groups_
    assert groups is not None
    for column, tag in enumerate(groups.tags):
        found = find_group(catalogue, tag)
        weights = groups.members.toarray()[:, column]
        expected = {catalogue.model.items_[i]: w for i, w in enumerate(weights) if w}
        assert dict(found.members) == pytest.approx(expected)
        assert len(found.members) == found.group.size
        order = [w for _, w in found.members]
        assert order == sorted(order, reverse=True)
        assert set(found.group.exemplars) <= set(expected)
        assert found.aliases == ()


def test_a_group_is_found_by_its_text(catalogue: Catalogue) -> None:
    tag = next(t for t in catalogue.model.tags_ if t.discovered)
    assert find_group(catalogue, str(tag)).group.tag == tag


def test_what_is_no_group_is_refused(catalogue: Catalogue) -> None:
    with pytest.raises(ParameterError, match="town=Ghent is not a group"):
        find_group(catalogue, "town=Ghent")
    tag = next(t for t in catalogue.model.tags_ if t.discovered)
    with pytest.raises(UnknownTagError) as raised:
        find_group(catalogue, Tag("discovered", tag.value[:-1]))
    assert str(tag) in raised.value.closest


def test_cards_tell_groups_and_facts_apart(catalogue: Catalogue) -> None:
    tag = next(t for t in catalogue.model.tags_ if t.discovered)
    item_id = find_group(catalogue, tag).members[0][0]
    card = catalogue.card(item_id)
    assert tag.value in card.groups
    assert {"type", "town"} <= set(card.facts)
    assert not {"discovered", "general appeal", "popularity"} & set(card.facts)
    assert "not stated" not in [value for values in card.facts.values() for value in values]

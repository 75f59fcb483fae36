"""A state seen through a catalogue: what the model does not know is kept and left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from teaser import Tag, Teaser, load
from teaser.app.catalogue import Catalogue, PersonalModel, by_date, read_about
from teaser.app.state import ListFilter, State
from teaser.errors import ParameterError, UnknownTagError


@pytest.fixture
def catalogue(model: Teaser) -> Catalogue:
    return Catalogue(model)


def test_names_of_another_model_are_left_out_and_kept(catalogue: Catalogue) -> None:
    state = State(
        history=("i1", "gone"), presses={"town=Ghent": 2, "town=Gone": 1}, hidden=("gone",)
    )
    session = PersonalModel(catalogue, state)
    assert session.history == ["i1"]
    assert session.presses == {Tag("town", "Ghent"): 2}
    assert (
        session.profile.affinities == catalogue.model.profile(["i1"], {"town=Ghent": 2}).affinities
    )
    assert session.state.history == ("i1", "gone")


def test_items_may_have_strengths(catalogue: Catalogue) -> None:
    state = State(history=("i1", "gone", "i4"), strengths={"i4": -0.25, "gone": 2.0})
    session = PersonalModel(catalogue, state)
    assert session.history == {"i1": 1.0, "i4": -0.25}
    found = session.recommend(k=40)
    assert found == catalogue.model.recommend({"i1": 1.0, "i4": -0.25}, k=40)
    assert not {"i1", "i4"} & {r.item_id for r in found}
    # A strength of an item that the model does not have leaves a plain list.
    assert PersonalModel(catalogue, State(("i1", "gone"), strengths={"gone": 2.0})).history == [
        "i1"
    ]


def test_the_list_is_the_models_without_what_is_hidden(catalogue: Catalogue) -> None:
    plain = catalogue.model.recommend(["i1"], k=5)
    hidden = plain[1].item_id
    found = PersonalModel(catalogue, State(history=("i1",), hidden=(hidden,))).recommend(k=4)
    assert [r.item_id for r in found] == [r.item_id for r in plain if r.item_id != hidden]


def test_filters_and_hidden_items_go_together(catalogue: Catalogue) -> None:
    only = np.zeros(40, dtype=bool)
    only[[3, 4, 5]] = True
    session = PersonalModel(catalogue, State(history=("i1",), hidden=("i4",)))
    assert {r.item_id for r in session.recommend(k=10, allowed=only)} == {"i3", "i5"}
    assert only[4]


def test_variety_changes_the_order_and_no_score(catalogue: Catalogue) -> None:
    plain = PersonalModel(catalogue, State(history=("i1",))).recommend(k=40)
    varied = PersonalModel(catalogue, State(history=("i1",), variety=1.0)).recommend(k=40)
    assert [r.item_id for r in plain] != [r.item_id for r in varied]
    assert {r.item_id: r.score for r in plain} == {r.item_id: r.score for r in varied}


@pytest.mark.parametrize("variety", [0.0, 0.7])
def test_the_rank_is_the_order_of_the_list(catalogue: Catalogue, variety: float) -> None:
    state = State(history=("i1", "i4"), hidden=("i5",), presses={"town=Ghent": 1}, variety=variety)
    only = np.arange(40) % 3 > 0
    session = PersonalModel(catalogue, state)
    listed = [r.item_id for r in session.recommend(k=8, allowed=only)]
    assert [catalogue.model.items_[i] for i in session.rank(k=8, allowed=only)] == listed
    assert not {"i1", "i4", "i5"} & set(listed)
    assert session.recommend(k=3)[0].score == session.scores.max(
        where=np.isin(np.arange(40), [1, 4, 5], invert=True), initial=-np.inf
    )


def test_facts_need_a_model_with_user_features(catalogue: Catalogue) -> None:
    assert PersonalModel(catalogue, State(about=("age=young",))).about == []
    assert read_about(["", ""], catalogue) == []
    with pytest.raises(ParameterError, match="age=young"):
        read_about(["", "age=young"], catalogue)


def test_facts_are_read_once_as_the_model_names_them(people_model: Teaser) -> None:
    catalogue = Catalogue(people_model)
    given = ["", "sex=F", " age = young ", "sex=F"]
    assert read_about(given, catalogue) == ["sex=F", "age=young"]
    with pytest.raises(UnknownTagError, match="Closest: age=young"):
        read_about(["age=yong"], catalogue)


def test_hidden_tags_and_filters_leave_items_out(catalogue: Catalogue) -> None:
    state = State(history=("i1",), hidden=("i4",), hidden_tags=("town=Ghent", "town=Gone"))
    session = PersonalModel(catalogue, state)
    listed = {r.item_id for r in session.recommend(k=40)}
    ghent = {i for i in catalogue.model.items_ if "Ghent" in catalogue.card(i).facts["town"]}
    assert listed == {*catalogue.model.items_} - ghent - {"i1", "i4"}
    assert {i for i in catalogue.model.items_ if session.is_hidden(i)} == {*ghent, "i4"}
    assert not session.is_hidden("gone")
    assert not PersonalModel(catalogue, State()).is_hidden("i4")
    only = PersonalModel(catalogue, replace(state, filters=ListFilter(only=("type=film",))))
    films = {i for i in catalogue.model.items_ if "film" in catalogue.card(i).facts["type"]}
    assert {r.item_id for r in only.recommend(k=40)} == listed & films
    assert only.hidden is not None
    assert only.shown(filtered=False).tolist() == (~only.hidden).tolist()


def test_a_list_without_profile_is_the_same_for_everybody(catalogue: Catalogue) -> None:
    known = State(
        history=("i1", "i4"), presses={"town=Ghent": 3}, balance=1.0, about=("age=young",)
    )
    off = PersonalModel(catalogue, replace(known, profiling=False))
    assert off.is_new
    assert list(off.viewed) == ["i1", "i4"]
    assert off.recommend(k=40) == PersonalModel(catalogue, State()).recommend(k=40)
    assert off.learned.values.tolist() == off.profile.values.tolist()
    # What is hidden or filtered stays so.
    limited = replace(known, profiling=False, hidden=("i7",), hidden_tags=("type=film",))
    listed = [r.item_id for r in PersonalModel(catalogue, limited).recommend(k=40)]
    plain = [r.item_id for r in off.recommend(k=40)]
    films = {i for i in plain if "film" in catalogue.card(i).facts["type"]}
    assert listed == [i for i in plain if i not in films | {"i7"}]


def test_the_newest_come_first_where_there_are_dates(events_folder: Path) -> None:
    catalogue = Catalogue(load(events_folder, Teaser))
    state = State(history=("e0001",), profiling=False, order="newest", hidden=("e0002",))
    session = PersonalModel(catalogue, state)
    assert session.is_by_date
    order = [catalogue.model.items_[i] for i in by_date(catalogue, catalogue.today)]
    found = [r.item_id for r in session.recommend(k=20)]
    assert found == [i for i in order if i != "e0002"][:20]
    assert not PersonalModel(catalogue, replace(state, profiling=True)).is_by_date


def test_a_catalogue_without_dates_is_ordered_by_appeal(catalogue: Catalogue) -> None:
    state = State(profiling=False, order="newest")
    assert not PersonalModel(catalogue, state).is_by_date
    assert (
        PersonalModel(catalogue, state).recommend() == PersonalModel(catalogue, State()).recommend()
    )

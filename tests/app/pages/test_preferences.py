"""The slider and the facts about a person, as pages show them and forms name them."""

from teaser import Tag, Teaser
from teaser.app.i18n.texts import texts_in
from teaser.app.pages.home import about_view, balance_view
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.state import State

EN = texts_in("en")


def test_a_slider_says_each_of_its_places(remainder_model: Teaser) -> None:
    session = PersonalModel(Catalogue(remainder_model), State(history=("i0",), balance=0.2))
    found = balance_view(session, EN)
    assert found is not None
    assert (found.value, found.can_move, len(found.labels)) == (0.2, True, 11)
    assert found.labels[0] == "my tags alone"
    assert found.labels[5] == "both, as learned"
    assert found.labels[10] == "people like me alone"
    assert found.label == found.labels[2]
    assert found.label.replace("\N{NARROW NO-BREAK SPACE}", "") == "tags 100%, people 40%"
    assert len(set(found.labels)) == 11


def test_nothing_moves_before_something_was_viewed(remainder_model: Teaser) -> None:
    catalogue = Catalogue(remainder_model)
    for history in ((), ("gone",)):
        found = balance_view(PersonalModel(catalogue, State(history=history, balance=1.0)), EN)
        assert found is not None
        assert not found.can_move


def test_a_plain_model_has_neither(model: Teaser) -> None:
    session = PersonalModel(Catalogue(model), State(history=("i0",), about=("age=young",)))
    assert balance_view(session, EN) is None
    assert about_view(session) == ()
    assert session.about == []


def test_facts_by_feature_with_what_was_chosen(people_model: Teaser) -> None:
    state = State(about=("age=young", "age=gone"))
    found = {fact.name: fact for fact in about_view(PersonalModel(Catalogue(people_model), state))}
    assert {tag.value for tag in found["age"].tags} == {"young", "old"}
    assert {tag.value for tag in found["sex"].tags} == {"F", "M"}
    assert found["age"].chosen == (Tag("age", "young"),)
    assert found["sex"].chosen == ()

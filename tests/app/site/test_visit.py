"""A moment: the state of now, and what the last action changed."""

import pytest

from teaser import Teaser
from teaser.app.http.identity import Visitor
from teaser.app.i18n.texts import texts_in
from teaser.app.people.events import Event, State, fold
from teaser.app.serving.catalogue import Catalogue
from teaser.app.site.visit import Moment

VISITOR = Visitor(None, texts_in("en"), "auto", False, False)


@pytest.fixture(scope="module")
def catalogue(model: Teaser) -> Catalogue:
    return Catalogue(model)


def test_without_an_action_nothing_is_told(catalogue: Catalogue) -> None:
    assert Moment(VISITOR, catalogue, State(), State(), None).tell() is None


def test_an_action_is_told_by_its_effect_on_the_list(catalogue: Catalogue, model: Teaser) -> None:
    event = Event("press", {"presses": {"town=Deinze": 3}})
    moment = Moment(VISITOR, catalogue, fold([event]), State(), event)
    told = moment.tell(k=5)
    assert told is not None
    after = [r.item_id for r in model.recommend([], {"town=Deinze": 3}, k=5)]
    assert list(told.change.moves) == after
    assert told.change == moment.tell(moment.session.recommend(k=5), k=5).change  # type: ignore[union-attr]


def test_filters_hold_before_and_after(catalogue: Catalogue) -> None:
    event = Event("press", {"presses": {"town=Deinze": 3}})
    moment = Moment(VISITOR, catalogue, fold([event]), State(), event)
    allowed = catalogue.allowed()
    allowed[3:] = False
    told = moment.tell(allowed=allowed)
    assert told is not None
    assert set(told.change.moves) == {"i0", "i1", "i2"}
    assert told.change.came == 0

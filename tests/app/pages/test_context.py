"""The context of a page: the present state, and what the last action changed."""

from teaser import Teaser
from teaser.app.i18n.texts import texts_in
from teaser.app.pages.context import PageContext
from teaser.app.pages.render import Visitor
from teaser.app.serving.catalogue import Catalogue
from teaser.app.state import Event, State, state_of

VISITOR = Visitor(None, texts_in("en"), "auto", False, False)


def test_without_an_action_there_is_no_summary(catalogue: Catalogue) -> None:
    assert PageContext(VISITOR, catalogue, State(), State(), None).summary() is None


def test_an_action_is_summarized_by_its_effect_on_the_list(
    catalogue: Catalogue, model: Teaser
) -> None:
    event = Event("press", {"presses": {"town=Deinze": 3}})
    context = PageContext(VISITOR, catalogue, state_of([event]), State(), event)
    summary = context.summary(k=5)
    assert summary is not None
    after = [r.item_id for r in model.recommend([], {"town=Deinze": 3}, k=5)]
    assert list(summary.change.moves) == after
    again = context.summary(context.personal.rank(k=5), k=5)
    assert again is not None
    assert summary.change == again.change


def test_filters_hold_before_and_after(catalogue: Catalogue) -> None:
    event = Event("press", {"presses": {"town=Deinze": 3}})
    context = PageContext(VISITOR, catalogue, state_of([event]), State(), event)
    allowed = catalogue.allowed()
    allowed[3:] = False
    summary = context.summary(allowed=allowed)
    assert summary is not None
    assert set(summary.change.moves) == {"i0", "i1", "i2"}
    assert summary.change.entered == 0

"""What a person may set beside presses: the balance of tags and people alike, facts about them."""

from dataclasses import dataclass

from teaser.app.i18n.texts import Texts
from teaser.app.serving.personal_model import Session
from teaser.app.site.view import say_balance
from teaser.data.tagging.tag import Tag

_STEPS = 10


@dataclass(frozen=True, slots=True)
class BalanceView:
    """The slider from tags to people alike.

    Attributes
    ----------
    value
        Where it stands, from 0 to 1.
    said
        What that means, in words.
    steps
        What each place means that it can be moved to, from 0 to 1.
    can_move
        Whether it changes anything: not before something was viewed.
    """

    value: float
    said: str
    steps: list[str]
    can_move: bool


@dataclass(frozen=True, slots=True)
class FactView:
    """A feature of people: what can be told, and what was."""

    name: str
    tags: list[Tag]
    chosen: list[Tag]


def balance_view(session: Session, texts: Texts) -> BalanceView | None:
    """Return the slider, or None where the model has nothing to balance."""
    if not session.catalogue.model.has_remainder:
        return None
    value = session.state.balance
    steps = [say_balance(step / _STEPS, texts) for step in range(_STEPS + 1)]
    return BalanceView(value, say_balance(value, texts), steps, session.can_balance)


def about_view(session: Session) -> list[FactView]:
    """Return what a person can tell about themselves: nothing if the model makes no use of it."""
    return [
        FactView(name, tags, [tag for tag in tags if tag in session.about])
        for name, tags in session.catalogue.user_features.items()
    ]

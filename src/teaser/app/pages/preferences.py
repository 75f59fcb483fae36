"""Preferences: language, theme, quick start and tour; and the settings shown on the home page."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from teaser.app.dependencies import catalogue_of, services_of
from teaser.app.http.cookies import LANGUAGE, LASTS, SKIPPED, THEME, remember
from teaser.app.http.form_text import FormText
from teaser.app.http.origin import local_path, need_own_origin
from teaser.app.i18n.texts import LANGUAGES, Texts
from teaser.app.pages.view.rendering import render
from teaser.app.pages.view.visitor import DURATIONS, THEMES, visitor_of
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.state import AS_FITTED
from teaser.data.tags import Tag
from teaser.errors import ParameterError, shortened
from teaser.profile import Steering

router = APIRouter()

_STEPS = 10
Field = Annotated[FormText, Form()]


@dataclass(frozen=True, slots=True)
class BalanceView:
    """The slider between tags and the items that similar users viewed.

    Attributes
    ----------
    value
        The position, from 0 to 1.
    label
        The position in words.
    labels
        Every position that can be chosen, in words.
    can_move
        Whether the slider changes anything; not before an item was viewed.
    """

    value: float
    label: str
    labels: tuple[str, ...]
    can_move: bool


@dataclass(frozen=True, slots=True)
class FactView:
    """A feature of users: its tags, and those that the visitor has chosen."""

    name: str
    tags: tuple[Tag, ...]
    chosen: tuple[Tag, ...]


def balance_view(personal: PersonalModel, texts: Texts) -> BalanceView | None:
    """Return the slider, or None if the model has no remainder."""
    if not personal.catalogue.model.has_remainder:
        return None
    value = personal.state.balance
    return BalanceView(
        value, describe_balance(value, texts), _balance_labels(texts), personal.can_balance
    )


@lru_cache(maxsize=len(LANGUAGES))
def _balance_labels(texts: Texts) -> tuple[str, ...]:
    return tuple(describe_balance(step / _STEPS, texts) for step in range(_STEPS + 1))


def describe_balance(balance: float, texts: Texts) -> str:
    """Describe how much tags count, and how much the viewed items count besides them."""
    steering = Steering(balance=balance)
    if steering.viewed_weight == 0:
        return texts("my tags alone")
    if steering.tags_weight == 0:
        return texts("people like me alone")
    if balance == AS_FITTED:
        return texts("both, as learned")
    return texts(
        "tags {tags}, people {people}",
        tags=texts.percent(steering.tags_weight),
        people=texts.percent(steering.viewed_weight),
    )


def about_view(personal: PersonalModel) -> tuple[FactView, ...]:
    """Return the facts that a visitor can give; none if the model has no user features."""
    return tuple(
        FactView(name, tuple(tags), tuple(tag for tag in tags if tag in personal.about))
        for name, tags in personal.catalogue.user_features.items()
    )


@router.post("/skip")
def skip(request: Request) -> Response:
    """Skip the quick start."""
    return _set_cookie(request, SKIPPED, "1", "/")


@router.post("/language")
def language(request: Request, language: Field, back: Field = "/") -> Response:
    """Choose the language of the pages."""
    if language not in LANGUAGES:
        raise ParameterError(
            f"Unknown language {shortened(language)!r}. Known: {', '.join(LANGUAGES)}."
        )
    return _set_cookie(request, LANGUAGE, language, back)


@router.post("/theme")
def theme(request: Request, theme: Field, back: Field = "/") -> Response:
    """Choose light or dark colours, or those of the system."""
    if theme not in THEMES:
        raise ParameterError(f"Unknown theme {shortened(theme)!r}. Known: {', '.join(THEMES)}.")
    return _set_cookie(request, THEME, theme, back)


@router.post("/lasts")
def lasts(request: Request, lasts: Field, back: Field = "/") -> Response:
    """Choose how long the next presses count."""
    if lasts not in DURATIONS:
        raise ParameterError(
            f"Unknown duration {shortened(lasts)!r}. Known: {', '.join(DURATIONS)}."
        )
    return _set_cookie(request, LASTS, lasts, back)


@router.get("/tour")
def tour(request: Request) -> Response:
    """Show the tour as a page."""
    visitor = visitor_of(request, with_person=False)
    has_balance = catalogue_of(request).model.has_remainder
    return render(request, visitor, "tour.html", title=visitor.texts("Tour"), balance=has_balance)


def _set_cookie(request: Request, name: str, value: str, back: str) -> Response:
    need_own_origin(request)
    response = RedirectResponse(local_path(back), 303)
    remember(response, services_of(request).settings, name, value)
    return response

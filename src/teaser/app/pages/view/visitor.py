"""The visitor behind a request: person, language, theme, and whether they skipped the start."""

from dataclasses import dataclass

from fastapi import Request

from teaser.app.dependencies import Services, services_of
from teaser.app.http.cookies import LANGUAGE, LASTS, SKIPPED, THEME, new_token, read_cookies
from teaser.app.http.identity import holder_of
from teaser.app.i18n.texts import Texts, choose_language, texts_in

THEMES = ("auto", "light", "dark")
DURATIONS = ("always", "week", "today")
FRAGMENT = "x-teaser-fragment"


@dataclass(frozen=True)
class Visitor:
    """What the headers of a request say about its sender.

    Attributes
    ----------
    person_id
        The person who holds the token in the cookie; None for a new visitor.
    texts
        The texts in the visitor's language.
    theme
        `auto`, `light` or `dark`.
    has_skipped
        Whether the visitor skipped the quick start.
    wants_fragment
        Whether the page's script asks for the parts that it replaces.
    lasts
        How long the visitor's next presses count: `always`, `week` or `today`.
    token
        The token in the cookie, if it belongs to a person or this server signed it.
    """

    person_id: str | None
    texts: Texts
    theme: str
    has_skipped: bool
    wants_fragment: bool
    lasts: str = "always"
    token: str | None = None


def visitor_of(
    request: Request, *, with_person: bool = True, trusts_signature: bool = False
) -> Visitor:
    """Return the visitor who made a request.

    `with_person=False` spares the query to the store; `trusts_signature` is that of `holder_of`.
    """
    services = services_of(request)
    cookies, store = read_cookies(request.cookies, services.settings), services.store
    token, person_id = None, None
    if with_person:
        token, person_id = holder_of(cookies, store, trusts_signature=trusts_signature)
    theme, lasts = cookies.get(THEME, "auto"), cookies.get(LASTS, "always")
    language = choose_language(cookies.get(LANGUAGE), request.headers.get("accept-language"))
    return Visitor(
        person_id=person_id,
        texts=texts_in(language),
        theme=theme if theme in THEMES else "auto",
        has_skipped=SKIPPED in cookies,
        wants_fragment=FRAGMENT in request.headers,
        lasts=lasts if lasts in DURATIONS else "always",
        token=token,
    )


def ensure_person(visitor: Visitor, services: Services) -> tuple[str, str | None]:
    """Return the visitor's person and, if it was just created, the token for the cookie."""
    if visitor.person_id is not None:
        return visitor.person_id, None
    token = visitor.token or new_token(services.store.signing_key)
    return services.store.create_person(token=token)

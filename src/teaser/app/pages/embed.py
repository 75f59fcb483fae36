"""The list in pages of other sites: its script, and the values that the script draws.

Nothing is stored here. The page keeps what its visitor pressed and opened, and sends it along.
"""

from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse
from pydantic import Field

from teaser.app.api.requests import BodySchema, Ids, K, NewFilters, Press, Share
from teaser.app.brand import CACHED
from teaser.app.catalogue import PersonalModel, read_filters
from teaser.app.http import EMBED, EMBED_SCRIPT, StoreRoute, catalogue_of, own_origin, without_store
from teaser.app.i18n.texts import Texts, choose_language, texts_in
from teaser.app.pages.render import path_part
from teaser.app.state import LIMITS, NO_FILTER, State, check_filters
from teaser.data.tags import Tag
from teaser.explain import AnyReason, Reason, ViewedReason

router = APIRouter(route_class=StoreRoute)

# The reasons that are shown of an item.
_REASONS = 3
_SCRIPT = Path(__file__).parent / "static" / "embed.js"


class EmbedRequest(BodySchema):
    """What a visitor of another site pressed and opened, and which list the page shows."""

    history: Ids = Field(default=[])
    presses: list[Press] = Field(default=[], max_length=LIMITS["pressed tags"])
    filters: NewFilters = NewFilters()
    variety: Share = 0.0
    k: K = 6
    language: Literal["", "en", "nl", "fr"] = ""


@router.get(EMBED_SCRIPT)
async def embed_script() -> FileResponse:
    """Return the script that shows the list."""
    return FileResponse(_SCRIPT, media_type="text/javascript", headers=CACHED)


@router.options(EMBED, status_code=204)
async def may_embed() -> None:
    """Let browsers ask whether a page may send the request; headers say so."""


@router.post(EMBED)
@without_store
def embedded_list(request: Request, asked: EmbedRequest) -> dict[str, Any]:
    """Return the list that the site would show, with reasons in the visitor's language.

    Items and tags that the model does not have any more are ignored; a filter that it does not
    have is refused.
    """
    catalogue = catalogue_of(request)
    accepted = request.headers.get("accept-language")
    texts = texts_in(asked.language or choose_language(None, accepted))
    given = check_filters(asked.filters.model_dump(exclude_defaults=True))
    state = State(
        history=tuple(dict.fromkeys(asked.history)),
        presses={press.tag: press.steps for press in asked.presses if press.steps},
        variety=asked.variety,
        filters=read_filters(catalogue, given, NO_FILTER),
    )
    personal = PersonalModel(catalogue, state)
    items = []
    for entry in personal.entries(personal.rank(k=asked.k)):
        card = catalogue.card(entry.item_id)
        own_page = f"{own_origin(request)}/item/{path_part(entry.item_id)}"
        reasons = [_reason(r, personal, texts) for r in entry.reasons if r.share > 0]
        # Nothing is a reason yet for somebody new, who can press the item's own tags.
        firsts = [Tag(name, values[0]) for name, values in card.facts.items()]
        offered = [_pressable(tag, personal, texts) for tag in firsts]
        items.append(
            {
                "item_id": entry.item_id,
                "title": card.title,
                "link": card.link or own_page,
                "date": texts.date(card.date) if card.date else None,
                "match": texts.percent(entry.match),
                "reasons": (reasons or offered)[:_REASONS],
            }
        )
    said = {
        "title": texts("For you"),
        "more": texts("More of {tag}"),
        "less": texts("Less of {tag}"),
        "again": texts("Start again"),
        "empty": texts("Nothing here has all of this. Take something off."),
    }
    return {"language": texts.language, "items": items, "texts": said}


def _reason(reason: AnyReason, personal: PersonalModel, texts: Texts) -> dict[str, Any]:
    """Return a reason for a reader; `tag` is what + and - press, None where there is nothing."""
    share = texts.percent(reason.share)
    if isinstance(reason, Reason):
        return {**_pressable(reason.tag, personal, texts), "share": share}
    if isinstance(reason, ViewedReason):
        said = "because you disliked {title}" if reason.disliked else "because you viewed {title}"
        label = texts(said, title=reason.title or reason.item_id)
    else:
        label = str(reason.name)
    return {"tag": None, "label": label, "share": share, "presses": 0}


def _pressable(tag: Tag, personal: PersonalModel, texts: Texts) -> dict[str, Any]:
    """Return a tag for a reader, with its net presses; no share is known of it."""
    steps = personal.presses.get(tag, 0)
    return {"tag": str(tag), "label": texts.full_tag(tag), "share": None, "presses": steps}

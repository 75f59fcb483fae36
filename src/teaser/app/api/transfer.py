"""Routes that carry a person's data: export, import, and links."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Request
from fastapi.responses import Response, StreamingResponse

from teaser.app.actions import act
from teaser.app.api.auth import check_reader
from teaser.app.api.people import PersonId
from teaser.app.api.schema import person_responses
from teaser.app.api.schema.person_requests import GivenExport, NewShare
from teaser.app.dependencies import catalogue_of, limit_imports, services_of, store_of, uses_store

router = APIRouter(prefix="/people", tags=["people"], dependencies=[Depends(check_reader)])

ShareId = Annotated[
    str, Path(pattern="^[0-9a-f]{16}$", description="As `POST /people/{person_id}/shares` gave it.")
]
_WHOLE_PROFILE = NewShare()


@router.get("/{person_id}/export", response_model=person_responses.Export)
@uses_store
def export_person(request: Request, person_id: PersonId) -> Response:
    """Return all that is stored for a person: since when, links in use, every action; the state.

    The response is sent in pieces, and its length is not told beforehand.
    """
    found = person_responses.export_of(store_of(request), person_id, catalogue_of(request))
    pieces = services_of(request).threads.iterate(found)
    return StreamingResponse(pieces, media_type="application/json")


@router.post("/{person_id}/import")
@uses_store
def import_person(
    request: Request, person_id: PersonId, asked: GivenExport
) -> person_responses.Imported:
    """Replace a person's state by that of an export, of this server or of another; undo ends it.

    Only `state` of the export is read. `unmatched` are the names that the model does not have.
    """
    limit_imports(request, person_id)
    catalogue = catalogue_of(request)
    done = act(store_of(request), person_id, asked.event(), catalogue)
    return person_responses.Imported.after(person_id, done.after, catalogue)


@router.post("/{person_id}/shares", status_code=201)
@uses_store
def share(
    request: Request, person_id: PersonId, asked: Annotated[NewShare, Body()] = _WHOLE_PROFILE
) -> person_responses.NewLink:
    """Make a link that shows the current state, or one list; only this response contains it.

    A link to a list shows its presses, filters, balance and variety, never the history.
    """
    token, made = store_of(request).make_share(person_id, asked.feed)
    link = person_responses.Link.of(made)
    return person_responses.NewLink(**link.model_dump(), path=f"/s/{token}")


@router.get("/{person_id}/shares")
@uses_store
def list_shares(request: Request, person_id: PersonId) -> person_responses.Links:
    """Return the links of a person that are in use."""
    found = store_of(request).shares(person_id)
    return person_responses.Links(shares=[person_responses.Link.of(share) for share in found])


@router.delete("/{person_id}/shares/{share_id}", status_code=204)
@uses_store
def revoke_share(request: Request, person_id: PersonId, share_id: ShareId) -> None:
    """End a link: from now on it shows nothing."""
    store_of(request).revoke_share(person_id, share_id)

"""A fitted model as the application shows it: cards, filters; replaced without a pause."""

import base64
import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser import artifact
from teaser.app.serving.private_copy import load_kept, load_private
from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag
from teaser.errors import TeaserError
from teaser.model.teaser import Teaser
from teaser.profile import POPULARITY

log = logging.getLogger("teaser")


@dataclass(frozen=True)
class Card:
    """What is shown of an item; whatever the data do not have is None.

    Attributes
    ----------
    facts
        The values of its tags, by feature.
    """

    item_id: ItemId
    title: str
    description: str | None
    link: str | None
    date: date | None
    has_picture: bool
    facts: Mapping[str, tuple[str, ...]]


class Catalogue:
    """Items and tags of one model, ready to be shown and narrowed."""

    def __init__(self, model: Teaser) -> None:
        self.model = model
        self._roles = model.rules_.roles

    def card(self, item_id: ItemId) -> Card:
        """Return what is shown of an item."""
        place = self.model.items_.index_of(item_id)
        row = slice(self.model.decoder_.indptr[place], self.model.decoder_.indptr[place + 1])
        facts: dict[str, tuple[str, ...]] = {}
        for column in self.model.decoder_.indices[row].tolist():
            tag = self.model.tags_[column]
            if tag != POPULARITY:
                facts[tag.feature] = (*facts.get(tag.feature, ()), tag.value)
        return Card(
            item_id=self.model.items_[place],
            title=self.model.title(place) or str(self.model.items_[place]),
            description=self._cell("description", place),
            link=_safe_link(self._cell("link", place)),
            date=self.dates[place] if self.dates is not None else None,
            has_picture=self.picture(self.model.items_[place]) is not None,
            facts=facts,
        )

    def picture(self, item_id: ItemId) -> tuple[str, bytes] | str | None:
        """Return an item's picture: (media type, bytes) that the data hold, or an address."""
        cell = self._cell("picture", self.model.items_.index_of(item_id))
        if cell is None:
            return None
        if cell.lstrip().startswith("<svg"):
            return "image/svg+xml", cell.encode()
        if cell.startswith("data:image/") and ";base64," in cell:
            kind, _, body = cell.removeprefix("data:").partition(";base64,")
            try:
                return kind, base64.b64decode(body, validate=True)
            except ValueError:
                return None
        return cell if cell.startswith("https://") else None

    def allowed(
        self, tags: Iterable[Tag] = (), *, first: date | None = None, last: date | None = None
    ) -> NDArray[np.bool_]:
        """Tell which items carry one of the tags of each feature named, within the dates."""
        mask = np.ones(len(self.model.items_), dtype=bool)
        by_feature: dict[str, list[int]] = {}
        index = self.tag_index
        for tag in tags:
            by_feature.setdefault(tag.feature, []).extend([index[tag]] if tag in index else [])
        for columns in by_feature.values():
            mask &= np.diff(self.model.decoder_[:, columns].indptr) > 0
        if self.dates is not None and (first or last):
            mask &= np.array(
                [d is not None and (first or d) <= d <= (last or d) for d in self.dates], dtype=bool
            )
        return mask

    @cached_property
    def dates(self) -> list[date | None] | None:
        """The date of each item, where the data have dates."""
        column = self._roles.get("date")
        if column is None:
            return None
        cells = self.model.table_[column]
        if cells.dtype == pl.String:
            cells = cells.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
        return cells.cast(pl.Date, strict=False).to_list()

    @cached_property
    def tag_index(self) -> dict[Tag, int]:
        """The position of every tag of the model."""
        return {tag: i for i, tag in enumerate(self.model.tags_)}

    @cached_property
    def user_tag_index(self) -> dict[Tag, int]:
        """The position of every tag of people of the model; empty if it knows none."""
        return {tag: i for i, tag in enumerate(self.model.user_tags_)}

    @cached_property
    def user_features(self) -> dict[str, list[Tag]]:
        """The tags of people, by feature, in the order of the data."""
        found: dict[str, list[Tag]] = {}
        for tag in self.model.user_tags_:
            found.setdefault(tag.feature, []).append(tag)
        return found

    @cached_property
    def tag_sizes(self) -> NDArray[Any]:
        """How many items carry each tag."""
        return np.bincount(self.model.decoder_.indices, minlength=len(self.model.tags_))

    @cached_property
    def features(self) -> dict[str, list[Tag]]:
        """The tags of each feature, the commonest first; popularity is not among them."""
        order = np.argsort(-self.tag_sizes, kind="stable").tolist()
        found: dict[str, list[Tag]] = {}
        for i in order:
            if self.model.tags_[i] != POPULARITY:
                found.setdefault(self.model.tags_[i].feature, []).append(self.model.tags_[i])
        return found

    def _cell(self, role: str, place: int) -> str | None:
        column = self._roles.get(role)
        found = self.model.table_[column][place] if column else None
        return str(found) if found is not None and str(found).strip() else None


class Holder:
    """The catalogue that is served, and a way to replace it while requests go on.

    A request takes `current` once and keeps it to its end. The model is a private copy (see
    `teaser.app.serving.private_copy`), so that its folder may be cut, changed or removed.

    Parameters
    ----------
    folder
        The model's folder.
    room, base
        Where its copy is kept, see `teaser.app.snapshot.load_private`.

    Attributes
    ----------
    trouble
        Why the folder as it is now is not what is served; None if it is.
    """

    def __init__(self, folder: Path, *, room: Path | None = None, base: Path | None = None) -> None:
        self.folder = folder
        self.trouble: str | None = None
        self._places = {"room": room, "base": base}
        self._lock = threading.Lock()
        self._stamp = _stamp(folder)
        try:
            self.current = self._load()
        except TeaserError as error:
            kept = load_kept(room) if room else None
            if kept is None:
                raise
            self._complain(error)  # a process that begins anew goes on with what the others serve
            self.current = Catalogue(kept)

    def refresh(self, *, force: bool = False) -> bool:
        """Load the folder again if it changed; a damaged one leaves the present one in place."""
        with self._lock:
            stamp = _stamp(self.folder)
            if not force and stamp == self._stamp:
                return False
            self._stamp = stamp
            try:
                self.current = self._load()
            except TeaserError as error:
                self._complain(error)
                if force:
                    raise
                return False
            self.trouble = None
            return True

    def _load(self) -> Catalogue:
        if self._places["room"] is not None:
            artifact.verify(self.folder)  # others may have copied it before it was harmed
        return Catalogue(load_private(self.folder, **self._places))

    def _complain(self, error: TeaserError) -> None:
        self.trouble = str(error)
        log.error("the model's folder cannot be used, the present model stays: %s", error)


def _stamp(folder: Path) -> tuple[tuple[int, int, int] | None, ...]:
    """Return what changes when the manifest or a file that it names is replaced, cut or mended."""
    try:
        named = artifact.read_manifest(folder)["files"].values()
        names = [Path(str(entry["name"])).name for entry in named]
    except (TeaserError, KeyError, TypeError, AttributeError):
        names = []  # no model; its manifest alone tells when it may be one again
    return tuple(_stamp_of(folder / name) for name in (artifact.MANIFEST, *names))


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _safe_link(text: str | None) -> str | None:
    """Return an address of the web, and nothing that a browser would run."""
    return text if text is not None and text.startswith(("https://", "http://")) else None

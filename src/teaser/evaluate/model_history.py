"""The models of a folder: those that were served, candidates with their reports, and rollback.

    MODEL.history/
      lock            held while a refit or a rollback runs
      0003/entry.json what is known of model 3
      0003/model/     a copy of the model, while it is among the last ones

An entry is made in a folder of another name and renamed into place. Models are copies: a file that
is damaged in MODEL would be damaged in a hard link too.
"""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from teaser import artifact
from teaser.errors import ArtifactError, ParameterError
from teaser.model import load
from teaser.model.teaser import Teaser

KEEP = 5
FITTED, ACCEPTED, REFUSED, FORCED = "fitted", "accepted", "refused", "forced"
_MOST_ENTRIES = 100
_ENTRY, _MODEL, _LOCK = "entry.json", "model", "lock"
_UNFINISHED = ".unfinished-"


@dataclass(frozen=True)
class Entry:
    """One model of a history.

    Attributes
    ----------
    number
        Its number, from 1.
    made_at
        When it was put into the history, in ISO 8601 and UTC.
    verdict
        `"fitted"` for a model that was in the folder before, else the verdict on the candidate:
        `"accepted"`, `"refused"`, or `"forced"`, accepted in spite of the reasons.
    checksum
        That of its manifest, by which the served model is recognised.
    reasons
        Why it was refused, or should have been.
    facts
        Numbers: items, tags, bytes; of a candidate also users, interactions, visitors, views.
    views_until
        The moment, in unix seconds, up to which views of the site taught it; None for none.
    report
        What was measured of a candidate.
    """

    number: int
    made_at: str
    verdict: str
    checksum: str
    reasons: tuple[str, ...] = ()
    facts: Mapping[str, int] = field(default_factory=dict)
    views_until: float | None = None
    report: Mapping[str, Any] = field(default_factory=dict)


class ModelHistory:
    """The history of the model in a folder.

    Parameters
    ----------
    model
        The model's folder; its history is beside it.
    """

    def __init__(self, model: str | Path) -> None:
        self.model = Path(os.path.abspath(model))
        self.folder = self.model.with_name(f"{self.model.name}.history")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Work alone on the history; what a killed process left unfinished is removed.

        Raises
        ------
        ArtifactError
            If another refit or rollback is running.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = (self.folder / _LOCK).open("ab")
        except OSError as error:
            raise ArtifactError(f"{self.folder} could not be written: {error}.") from error
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ArtifactError(
                    f"Another refit or rollback of {self.model} is running. Wait until it ends."
                ) from None
            for left in self.folder.glob(f"{_UNFINISHED}*"):
                shutil.rmtree(left, ignore_errors=True)
            yield

    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first."""
        if not self.folder.is_dir():
            return []
        places = [p for p in self.folder.iterdir() if re.fullmatch(r"\d{4,}", p.name)]
        return [_read(place) for place in sorted(places, key=lambda place: int(place.name))]

    def entry(self, number: int) -> Entry:
        """Return the entry of a number."""
        found = {each.number: each for each in self.entries()}
        if number not in found:
            known = ", ".join(map(str, found)) or "none"
            raise ParameterError(f"{self.model} has no model {number}. Known: {known}.")
        return found[number]

    def served(self) -> Entry | None:
        """Return the entry whose model is in the folder; None if it has none."""
        try:
            checksum = artifact.read_manifest(self.model)["checksum"]
        except ArtifactError:
            return None
        same = [each for each in self.entries() if each.checksum == checksum]
        return same[-1] if same else None

    def model_folder(self, entry: Entry) -> Path:
        """Return where the copy of a model is, whether it is kept or not."""
        return self._place(entry) / _MODEL

    def is_kept(self, entry: Entry) -> bool:
        """Return whether there is a copy of a model still."""
        return (self.model_folder(entry) / artifact.MANIFEST).is_file()

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """Yield where to save a model that `add` takes; the folder is removed at the end."""
        room = self.folder / f"{_UNFINISHED}{uuid4().hex}"
        room.mkdir()
        try:
            yield room / _MODEL
        finally:
            shutil.rmtree(room, ignore_errors=True)

    def add(self, draft: Path, verdict: str, **known: Any) -> Entry:
        """Put the model of a draft into the history.

        Parameters
        ----------
        known
            The other attributes of its entry.
        """
        number = max((each.number for each in self.entries()), default=0) + 1
        checksum = artifact.read_manifest(draft)["checksum"]
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Entry(number, made_at, verdict, checksum, **known)
        (draft.parent / _ENTRY).write_text(json.dumps(asdict(entry), indent=1), encoding="utf-8")
        draft.parent.rename(self._place(entry))
        return _read(self._place(entry))

    def add_present(self) -> None:
        """Put the model in the folder into the history, unless it is there or cannot be read."""
        served = self.served()
        if served is not None and self.is_kept(served):
            return
        try:
            facts = model_facts(load(self.model, Teaser), self.model)
        except ArtifactError:
            return
        with self.draft() as draft:
            artifact.copy(self.model, draft)
            self.add(draft, FITTED, facts=facts)

    def publish(self, entry: Entry) -> None:
        """Put a model into the folder, by one rename of its manifest."""
        if not self.is_kept(entry):
            kept = [str(each.number) for each in self.entries() if self.is_kept(each)]
            raise ParameterError(
                f"Model {entry.number} is not kept any more. Kept: {', '.join(kept) or 'none'}."
            )
        artifact.copy(self.model_folder(entry), self.model)

    def roll_back(self, number: int) -> Entry:
        """Bring a model back into the folder; the one that is there stays in the history."""
        self.entry(number)  # a number that is not known leaves no folder behind
        with self.locked():
            entry = self.entry(number)
            self.add_present()
            self.publish(entry)
        return entry

    def prune(self, keep: int = KEEP) -> None:
        """Remove the copies of all but the last models, and the oldest entries.

        The served model and the last one that was refused are kept besides.
        """
        entries, served = self.entries(), self.served()
        refused = [each for each in entries if each.verdict == REFUSED]
        others = [each for each in entries if each.verdict != REFUSED]
        kept = [*others[-keep:], *refused[-1:], served]
        gone = [each for each in entries if each not in kept]
        for each in filter(self.is_kept, gone):
            self._remove(self.model_folder(each))
        for each in entries[:-_MOST_ENTRIES]:
            if each in gone:
                self._remove(self._place(each))

    def disk_bytes(self) -> int:
        """Return what the copies of models take on disk."""
        kept = (self.model_folder(each) for each in self.entries() if self.is_kept(each))
        return sum(map(artifact.saved_bytes, kept))

    def _place(self, entry: Entry) -> Path:
        return self.folder / f"{entry.number:04d}"

    def _remove(self, path: Path) -> None:
        """Remove a folder; a name of something unfinished first, should the process be killed."""
        away = self.folder / f"{_UNFINISHED}{uuid4().hex}"
        path.rename(away)
        shutil.rmtree(away, ignore_errors=True)


def model_facts(model: Teaser, folder: Path) -> dict[str, int]:
    """Return the numbers that are known of every model."""
    size = artifact.saved_bytes(folder)
    return {"items": len(model.items_), "tags": len(model.tags_), "bytes": size}


def _read(path: Path) -> Entry:
    try:
        known = json.loads((path / _ENTRY).read_text(encoding="utf-8"))
        return Entry(**{**known, "reasons": tuple(known["reasons"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ArtifactError(f"{path} is damaged: {error}. Move it away.") from error

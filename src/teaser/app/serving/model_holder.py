"""The model being served, and its replacement while requests go on."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import tzinfo
from pathlib import Path

from teaser import artifact
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.memory import return_memory
from teaser.app.serving.private_copy import is_refusal, load_kept, load_private
from teaser.errors import ArtifactError, TeaserError
from teaser.model.teaser import Teaser

log = logging.getLogger("teaser")


class ModelHolder:
    """The catalogue being served; `refresh` replaces it when the model's folder changes.

    A request reads `current` once and uses it to its end. The model is a private copy (see
    `teaser.app.serving.private_copy`), so its folder may be changed or removed at any time.
    Only an application in a process of its own replaces it here: workers are replaced as a whole
    (see `teaser.app.process.workers`).

    Parameters
    ----------
    folder
        The model's folder.
    model
        The model to serve. By default it is the copy that `shared_folder` keeps, or else that of
        the folder.
    shared_folder, base
        Where the copy is kept, see `load_private`.
    boost
        What the site adds to scores. A model that does not have all of it is not served.
    zone
        The time zone of the site's days.
    warm_up
        Is given each new catalogue before `refresh` serves it, and fills its caches, step by step:
        each next value of what it returns is a step. A catalogue that it fails on is not served.

    Attributes
    ----------
    current
        The catalogue being served.
    load_error
        Why the folder cannot be served as it is now; None if it is what is served.
    written_at, loaded_at
        When the served model was written and when it was taken up, in seconds since 1970.
    """

    def __init__(
        self,
        folder: Path,
        *,
        model: Teaser | None = None,
        shared_folder: Path | None = None,
        base: Path | None = None,
        boost: Mapping[str, float] | None = None,
        zone: tzinfo | None = None,
        warm_up: Callable[[Catalogue], Iterable[object]] = lambda catalogue: (),
    ) -> None:
        self.folder = folder
        self.boost = dict(boost or {})
        self._zone = zone
        self.load_error: str | None = None
        self._shared = shared_folder
        self._base = base
        self._warm_up = warm_up
        self._lock = threading.Lock()
        self._stamp = folder_stamp(folder)
        self.written_at, self.loaded_at = _written_at(folder), time.time()
        if model is None and shared_folder is not None and (kept := load_kept(shared_folder)):
            model, self.written_at = kept
        self.current = self._load(model)

    def refresh(self, *, force: bool = False) -> bool:
        """Load the folder again if it changed, and return whether a new model is served.

        If the folder is damaged the present model stays; with `force` the error is raised. If
        there was no room for a copy, the next call tries again.
        """
        with self._lock:
            stamp = folder_stamp(self.folder)
            if not force and stamp == self._stamp:
                return False
            self._stamp, written_at = stamp, _written_at(self.folder)
            try:
                catalogue = self._load()
                fill_caches(self.folder, self._warm_up(catalogue))
                self.current = catalogue
            except TeaserError as error:
                self._record(error)
                if is_refusal(error):
                    self._stamp = ()
                if force:
                    raise
                return False
            self.written_at, self.loaded_at = written_at, time.time()
            self.load_error = None
            return_memory()  # of the model before, and of what loading took
            return True

    def _load(self, model: Teaser | None = None) -> Catalogue:
        if model is None:
            model = load_private(self.folder, shared_folder=self._shared, base=self._base)
        return Catalogue(model, self.boost, zone=self._zone)

    def _record(self, error: TeaserError) -> None:
        """Remember and log an error; the want of room for a copy is logged once."""
        if str(error) != self.load_error or not is_refusal(error):
            log.error("%s: %s", REFUSED, error)
        self.load_error = str(error)


REFUSED = "the model's folder cannot be used, the present model stays"


def fill_caches(folder: Path, steps: Iterable[object]) -> None:
    """Take all steps of filling the caches of a model; what fails is the fault of its folder."""
    try:
        for _ in steps:
            pass
    except Exception as error:
        raise ArtifactError(
            f"{folder} can be read, but its pages cannot be made: {error!r}."
        ) from error


def folder_stamp(folder: Path) -> tuple[tuple[int, int, int] | None, ...]:
    """Return times, inodes and sizes of the manifest and the files that it names."""
    try:
        named = artifact.read_manifest(folder)["files"].values()
        names = [Path(str(entry["name"])).name for entry in named]
    except (TeaserError, KeyError, TypeError, AttributeError):
        names = []  # not a model now; a new manifest changes the stamp
    return tuple(_file_stamp(folder / name) for name in (artifact.MANIFEST, *names))


def _written_at(folder: Path) -> float:
    """Return when a model was written: its manifest is written last."""
    found = _file_stamp(folder / artifact.MANIFEST)
    return found[0] / 1e9 if found else time.time()


def _file_stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size

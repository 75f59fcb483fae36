"""The model being served, and its replacement while requests go on."""

import logging
import threading
from collections.abc import Mapping
from pathlib import Path

from teaser import artifact
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.private_copy import load_kept, load_private
from teaser.errors import TeaserError

log = logging.getLogger("teaser")


class ModelHolder:
    """The catalogue being served; `refresh` replaces it when the model's folder changes.

    A request reads `current` once and uses it to its end. The model is a private copy (see
    `teaser.app.serving.private_copy`), so its folder may be changed or removed at any time.

    Parameters
    ----------
    folder
        The model's folder.
    shared_folder, base
        Where the copy is kept, see `load_private`.
    boost
        What the site adds to scores. A model that does not have all of it is not served.

    Attributes
    ----------
    current
        The catalogue being served.
    load_error
        Why the folder cannot be served as it is now; None if it is what is served.
    """

    def __init__(
        self,
        folder: Path,
        *,
        shared_folder: Path | None = None,
        base: Path | None = None,
        boost: Mapping[str, float] | None = None,
    ) -> None:
        self.folder = folder
        self.boost = dict(boost or {})
        self.load_error: str | None = None
        self._shared = shared_folder
        self._base = base
        self._lock = threading.Lock()
        self._stamp = _stamp(folder)
        try:
            self.current = self._load()
        except TeaserError as error:
            # A restarted worker continues with the copy that the other workers serve.
            kept = load_kept(shared_folder) if shared_folder else None
            if kept is None:
                raise
            self._record(error)
            self.current = Catalogue(kept, self.boost)

    def refresh(self, *, force: bool = False) -> bool:
        """Load the folder again if it changed, and return whether a new model is served.

        If the folder is damaged the present model stays; with `force` the error is raised.
        """
        with self._lock:
            stamp = _stamp(self.folder)
            if not force and stamp == self._stamp:
                return False
            self._stamp = stamp
            try:
                self.current = self._load()
            except TeaserError as error:
                self._record(error)
                if force:
                    raise
                return False
            self.load_error = None
            return True

    def _load(self) -> Catalogue:
        if self._shared is not None:
            # The shared copy may be older than damage to the folder.
            artifact.verify(self.folder)
        model = load_private(self.folder, shared_folder=self._shared, base=self._base)
        return Catalogue(model, self.boost)

    def _record(self, error: TeaserError) -> None:
        self.load_error = str(error)
        log.error("the model's folder cannot be used, the present model stays: %s", error)


def _stamp(folder: Path) -> tuple[tuple[int, int, int] | None, ...]:
    """Return times, inodes and sizes of the manifest and the files that it names."""
    try:
        named = artifact.read_manifest(folder)["files"].values()
        names = [Path(str(entry["name"])).name for entry in named]
    except (TeaserError, KeyError, TypeError, AttributeError):
        names = []  # not a model now; a new manifest changes the stamp
    return tuple(_file_stamp(folder / name) for name in (artifact.MANIFEST, *names))


def _file_stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size

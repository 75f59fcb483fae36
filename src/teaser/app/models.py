"""The model being served: loaded, watched, and replaced while requests go on."""

import ctypes
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from teaser import artifact
from teaser.app.catalogue import Catalogue
from teaser.app.settings import Settings
from teaser.errors import ArtifactError, ResourceError, TeaserError
from teaser.model import Teaser, load

log = logging.getLogger("teaser")

_WATCH_SECONDS = 2.0


class ModelHolder:
    """The catalogue being served; `refresh` replaces it when the model's folder changes.

    A request reads `current` once and uses it to its end. A new model is loaded and tried first,
    then one reference is swapped. A model that cannot be served is refused, and the present one
    stays.

    Parameters
    ----------
    settings
        The model's folder, what the site adds to scores, and its time zone.
    model
        A model that is loaded already.

    Attributes
    ----------
    current
        The catalogue being served.
    load_error
        Why the folder cannot be served as it is now; None if it is what is served.
    written_at, loaded_at
        When the served model was written and when it was loaded, in seconds since 1970.
    """

    def __init__(self, settings: Settings, model: Teaser | None = None) -> None:
        self.settings = settings
        self.folder = settings.model
        self.load_error: str | None = None
        self._lock = threading.Lock()
        self._stamp = manifest_stamp(self.folder)
        self.current = self._load(model)

    def refresh(self, *, force: bool = False) -> bool:
        """Load the folder again if it changed, and return whether a new model is served.

        If the folder cannot be served the present model stays; with `force` the error is raised,
        and `ResourceError` if a model is being loaded already.
        """
        if not self._lock.acquire(blocking=not force):
            raise ResourceError(
                "A model is being loaded already. Ask again when it is served.", problem="loading"
            )
        try:
            stamp = manifest_stamp(self.folder)
            if not force and stamp == self._stamp:
                return False
            self._stamp = stamp
            try:
                self.current = self._load()
            except TeaserError as error:
                self.load_error = str(error)
                log.error("the model's folder cannot be used, the present model stays: %s", error)
                if force:
                    raise
                return False
            self.load_error = None
            log.info("a new model is served")
        finally:
            self._lock.release()
        _return_memory()
        return True

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look every two seconds, in a thread, whether the folder changed."""
        end = threading.Event()

        def watch() -> None:
            while not end.wait(_WATCH_SECONDS):
                self.refresh()

        thread = threading.Thread(target=watch, name="model watcher", daemon=True)
        thread.start()
        try:
            yield
        finally:
            end.set()

    def _load(self, model: Teaser | None = None) -> Catalogue:
        """Load the folder and try the model; what fails is the fault of the folder."""
        settings = self.settings
        try:
            model = model or _load_teaser(self.folder)
            catalogue = Catalogue(model, settings.boosts, zone=settings.zone)
            model.recommend([model.items_[0]], k=1)
        except TeaserError:
            raise
        except Exception as error:
            raise ArtifactError(
                f"{self.folder} can be read, but its model cannot be used: {error!r}."
            ) from error
        self.loaded_at = time.time()
        self.written_at = self._stamp[0] / 1e9 if self._stamp else self.loaded_at
        return catalogue


def _load_teaser(folder: Path) -> Teaser:
    kind = artifact.read_manifest(folder)["kind"]
    if kind == "dataset":
        raise ArtifactError(
            f"{folder} holds a data set, and the site needs a model. Fit one to it first: "
            f"teaser fit {folder} --out MODEL, then teaser serve MODEL."
        )
    return load(folder, Teaser)


def manifest_stamp(folder: Path) -> tuple[int, int, int] | None:
    """Return time, inode and size of the manifest, which is written last; None without one."""
    with suppress(OSError):
        found = (folder / artifact.MANIFEST).stat()
        return found.st_mtime_ns, found.st_ino, found.st_size
    return None


def _return_memory() -> None:
    """Give the memory of the replaced model back to the system, where the C library is glibc."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)

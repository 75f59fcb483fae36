"""The model being served, and its replacement while requests go on."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path

from teaser import artifact
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.memory import return_memory
from teaser.app.serving.private_copy import is_refusal, load_kept, load_private, taking_turns
from teaser.errors import ArtifactError, TeaserError

log = logging.getLogger("teaser")
# While a model is taken up, this thread pauses after each step for so many times the processor time
# that the step took: requests then have most of the interpreter.
_REST = 4.0


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
    zone
        The time zone of the site's days.
    warm_up
        Is given each new catalogue before it is served, and fills its caches, step by step: each
        next value of what it returns is a step. A catalogue that it fails on is not served.

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
        self._stamp = _stamp(folder)
        self.written_at, self.loaded_at = _written_at(folder), time.time()
        try:
            self.current = self._load()
        except TeaserError as error:
            # A restarted worker continues with the copy that the other workers serve.
            kept = load_kept(shared_folder) if shared_folder else None
            if kept is None:
                raise
            self._record(error)
            self.current = Catalogue(kept, self.boost, zone=self._zone)

    def refresh(self, *, force: bool = False) -> bool:
        """Load the folder again if it changed, and return whether a new model is served.

        If the folder is damaged the present model stays; with `force` the error is raised. If
        there was no room for a copy, the next call tries again. It takes its time, for the sake of
        the requests meanwhile; the processes of one server do it one after the other.
        """
        with self._lock:
            stamp = _stamp(self.folder)
            if not force and stamp == self._stamp:
                return False
            self._stamp, written_at = stamp, _written_at(self.folder)
            try:
                with taking_turns(self._shared):
                    with _resting():
                        catalogue = self._load()
                    self._warm(catalogue)
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

    def _load(self) -> Catalogue:
        if self._shared is not None:
            # The shared copy may be older than damage to the folder.
            artifact.verify(self.folder)
        model = load_private(self.folder, shared_folder=self._shared, base=self._base)
        return Catalogue(model, self.boost, zone=self._zone)

    def _warm(self, catalogue: Catalogue) -> None:
        try:
            steps = iter(self._warm_up(catalogue))
            while True:
                with _resting():
                    if next(steps, _END) is _END:
                        return
        except Exception as error:
            raise ArtifactError(
                f"{self.folder} can be read, but its pages cannot be made: {error!r}."
            ) from error

    def _record(self, error: TeaserError) -> None:
        """Remember and log an error; the want of room for a copy is logged once."""
        if str(error) != self.load_error or not is_refusal(error):
            log.error("the model's folder cannot be used, the present model stays: %s", error)
        self.load_error = str(error)


_END = object()


@contextmanager
def _resting() -> Iterator[None]:
    """Pause after what is done inside, in proportion to its processor time."""
    began = time.thread_time()
    yield
    time.sleep(_REST * (time.thread_time() - began))


def _stamp(folder: Path) -> tuple[tuple[int, int, int] | None, ...]:
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

"""A private copy of a model, so that nothing done to its folder reaches what is being served.

The encoder is mapped, not read: a file that is cut in place would end the process at the next
touch of a page that is gone. Hard links do not help, for they name the same file.
"""

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from teaser import artifact
from teaser.errors import ArtifactError
from teaser.model import KINDS, load
from teaser.model.teaser import Teaser

if sys.platform != "win32":
    import fcntl

ROOM = "teaser-room-"
_REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.ENOENT, errno.ENOTDIR)
_COPY, _HALF, _LOCK = "model-", "copying-", "lock"


def load_private(folder: Path, *, room: Path | None = None, base: Path | None = None) -> Teaser:
    """Load a model from a copy that nobody else writes to.

    Parameters
    ----------
    folder
        The model's folder.
    room
        A folder that the processes of one server share: they map one copy there, and the first
        who needs it makes it. Without, the copy is this process's own, and has no name any more
        as soon as it is mapped, so that nothing is ever left behind.
    base
        Where a copy of one's own is made; the system's temporary folder unless given.

    Raises
    ------
    ArtifactError
        If the model is damaged, or there is no room for a copy.
    """
    _need_kind(folder)
    if room is not None:
        with _alone(room):
            return _load_shared(folder, room)
    with _said(base), tempfile.TemporaryDirectory(prefix="teaser-", dir=base) as own:
        return _load_copy(folder, Path(own) / "model")


def load_kept(room: Path) -> Teaser | None:
    """Load the copy that the processes of a server shared last, if it is whole."""
    with suppress(ArtifactError), _alone(room):
        copies = sorted(room.glob(_COPY + "*"), key=lambda path: path.stat().st_mtime)
        return load(copies[-1], Teaser) if copies else None
    return None


@contextmanager
def shared_room(base: Path | None = None) -> Iterator[Path]:
    """Lend a new folder for the processes of one server, and clear away those of dead ones."""
    base = base or Path(tempfile.gettempdir())
    _sweep(base)
    with _said(base), tempfile.TemporaryDirectory(prefix=ROOM, dir=base) as room:
        held = _hold(Path(room))
        try:
            yield Path(room)
        finally:
            if held is not None:
                os.close(held)


def _load_shared(folder: Path, room: Path) -> Teaser:
    """Load the copy in a room, made now if need be; older ones go, though mapped they live on."""
    target = room / (_COPY + str(artifact.read_manifest(folder)["checksum"])[:16])
    try:
        model = load(target, Teaser)
    except ArtifactError:
        shutil.rmtree(target, ignore_errors=True)
        half = room / f"{_HALF}{uuid4().hex}"
        with _said(room):
            artifact.copy(folder, half)
            # The folder may have got a new model since: a copy goes by what it holds.
            target = room / (_COPY + str(artifact.read_manifest(half)["checksum"])[:16])
            shutil.rmtree(target, ignore_errors=True)
            half.rename(target)
        try:
            model = load(target, Teaser)
        except ArtifactError:
            shutil.rmtree(target, ignore_errors=True)
            raise
    for path in room.iterdir():
        if path.name.startswith((_COPY, _HALF)) and path != target:
            shutil.rmtree(path, ignore_errors=True)
    return model


def _need_kind(folder: Path) -> None:
    """Refuse what cannot be steered, before it is copied."""
    kind = artifact.read_manifest(folder)["kind"]
    if not issubclass(KINDS.get(kind, object), Teaser):
        raise ArtifactError(
            f"{folder} holds a {kind}, and the site needs a Teaser. Name the folder of one."
        )


def _load_copy(folder: Path, target: Path) -> Teaser:
    artifact.copy(folder, target)
    return load(target, Teaser)


@contextmanager
def _said(place: Path | None) -> Iterator[None]:
    """Turn what the disk refuses into a sentence."""
    try:
        yield
    except (OSError, ArtifactError) as error:
        reason = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(reason, OSError) or reason.errno not in _REFUSALS:
            raise
        raise ArtifactError(
            f"No private copy of the model could be made in {place or tempfile.gettempdir()}: "
            f"{reason.strerror}. Make room there, or set TEASER_COPIES to another folder."
        ) from error


@contextmanager
def _alone(room: Path) -> Iterator[None]:
    """Let one process at a time work in a room."""
    with _said(room):
        room.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = (room / _LOCK).open("ab")
    with handle:
        if sys.platform != "win32":
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _hold(room: Path) -> int | None:
    """Show that a room is in use, for as long as this process lives."""
    if sys.platform == "win32":
        return None
    directory = os.open(room, os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_SH)
    return directory


def _sweep(base: Path) -> None:
    """Remove the rooms of servers that were killed before they could tidy up."""
    if sys.platform == "win32":
        return
    for room in base.glob(ROOM + "*"):
        with suppress(OSError):
            if room.is_symlink() or room.stat().st_uid != os.geteuid():
                continue
            directory = os.open(room, os.O_RDONLY)
            try:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(room, ignore_errors=True)
            finally:
                os.close(directory)

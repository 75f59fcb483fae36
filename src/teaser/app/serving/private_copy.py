"""A private copy of a model, so that changes to its folder do not reach the server.

The encoder is memory-mapped. If its file were truncated in place, the next access to a missing
page would kill the process (SIGBUS). Hard links do not help, because they name the same file.
"""

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from teaser import artifact
from teaser.errors import ArtifactError
from teaser.model import KINDS, load
from teaser.model.teaser import Teaser

PREFIX = "teaser-shared-"
_REFUSALS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS),
    *(errno.EACCES, errno.ENOENT, errno.ENOTDIR),
)
_COPY, _UNFINISHED, _LOCK = "model-", "copying-", "lock"
_KEPT, _NEXT = "kept", "next"  # the name of the copy that is kept


def load_private(
    folder: Path, *, shared_folder: Path | None = None, base: Path | None = None
) -> Teaser:
    """Load a model from a copy that no other program writes to.

    Parameters
    ----------
    folder
        The model's folder.
    shared_folder
        A folder that the processes of one server share, see `taken_in`. Without it the copy
        belongs to this process, and its files are deleted as soon as they are mapped.
    base
        Where a copy that is not shared is made; the system's temporary folder by default.

    Raises
    ------
    ArtifactError
        If the model is damaged, or the copy cannot be written.
    """
    if shared_folder is not None:
        with taken_in(folder, shared_folder) as copy:
            return load(copy, Teaser)
    _need_teaser(folder)
    with make_shared_folder(base) as own:
        with _disk_errors(base):
            _need_room(folder, own)
            artifact.copy(folder, own / "model")
        return load(own / "model", Teaser)


@contextmanager
def taken_in(folder: Path, shared_folder: Path) -> Iterator[Path]:
    """Copy a model for the processes of a server; `load_kept` loads it once the block ends well.

    If the block raises, or the process dies in it, the copy before stays the one that is kept.

    Raises
    ------
    ArtifactError
        If the model is damaged, or the copy cannot be written.
    """
    _need_teaser(folder)
    with _locked(shared_folder):
        target = _copy_to(folder, shared_folder)
    yield target
    with _locked(shared_folder), _disk_errors(shared_folder):
        (shared_folder / _NEXT).write_text(target.name)
        os.replace(shared_folder / _NEXT, shared_folder / _KEPT)
        _remove_copies(shared_folder, kept=target)


def load_kept(shared_folder: Path) -> tuple[Teaser, float] | None:
    """Load the copy that the processes of a server share, and when its model was written.

    It is None if there is no copy, or it is damaged.
    """
    with suppress(ArtifactError), _locked(shared_folder):
        kept = _kept(shared_folder)
        if kept is not None:
            return load(kept, Teaser), (kept / artifact.MANIFEST).stat().st_mtime
    return None


def _kept(shared_folder: Path) -> Path | None:
    with suppress(FileNotFoundError):
        return shared_folder / (shared_folder / _KEPT).read_text()
    return None


def is_refusal(error: BaseException) -> bool:
    """Return whether there was no room for a copy, which says nothing about the model."""
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, OSError) and reason.errno in _REFUSALS:
            return True
        reason = reason.__cause__
    return False


@contextmanager
def make_shared_folder(base: Path | None = None) -> Iterator[Path]:
    """Make a folder for the processes of one server, and remove those of servers that died."""
    base = base or Path(tempfile.gettempdir())
    _remove_abandoned(base)
    with _disk_errors(base):
        shared_folder, directory = _made_and_locked(base)
    try:
        yield shared_folder  # a server runs in it: what it raises is not about the copy
    finally:
        shutil.rmtree(shared_folder, ignore_errors=True)
        os.close(directory)


def _made_and_locked(base: Path) -> tuple[Path, int]:
    """Make a folder whose lock shows other servers that it is in use; it ends with this process.

    Another server may take the folder for abandoned before it is locked; then a next one is made.
    """
    while True:
        made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        with suppress(FileNotFoundError):
            directory = os.open(made, os.O_RDONLY)
            fcntl.flock(directory, fcntl.LOCK_SH)
            if made.exists():
                return made, directory
            os.close(directory)


def _copy_to(folder: Path, shared_folder: Path) -> Path:
    """Copy a model into a shared folder, unless a whole copy is there; return its place."""
    target = _copy_path(shared_folder, folder)
    if _is_whole(target):
        artifact.verify(folder)  # the copy may be older than damage to the folder
        return target
    _remove_copies(shared_folder, kept=_kept(shared_folder))
    unfinished = shared_folder / f"{_UNFINISHED}{uuid4().hex}"
    with _disk_errors(shared_folder):
        _need_room(folder, shared_folder)
        artifact.copy(folder, unfinished)
        shutil.copystat(folder / artifact.MANIFEST, unfinished / artifact.MANIFEST)
        # The folder may hold a newer model by now, so the copy is named by its own checksum.
        target = _copy_path(shared_folder, unfinished)
        if _is_whole(target):
            shutil.rmtree(unfinished, ignore_errors=True)
        else:
            shutil.rmtree(target, ignore_errors=True)
            unfinished.rename(target)
    return target


def _is_whole(copy: Path) -> bool:
    with suppress(ArtifactError):
        artifact.verify(copy)
        return True
    return False


def _remove_copies(shared_folder: Path, *, kept: Path | None) -> None:
    """Remove all copies but one; processes may still map them."""
    for path in (*shared_folder.glob(_COPY + "*"), *shared_folder.glob(_UNFINISHED + "*")):
        if path != kept:
            shutil.rmtree(path, ignore_errors=True)


def _copy_path(shared_folder: Path, folder: Path) -> Path:
    return shared_folder / (_COPY + str(artifact.read_manifest(folder)["checksum"])[:16])


def _need_teaser(folder: Path) -> None:
    """Refuse models that cannot be steered, before they are copied."""
    kind = artifact.read_manifest(folder)["kind"]
    if not issubclass(KINDS.get(kind, object), Teaser):
        advice = "Name the folder of one."
        if kind == "dataset":
            advice = (
                f"Fit one to it first: teaser fit {folder} --out MODEL, then teaser serve MODEL."
            )
        raise ArtifactError(f"{folder} holds a {kind}, and the site needs a Teaser. {advice}")


def _need_room(folder: Path, place: Path) -> None:
    """Refuse a copy that would not fit: what it wrote until then, others could not write."""
    if shutil.disk_usage(place).free < artifact.saved_bytes(folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def _disk_errors(place: Path | None) -> Iterator[None]:
    """Turn a full, read-only or missing disk into an `ArtifactError` that says what to do."""
    try:
        yield
    except (OSError, ArtifactError) as error:
        reason = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(reason, OSError) or reason.errno not in _REFUSALS:
            raise
        raise ArtifactError(
            f"No private copy of the model could be made in {place or tempfile.gettempdir()}: "
            f"{reason.strerror}. Free some space there, or set TEASER_COPIES to another folder."
        ) from error


@contextmanager
def _locked(shared_folder: Path) -> Iterator[None]:
    """Let one process at a time work in a shared folder."""
    with _disk_errors(shared_folder):
        shared_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = (shared_folder / _LOCK).open("ab")
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _remove_abandoned(base: Path) -> None:
    """Remove the shared folders of servers that were killed: nobody holds a lock on them."""
    for shared_folder in base.glob(PREFIX + "*"):
        with suppress(OSError):
            if shared_folder.is_symlink() or shared_folder.stat().st_uid != os.geteuid():
                continue
            directory = os.open(shared_folder, os.O_RDONLY)
            try:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(shared_folder, ignore_errors=True)
            finally:
                os.close(directory)

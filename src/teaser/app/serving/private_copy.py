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
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
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
_COPY, _UNFINISHED, _LOCK, _TURN = "model-", "copying-", "lock", "turn"


def load_private(
    folder: Path, *, shared_folder: Path | None = None, base: Path | None = None
) -> Teaser:
    """Load a model from a copy that no other program writes to.

    Parameters
    ----------
    folder
        The model's folder.
    shared_folder
        A folder that the processes of one server share. The first process that needs the copy
        makes it there, and all map it. Without it the copy belongs to this process, and its
        files are deleted as soon as they are mapped.
    base
        Where a copy that is not shared is made; the system's temporary folder by default.

    Raises
    ------
    ArtifactError
        If the model is damaged, or the copy cannot be written.
    """
    _need_teaser(folder)
    if shared_folder is not None:
        with _locked(shared_folder):
            return _load_shared(folder, shared_folder)
    with make_shared_folder(base) as own:
        _need_room(folder, own)
        artifact.copy(folder, own / "model")
        return load(own / "model", Teaser)


def load_kept(shared_folder: Path) -> Teaser | None:
    """Load the copy that the processes of a server shared last; None if it is damaged."""
    with suppress(ArtifactError), _locked(shared_folder):
        copies = sorted(shared_folder.glob(_COPY + "*"), key=lambda path: path.stat().st_mtime)
        return load(copies[-1], Teaser) if copies else None
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
            yield shared_folder
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


def _load_shared(folder: Path, shared_folder: Path) -> Teaser:
    """Load the shared copy, made now if needed; delete older copies, which may stay mapped."""
    target = _copy_path(shared_folder, folder)
    try:
        model = load(target, Teaser)
    except ArtifactError:
        shutil.rmtree(target, ignore_errors=True)
        unfinished = shared_folder / f"{_UNFINISHED}{uuid4().hex}"
        with _disk_errors(shared_folder):
            _need_room(folder, shared_folder)
            artifact.copy(folder, unfinished)
            # The folder may hold a newer model by now, so the copy is named by its own checksum.
            target = _copy_path(shared_folder, unfinished)
            shutil.rmtree(target, ignore_errors=True)
            unfinished.rename(target)
        try:
            model = load(target, Teaser)
        except ArtifactError:
            shutil.rmtree(target, ignore_errors=True)
            raise
    for path in shared_folder.iterdir():
        if path.name.startswith((_COPY, _UNFINISHED)) and path != target:
            shutil.rmtree(path, ignore_errors=True)
    return model


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


def taking_turns(shared_folder: Path | None) -> AbstractContextManager[None]:
    """Let one process of a server at a time take up a new model: the others answer meanwhile."""
    return nullcontext() if shared_folder is None else _locked(shared_folder, _TURN)


@contextmanager
def _locked(shared_folder: Path, name: str = _LOCK) -> Iterator[None]:
    """Let one process at a time work in a shared folder."""
    with _disk_errors(shared_folder):
        shared_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = (shared_folder / name).open("ab")
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

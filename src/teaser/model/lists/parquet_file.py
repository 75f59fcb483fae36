"""Frames written to one parquet file as they are made."""

from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from pathlib import Path
from queue import Full, Queue
from threading import Event
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from teaser.errors import ParameterError, ResourceError

# Frames that wait for being written, at most.
_WAITING = 2
# How often it is asked whether the writer has failed, in seconds.
_PAUSE = 0.2


def check_file(out: Any) -> Path:
    """Return the path of a parquet file that can be made, or raise `ParameterError`."""
    if not isinstance(out, str | Path) or Path(out).suffix != ".parquet":
        raise ParameterError(f"Lists are written as a parquet file, found out={str(out)!r}.")
    path = Path(out)
    if not path.parent.is_dir():
        raise ParameterError(f"There is no folder {path.parent}. Make it first.")
    if path.is_dir():
        raise ParameterError(f"{path} is a folder. Name a file.")
    return path


def write_frames(
    frames: Generator[pl.DataFrame, None, None], schema: pl.Schema, path: Path
) -> None:
    """Write frames to one parquet file, which appears when it is complete.

    The caller's thread makes the frames, so that iterators that belong to it can be read, and an
    interrupt reaches it. Another thread hands them to polars.

    Parameters
    ----------
    frames
        They are closed where the writing ends early.
    """
    part = path.with_name(f".{path.name}.part")
    handed: Queue[pl.DataFrame | None] = Queue(_WAITING)
    given_up = Event()

    def read(*_: Any) -> Iterator[pl.DataFrame]:
        while (frame := handed.get()) is not None and not given_up.is_set():
            yield frame

    lazy = register_io_source(read, schema=schema)
    with ThreadPoolExecutor(1) as pool, closing(frames):
        written = pool.submit(lazy.sink_parquet, part)
        try:
            for frame in frames:
                if not _is_taken(frame, handed, written):
                    break
            _is_taken(None, handed, written)
            _finish(written, path)
            part.replace(path)
        except BaseException:
            given_up.set()
            with suppress(Full):  # it then finds a frame, and after it that all is given up
                handed.put_nowait(None)
            wait([written])
            with suppress(OSError):  # such as one that never came to be
                part.unlink()
            raise


def _is_taken(
    frame: pl.DataFrame | None, handed: "Queue[pl.DataFrame | None]", written: Future[Any]
) -> bool:
    """Wait until the writer has room for a frame; return false where it has failed."""
    while not written.done():
        with suppress(Full):
            handed.put(frame, timeout=_PAUSE)
            return True
    return False


def _finish(written: Future[Any], path: Path) -> None:
    """Wait for the end of the writing; raise `ResourceError` where it failed."""
    try:
        written.result()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ResourceError(
            f"The lists could not be written to {path}: {str(error).splitlines()[0]}. "
            "Make room there, or name another file."
        ) from error

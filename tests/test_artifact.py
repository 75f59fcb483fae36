"""Saved folders and other files come back whole or are refused with a sentence."""

import gzip
import os
import signal
import stat
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgery import bomb, forge_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray
from polars.testing import assert_frame_equal
from saved_folder import ARRAYS, TABLES, forge, part, save

from teaser import artifact
from teaser.artifact import read_parquet
from teaser.errors import ArtifactError
from teaser.files import (
    FileRefusedError,
    memory_of_machine,
    open_unpacked,
    read_bytes,
    read_settings,
    read_unpacked,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path / "model")
    return tmp_path / "model"


def size_of(folder: Path) -> int:
    """Return which content a folder has; all of its parts agree."""
    found = artifact.read(folder)
    size = int(found.settings["size"])
    assert found.arrays["E"].tolist() == [size] * size
    assert found.tables["tags"].height == size
    return size


def test_everything_comes_back_and_cannot_be_changed(tmp_path: Path) -> None:
    wanted = {"l2": 0.1, "names": ["é", "a"], "nested": {"x": None, "y": True}}
    given = {**ARRAYS, "turned": np.asfortranarray(ARRAYS["E"])}
    for name in ("a", "b"):
        artifact.write(tmp_path / name, kind="k", settings=wanted, arrays=given, tables=TABLES)
    found = artifact.read(tmp_path / "a")
    assert (found.kind, found.settings) == ("k", wanted)
    assert found.arrays.keys() == given.keys()
    for name, array in given.items():
        assert found.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(found.arrays[name], array)
        with pytest.raises(ValueError, match="read-only"):
            found.arrays[name][0] = 1
    assert_frame_equal(found.tables["tags"], TABLES["tags"])
    # The same content gives the same files.
    files = [{p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in "ab"]
    assert files[0] == files[1]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    array=st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_])
    .map(np.dtype)
    .flatmap(lambda dtype: arrays(dtype, array_shapes(max_dims=3, min_side=0, max_side=4)))
)
def test_any_array_comes_back_to_the_bit(tmp_path: Path, array: NDArray[Any]) -> None:
    save(tmp_path / "m", arrays={"a": array, "other": np.zeros(2)})
    found = artifact.read(tmp_path / "m").arrays["a"]
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()


def test_the_manifest_alone_says_what_a_folder_is_and_how_large(folder: Path) -> None:
    sizes = [p.stat().st_size for p in folder.iterdir() if p.name != artifact.MANIFEST]
    part(folder, ".safetensors").unlink()
    manifest = artifact.read_manifest(folder)
    assert (manifest["kind"], manifest["format_version"]) == ("teaser", 1)
    assert artifact.saved_bytes(folder) == sum(sizes)


def test_mapped_arrays_outlive_a_rewrite(folder: Path) -> None:
    before = artifact.read(folder).arrays["E"]
    save(folder, size=99)
    np.testing.assert_array_equal(before, np.full(12, 12))


def harm(path: Path, how: str) -> None:
    content = path.read_bytes()
    path.unlink()
    if how != "gone":
        path.write_bytes(content[:-1] if how == "cut" else content[:-1] + b"?")


@pytest.mark.parametrize("suffix", [".safetensors", ".parquet"])
@pytest.mark.parametrize(
    ("how", "said"),
    [("cut", r"has [\d,]+ bytes, [\d,]+ were written"), ("edited", "was changed"), ("gone", "mis")],
)
def test_a_damaged_file_is_named_and_not_copied(
    folder: Path, tmp_path: Path, suffix: str, how: str, said: str
) -> None:
    path = part(folder, suffix)
    harm(path, how)
    with pytest.raises(ArtifactError, match=f"{path.name}.*{said}"):
        artifact.read(folder)
    with pytest.raises(ArtifactError, match=path.name):
        artifact.copy(folder, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        *((text, "was not written by teaser") for text in (b"[]", b"3", b"null", b"{}")),
        (b'{"format": "other"}', "was not written by teaser"),
        *((text, "could not be read") for text in (b"", b"\xff\xfe", b"no json", b"[" * 100_000)),
        (None, r"has no manifest\.json"),
    ],
)
def test_a_foreign_manifest_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / artifact.MANIFEST).write_bytes(content)
    with pytest.raises(ArtifactError, match=said):
        artifact.read(tmp_path)


def test_an_edited_manifest_or_another_format_is_refused(folder: Path) -> None:
    path = folder / artifact.MANIFEST
    before = path.read_text()
    path.write_text(before.replace('"size": 12', '"size": 13'))
    with pytest.raises(ArtifactError, match="was changed after it was written"):
        artifact.read(folder)
    path.write_text(before)
    forge(folder, lambda manifest: manifest.update(format_version=2))
    with pytest.raises(ArtifactError, match=r"has format 2, .*reads format 1"):
        artifact.read(folder)


def test_nothing_outside_of_the_folder_is_read(folder: Path) -> None:
    content = part(folder, ".safetensors").read_bytes()
    (folder.parent / "secret").write_bytes(content)
    entry = artifact.read_manifest(folder)["files"]["arrays"]
    outside = ("../secret", "/etc/hostname", "a/../../secret")
    for name in outside:
        forge(folder, partial(dict.update, files={"arrays": {**entry, "name": name}}))
        with pytest.raises(ArtifactError, match="is missing"):
            artifact.read(folder)


def test_a_table_that_claims_more_rows_than_memory_holds_is_refused(folder: Path) -> None:
    forge_file(folder, "tags", lambda path: Path(path).write_bytes(bomb()))
    with pytest.raises(ArtifactError, match="1000000000000 rows"):
        artifact.read(folder)


# What is not ours is never written over.


def test_a_rewrite_leaves_the_new_content_alone(folder: Path) -> None:
    save(folder, size=5)
    assert size_of(folder) == 5
    assert len(list(folder.iterdir())) == 3
    part(folder, ".parquet").unlink()
    save(folder, size=7)
    assert size_of(folder) == 7


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("thesis.docx", "years of work"),
        (".hidden", ""),
        ("data-2024.parquet", "x"),
        *(("manifest.json", text) for text in ('{"name": "a web page"}', "not json", "[]")),
    ],
)
def test_a_folder_of_something_else_is_refused(
    folder: Path, tmp_path: Path, name: str, content: str
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / name).write_text(content)
    around = tmp_path / "nowhere" / ".." / "mine"
    for write in (partial(save, mine), partial(save, around), partial(artifact.copy, folder, mine)):
        with pytest.raises(ArtifactError, match="holds other files; nothing was written"):
            write()
    assert [(p.name, p.read_text()) for p in mine.iterdir()] == [(name, content)]
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["notes.md", "data-2024.parquet", "rules.toml", "m.json"])
def test_a_stranger_survives_beside_a_content_and_keeps_a_damaged_one(
    folder: Path, name: str
) -> None:
    (folder / name).write_text("mine")
    save(folder, size=5)
    assert (folder / name).read_text() == "mine"
    (folder / artifact.MANIFEST).write_text("{")
    before = sorted(p.name for p in folder.iterdir())
    with pytest.raises(ArtifactError, match="holds other files; nothing was written"):
        save(folder, size=5)
    assert sorted(p.name for p in folder.iterdir()) == before
    assert (folder / name).read_text() == "mine"


def test_a_place_that_no_folder_can_have(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("mine")
    with pytest.raises(ArtifactError, match="is a file"):
        save(tmp_path / "m")
    assert (tmp_path / "m").read_text() == "mine"
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(ArtifactError, match="could not be written"):
            save(tmp_path / name)


@pytest.mark.parametrize("content", ["", '{"format": "teas', "[]", "lost"])
@pytest.mark.parametrize("kind", ["teaser", "dataset"])
def test_a_content_whose_manifest_is_damaged_is_replaced(
    tmp_path: Path, content: str, kind: str
) -> None:
    save(tmp_path / "m", kind=kind)
    manifest = tmp_path / "m" / artifact.MANIFEST
    manifest.unlink()
    if content != "lost":
        manifest.write_text(content)
    if kind == "dataset":
        (tmp_path / "m" / "rules.toml").write_text("mine")
    save(tmp_path / "m", kind=kind, size=5)
    assert size_of(tmp_path / "m") == 5
    assert len(list((tmp_path / "m").iterdir())) == 3 + (kind == "dataset")


def test_files_have_the_permissions_of_ordinary_files(folder: Path) -> None:
    (folder.parent / "ordinary").write_text("")
    wanted = stat.S_IMODE((folder.parent / "ordinary").stat().st_mode)
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {wanted}


def test_a_folder_of_another_kind_is_not_replaced(folder: Path, tmp_path: Path) -> None:
    save(tmp_path / "data", kind="dataset")
    with pytest.raises(ArtifactError, match="holds a data set, which a Teaser would replace"):
        save(tmp_path / "data", kind="Teaser")
    with pytest.raises(ArtifactError, match="nothing was written"):
        artifact.copy(folder, tmp_path / "data")
    assert artifact.read(tmp_path / "data").kind == "dataset"


# Whatever stops a writer, the old content stands and the next writer has a clean start.


@pytest.mark.parametrize(("arrays", "rows"), [(100_000, 1), (1, 100_000)])
def test_a_file_that_outgrows_its_limit(folder: Path, arrays: int, rows: int) -> None:
    script = (
        "import resource, sys, numpy as np, polars as pl\n"
        "from teaser import artifact\n"
        "from teaser.errors import ArtifactError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "try:\n"
        "    artifact.write(sys.argv[1], kind='teaser', settings={},\n"
        f"        arrays={{'a': np.ones({arrays})}},\n"
        f"        tables={{'t': pl.DataFrame({{'x': np.random.rand({rows})}})}})\n"
        "except ArtifactError as error:\n"
        "    sys.exit(str(error))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert size_of(folder) == 12
    assert len(list(folder.iterdir())) == 3


def test_settings_that_json_cannot_hold(folder: Path, tmp_path: Path) -> None:
    for place in (folder, tmp_path / "m"):
        with pytest.raises(ArtifactError, match="could not be written"):
            save(place, settings={"l2": float("nan")})
    assert size_of(folder) == 12
    assert len(list(folder.iterdir())) == 3
    assert not (tmp_path / "m").exists()


KILLED = (
    "import os, signal, sys, numpy as np, polars as pl\n"
    "from teaser import artifact\n"
    "calls, replace = 0, os.replace\n"
    "def fall(*args, **kwargs):\n"
    "    global calls\n"
    "    calls += 1\n"
    "    if calls == int(sys.argv[2]):\n"
    "        os.kill(os.getpid(), signal.SIGKILL)\n"
    "    return replace(*args, **kwargs)\n"
    "os.replace = fall\n"
    "artifact.write(sys.argv[1], kind='teaser', settings={}, arrays={'a': np.ones(9)},\n"
    "    tables={'t': pl.DataFrame({'x': [1]})})\n"
)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("rename", [1, 2, 3])
def test_a_killed_writer(tmp_path: Path, rename: int, is_first: bool) -> None:
    """A writer that falls dead before its first, second or third rename."""
    folder = tmp_path / "m"
    if not is_first:
        save(folder)
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(rename)], check=False)
    assert done.returncode == -signal.SIGKILL
    if is_first:
        with pytest.raises(ArtifactError, match=r"has no manifest\.json"):
            artifact.read(folder)
    else:
        assert size_of(folder) == 12
    save(folder, size=5)
    assert size_of(folder) == 5
    assert len(list(folder.iterdir())) == 3


def test_readers_see_the_old_content_or_the_new(folder: Path) -> None:
    done = threading.Event()

    def rewrite() -> None:
        for size in range(20, 60):
            save(folder, size=size)
        done.set()

    writer = threading.Thread(target=rewrite)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(size_of(folder))
    writer.join()
    assert len(seen) > 1


def test_writers_take_turns(folder: Path) -> None:
    def rewrite(size: int) -> None:
        for _ in range(10):
            save(folder, size=size)

    writers = [threading.Thread(target=rewrite, args=[size]) for size in range(1, 5)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert size_of(folder) in range(1, 5)
    assert len(list(folder.iterdir())) == 3


def test_a_folder_is_replaced_by_a_copy_of_another_or_stays_as_it_was(tmp_path: Path) -> None:
    first, second, target = (tmp_path / name for name in ("first", "second", "target"))
    for size, folder in ((1, first), (2, second)):
        save(folder, size=size)
        artifact.copy(folder, target)
        assert size_of(target) == size
        assert {p.name for p in target.iterdir()} == {p.name for p in folder.iterdir()}
        assert not any((target / p.name).samefile(p) for p in folder.iterdir())
    harm(part(first, ".parquet"), "edited")
    with pytest.raises(ArtifactError, match="was changed"):
        artifact.copy(first, target)
    assert size_of(target) == 2
    assert len(list(target.iterdir())) == 3, "nothing is left of the copy"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (read_bytes, read_settings, open_unpacked, read_unpacked, read_parquet):
        with pytest.raises(FileRefusedError, match="a pipe or a device, not a regular file"):
            read(tmp_path / "pipe")
        with pytest.raises(FileRefusedError, match="it is a folder"):
            read(tmp_path)
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nothing")


def test_a_table_larger_than_the_memory_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 10 * memory_of_machine())
    with pytest.raises(FileRefusedError, match="are read"):
        read_unpacked(tmp_path / "large")


def test_gzipped_text_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"text"))
    assert read_unpacked(tmp_path / "a.gz") == b"text"
    with open_unpacked(tmp_path / "a.gz") as file:
        assert file.read() == b"text"

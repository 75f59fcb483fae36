"""Saved folders come back whole or are refused with a sentence, whatever happens to them."""

import gzip
import os
import signal
import stat
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from forgery import bomb, forge_file, parquet_bytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray
from polars.testing import assert_frame_equal
from saved_folder import ARRAYS, TABLES, forge, part, save

from teaser import artifact, files
from teaser.artifact import check_parquet, read_parquet
from teaser.errors import ArtifactError
from teaser.files import (
    MOST_SETTINGS,
    FileRefusedError,
    available_memory,
    memory_of_machine,
    open_unpacked,
    read_bytes,
    read_settings,
    read_unpacked,
    say_bytes,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    save(path)
    return path


class TestRoundTrip:
    def test_everything_comes_back(self, tmp_path: Path) -> None:
        wanted = {"l2": 0.1, "names": ["é", "a"], "nested": {"x": None, "y": True}}
        artifact.write(tmp_path / "m", kind="k", settings=wanted, arrays=ARRAYS, tables=TABLES)
        found = artifact.read(tmp_path / "m")
        assert (found.kind, found.settings) == ("k", wanted)
        assert found.arrays.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            assert found.arrays[name].dtype == array.dtype
            np.testing.assert_array_equal(found.arrays[name], array)
        assert_frame_equal(found.tables["tags"], TABLES["tags"])

    @settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        array=st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_])
        .map(np.dtype)
        .flatmap(lambda dtype: arrays(dtype, array_shapes(max_dims=3, min_side=0, max_side=4)))
    )
    def test_any_array_comes_back_to_the_bit(self, tmp_path: Path, array: NDArray[Any]) -> None:
        save(tmp_path / "m", arrays={"a": array, "other": np.zeros(2)})
        found = artifact.read(tmp_path / "m").arrays["a"]
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()

    def test_an_array_in_another_order_keeps_its_meaning(self, tmp_path: Path) -> None:
        turned = np.asfortranarray(ARRAYS["E"])
        save(tmp_path / "m", arrays={"E": turned})
        np.testing.assert_array_equal(artifact.read(tmp_path / "m").arrays["E"], turned)

    def test_the_manifest_alone_says_what_a_folder_is(self, folder: Path) -> None:
        part(folder, ".safetensors").unlink()
        manifest = artifact.read_manifest(folder)
        assert (manifest["kind"], manifest["format_version"]) == ("teaser", 1)

    def test_the_manifest_alone_says_how_large_a_folder_is(self, folder: Path) -> None:
        files = [path for path in folder.iterdir() if path.name != artifact.MANIFEST]
        assert artifact.saved_bytes(folder) == sum(path.stat().st_size for path in files)

    def test_the_same_content_gives_the_same_files(self, tmp_path: Path) -> None:
        save(tmp_path / "a")
        save(tmp_path / "b")
        names = [sorted(p.name for p in (tmp_path / x).iterdir()) for x in "ab"]
        assert names[0] == names[1]
        assert (tmp_path / "a" / "manifest.json").read_bytes() == (
            tmp_path / "b" / "manifest.json"
        ).read_bytes()


class TestMapping:
    def test_arrays_are_read_only(self, folder: Path) -> None:
        with pytest.raises(ValueError, match="read-only"):
            artifact.read(folder).arrays["E"][0] = 1

    def test_mapped_arrays_outlive_a_rewrite(self, folder: Path) -> None:
        before = artifact.read(folder).arrays["E"]
        save(folder, size=99)
        np.testing.assert_array_equal(before, np.full(12, 12))


class TestCopy:
    def test_it_reads_as_the_original_and_is_another_file(
        self, folder: Path, tmp_path: Path
    ) -> None:
        target = tmp_path / "copy"
        artifact.copy(folder, target)
        assert {p.name for p in target.iterdir()} == {p.name for p in folder.iterdir()}
        assert not any((target / p.name).samefile(p) for p in folder.iterdir())
        before, after = artifact.read(folder), artifact.read(target)
        assert (before.kind, before.settings) == (after.kind, after.settings)
        for name, array in before.arrays.items():
            np.testing.assert_array_equal(after.arrays[name], array)
        for name, table in before.tables.items():
            assert_frame_equal(after.tables[name], table)

    def test_a_folder_that_exists_is_left_alone(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "letter.txt").write_text("dear")
        with pytest.raises(ArtifactError, match="holds other files"):
            artifact.copy(folder, tmp_path / "mine")
        assert (tmp_path / "mine" / "letter.txt").read_text() == "dear"

    @pytest.mark.parametrize("suffix", [".safetensors", ".parquet"])
    @pytest.mark.parametrize("harm", ["cut", "changed", "gone"])
    def test_a_damaged_one_is_not_copied(
        self, folder: Path, tmp_path: Path, suffix: str, harm: str
    ) -> None:
        path = part(folder, suffix)
        content = path.read_bytes()
        if harm == "gone":
            path.unlink()
        else:
            path.write_bytes(content[:-1] if harm == "cut" else content[:-1] + b"?")
        with pytest.raises(ArtifactError, match=path.name):
            artifact.copy(folder, tmp_path / "copy")
        assert not (tmp_path / "copy").exists()


def replace_file(folder: Path, name: str, content: bytes) -> None:
    """Put other bytes in the place of a file, with size and checksum to match."""
    forge_file(folder, name, lambda path: Path(path).write_bytes(content))


def forge_files(folder: Path, files: Any) -> None:
    forge(folder, lambda manifest: manifest.update(files=files))


class TestDamage:
    """Every folder that is not as it was written is refused, and the sentence says why."""

    @pytest.mark.parametrize("suffix", [".safetensors", ".parquet"])
    def test_a_truncated_file(self, folder: Path, suffix: str) -> None:
        path = part(folder, suffix)
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(ArtifactError, match=r"has [\d,]+ bytes, [\d,]+ were written"):
            artifact.read(folder)

    @pytest.mark.parametrize("suffix", [".safetensors", ".parquet"])
    def test_an_edited_file(self, folder: Path, suffix: str) -> None:
        path = part(folder, suffix)
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with pytest.raises(ArtifactError, match="was changed after it was written"):
            artifact.read(folder)

    @pytest.mark.parametrize("suffix", [".safetensors", ".parquet"])
    def test_a_missing_file(self, folder: Path, suffix: str) -> None:
        part(folder, suffix).unlink()
        with pytest.raises(ArtifactError, match="is missing"):
            artifact.read(folder)

    @settings(max_examples=40)
    @given(length=st.integers(0, 400))
    def test_a_truncated_manifest(
        self, tmp_path_factory: pytest.TempPathFactory, length: int
    ) -> None:
        folder = tmp_path_factory.mktemp("model")
        save(folder)
        path = folder / artifact.MANIFEST
        path.write_bytes(path.read_bytes()[:length])
        with pytest.raises(ArtifactError, match=r"manifest\.json could not be read"):
            artifact.read(folder)

    def test_an_edited_setting(self, folder: Path) -> None:
        path = folder / artifact.MANIFEST
        path.write_text(path.read_text().replace('"size": 12', '"size": 13'))
        with pytest.raises(ArtifactError, match="was changed after it was written"):
            artifact.read(folder)

    def test_a_foreign_manifest(self, tmp_path: Path) -> None:
        cases: list[Any] = ["[]", "3", "null", "{}", '{"format": "other"}']
        for text in cases:
            (tmp_path / artifact.MANIFEST).write_text(text)
            with pytest.raises(ArtifactError, match="was not written by teaser"):
                artifact.read(tmp_path)

    def test_a_manifest_that_is_no_json(self, tmp_path: Path) -> None:
        cases: list[Any] = [b"", b"\xff\xfe", b"not json", b"[" * 100_000]
        for content in cases:
            (tmp_path / artifact.MANIFEST).write_bytes(content)
            with pytest.raises(ArtifactError, match="could not be read"):
                artifact.read(tmp_path)

    def test_another_format_version(self, folder: Path) -> None:
        forge(folder, lambda manifest: manifest.update(format_version=2))
        with pytest.raises(ArtifactError, match=r"has format 2, .*reads format 1"):
            artifact.read(folder)

    def test_a_folder_without_manifest(self, tmp_path: Path) -> None:
        with pytest.raises(ArtifactError, match=r"has no manifest\.json"):
            artifact.read(tmp_path)

    def test_a_folder_that_does_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(ArtifactError, match="does not exist"):
            artifact.read(tmp_path / "nothing")

    def test_a_file_instead_of_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "model.bin").write_text("x")
        with pytest.raises(ArtifactError, match="is a file, not a folder"):
            artifact.read(tmp_path / "model.bin")


class TestForgery:
    """Checksums that fit do not make a folder whole."""

    @pytest.mark.parametrize("key", ["files", "kind", "settings"])
    def test_a_manifest_that_lacks_a_part(self, folder: Path, key: str) -> None:
        forge(folder, lambda manifest: manifest.pop(key))
        with pytest.raises(ArtifactError, match=f"is damaged.*{key}"):
            artifact.read(folder)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"kind": ["Teaser"]}, "kind"),
            ({"kind": {"Teaser": 1}}, "kind"),
            ({"kind": None}, "kind"),
            ({"settings": [["a", 1]]}, "settings"),
            ({"settings": None}, "settings"),
            ({"files": {"tags": {}}}, "files"),
            ({"files": {"arrays": {"name": "a", "bytes": -1, "sha256": "x"}}}, "files"),
            ({"files": {"arrays": {"name": "a", "bytes": 1.5, "sha256": "x"}}}, "files"),
            ({"files": {"arrays": {"name": ["a"], "bytes": 1, "sha256": "x"}}}, "files"),
            ({"files": {"arrays": {"name": "a", "bytes": 1, "sha256": None}}}, "files"),
        ],
    )
    def test_a_manifest_with_wrong_types_is_refused_by_all_readers(
        self, folder: Path, change: dict[str, Any], said: str
    ) -> None:
        forge(folder, lambda manifest: manifest.update(change))
        for reader in (artifact.read_manifest, artifact.read):
            with pytest.raises(ArtifactError, match=f"damaged.*{said}"):
                reader(folder)

    @pytest.mark.parametrize("of", ["manifest", "arrays", "tags"])
    def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(self, folder: Path, of: str) -> None:
        files = artifact.read_manifest(folder)["files"]
        path = folder / (artifact.MANIFEST if of == "manifest" else files[of]["name"])
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(ArtifactError, match=f"{path.name} .*it is a pipe"):
            artifact.read(folder)

    def test_a_table_that_claims_billions_of_rows_is_not_read(self, folder: Path) -> None:
        replace_file(folder, "tags", bomb())
        with pytest.raises(ArtifactError, match=r"damaged: .*1000000000000 rows"):
            artifact.read(folder)

    def test_nothing_outside_of_the_folder_is_read(self, folder: Path) -> None:
        content = part(folder, ".safetensors").read_bytes()
        (folder.parent / "secret").write_bytes(content)
        arrays = artifact.read_manifest(folder)["files"]["arrays"]
        outside = ("../secret", "/etc/hostname", "a/../../secret")
        said = dict.fromkeys(outside, "is missing") | dict.fromkeys(("..", ""), "it is a folder")
        for name, reason in said.items():
            forge_files(folder, {"arrays": {**arrays, "name": name}})
            with pytest.raises(ArtifactError, match=reason):
                artifact.read(folder)

    def test_numbers_that_are_no_safetensors(self, folder: Path) -> None:
        cases: list[Any] = [
            b"",
            b"\0\0\0",
            struct.pack("<Q", 2**63) + b"{}",
            struct.pack("<Q", 2) + b"[]",
            struct.pack("<Q", 4) + b"null",
            struct.pack("<Q", 9) + b'{"a": {}}',
            struct.pack("<Q", 8) + b'{"a": 3}',
            b"\x3b"
            + b"\0" * 7
            + b'{"a":{"dtype":"F32","shape":[9,9],"data_offsets":[0,4]}}'.ljust(59),
            b"\x3b"
            + b"\0" * 7
            + b'{"a":{"dtype":"X99","shape":[1],"data_offsets":[0,4]}}'.ljust(59),
        ]
        for content in cases:
            replace_file(folder, "arrays", content)
            with pytest.raises(ArtifactError, match="is damaged"):
                artifact.read(folder)

    def test_a_table_that_is_no_parquet(self, folder: Path) -> None:
        cases: list[Any] = [b"", b"PAR1", b"PAR1" + b"x" * 40 + b"PAR1"]
        for content in cases:
            replace_file(folder, "tags", content)
            with pytest.raises(ArtifactError, match="is damaged"):
                artifact.read(folder)


class TestTarget:
    """What is not ours is never written over."""

    def test_a_rewrite_leaves_the_new_content_alone(self, folder: Path) -> None:
        save(folder, size=5)
        assert artifact.read(folder).settings == {"size": 5}
        assert len(list(folder.iterdir())) == 3

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("thesis.docx", "years of work"),
            (".hidden", ""),
            ("data-2024.parquet", "x"),
            ("manifest.json", '{"name": "a web page"}'),
            ("manifest.json", "not json"),
            ("manifest.json", "[]"),
        ],
    )
    def test_a_folder_of_something_else_is_refused(
        self, tmp_path: Path, name: str, content: str
    ) -> None:
        (tmp_path / name).write_text(content)
        with pytest.raises(ArtifactError, match="holds other files; nothing was written"):
            save(tmp_path)
        assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(name, content)]

    @pytest.mark.parametrize("name", ["notes.md", "data-2024.parquet", "x-1.safetensors"])
    def test_a_stranger_beside_a_content_survives_a_rewrite(self, folder: Path, name: str) -> None:
        (folder / name).write_text("mine")
        save(folder, size=5)
        assert (folder / name).read_text() == "mine"

    def test_a_file_is_not_replaced_by_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "m").write_text("mine")
        with pytest.raises(ArtifactError, match="is a file"):
            save(tmp_path / "m")
        assert (tmp_path / "m").read_text() == "mine"

    def test_a_name_that_no_folder_can_have(self, tmp_path: Path) -> None:
        cases: list[Any] = ["x" * 300, "a\0b"]
        for name in cases:
            with pytest.raises(ArtifactError, match="could not be written"):
                save(tmp_path / name)

    def test_a_damaged_content_can_be_replaced(self, folder: Path) -> None:
        part(folder, ".parquet").unlink()
        save(folder, size=5)
        assert artifact.read(folder).settings == {"size": 5}

    @pytest.mark.parametrize("content", ["", '{"format": "teas', "[]", "null", "pipe", "lost"])
    @pytest.mark.parametrize("kind", ["teaser", "dataset"])
    def test_a_content_whose_manifest_is_damaged_is_replaced(
        self, tmp_path: Path, content: str, kind: str
    ) -> None:
        save(tmp_path / "m", kind=kind)
        manifest = tmp_path / "m" / artifact.MANIFEST
        manifest.unlink()
        if content == "pipe":
            os.mkfifo(manifest)
        elif content != "lost":
            manifest.write_text(content)
        if kind == "dataset":
            (tmp_path / "m" / "rules.toml").write_text("mine")
        save(tmp_path / "m", kind=kind, size=5)
        assert artifact.read(tmp_path / "m").settings == {"size": 5}
        assert len(list((tmp_path / "m").iterdir())) == 3 + (kind == "dataset")

    @pytest.mark.parametrize("name", ["thesis.docx", "data-2024.parquet", "rules.toml", "m.json"])
    def test_a_stranger_beside_a_damaged_content_keeps_it_from_being_replaced(
        self, folder: Path, name: str
    ) -> None:
        (folder / artifact.MANIFEST).write_text("{")
        (folder / name).write_text("mine")
        before = sorted(p.name for p in folder.iterdir())
        with pytest.raises(ArtifactError, match="holds other files; nothing was written"):
            save(folder, size=5)
        assert sorted(p.name for p in folder.iterdir()) == before
        assert (folder / name).read_text() == "mine"

    def test_files_have_the_permissions_of_ordinary_files(self, folder: Path) -> None:
        (folder.parent / "ordinary").write_text("")
        wanted = stat.S_IMODE((folder.parent / "ordinary").stat().st_mode)
        assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {wanted}


class TestFailedWrites:
    """Whatever stops a writer, the old content stands and the next writer has a clean start."""

    def check_old_content(self, folder: Path) -> None:
        found = artifact.read(folder)
        assert found.settings == {"size": 12}
        np.testing.assert_array_equal(found.arrays["E"], np.full(12, 12))
        assert found.tables["tags"].height == 12

    @pytest.mark.parametrize(("arrays", "rows"), [(100_000, 1), (1, 100_000)])
    def test_a_file_that_outgrows_its_limit(self, folder: Path, arrays: int, rows: int) -> None:
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
        self.check_old_content(folder)
        assert len(list(folder.iterdir())) == 3

    def test_settings_that_json_cannot_hold(self, folder: Path) -> None:
        with pytest.raises(ArtifactError, match="could not be written"):
            save(folder, settings={"l2": float("nan")})
        self.check_old_content(folder)
        assert len(list(folder.iterdir())) == 3

    def test_a_failed_first_write_leaves_nothing_behind(self, tmp_path: Path) -> None:
        with pytest.raises(ArtifactError):
            save(tmp_path / "m", settings={"l2": float("inf")})
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

    def kill_a_writer(self, folder: Path, rename: int) -> None:
        """Run a writer that falls dead before its first, second or third rename."""
        done = subprocess.run(
            [sys.executable, "-c", self.KILLED, str(folder), str(rename)], check=False
        )
        assert done.returncode == -signal.SIGKILL

    @pytest.mark.parametrize("rename", [1, 2, 3])
    def test_a_killed_writer(self, folder: Path, rename: int) -> None:
        self.kill_a_writer(folder, rename)
        self.check_old_content(folder)
        save(folder, size=5)
        assert artifact.read(folder).settings == {"size": 5}
        assert len(list(folder.iterdir())) == 3

    def test_after_a_killed_first_write_the_folder_can_be_used(self, tmp_path: Path) -> None:
        self.kill_a_writer(tmp_path / "m", 3)
        assert list((tmp_path / "m").iterdir()) != []
        with pytest.raises(ArtifactError, match=r"has no manifest\.json"):
            artifact.read(tmp_path / "m")
        save(tmp_path / "m")
        self.check_old_content(tmp_path / "m")


class TestCompany:
    def test_readers_see_the_old_content_or_the_new(self, folder: Path) -> None:
        done = threading.Event()

        def rewrite() -> None:
            for size in range(20, 60):
                save(folder, size=size)
            done.set()

        writer = threading.Thread(target=rewrite)
        writer.start()
        seen = set()
        while not done.is_set():
            found = artifact.read(folder)
            size = found.settings["size"]
            np.testing.assert_array_equal(found.arrays["E"], np.full(size, size))
            assert found.tables["tags"].height == size
            seen.add(size)
        writer.join()
        assert len(seen) > 1

    def test_writers_take_turns(self, folder: Path) -> None:
        def rewrite(size: int) -> None:
            for _ in range(10):
                save(folder, size=size)

        writers = [threading.Thread(target=rewrite, args=[size]) for size in range(1, 5)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        found = artifact.read(folder)
        assert found.tables["tags"].height == found.settings["size"]
        assert len(list(folder.iterdir())) == 3


def test_a_folder_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    artifact.write(folder, kind="dataset", settings={}, arrays=ARRAYS, tables=TABLES)
    with pytest.raises(ArtifactError, match="holds a data set, which a Teaser would replace"):
        artifact.write(folder, kind="Teaser", settings={}, arrays=ARRAYS, tables=TABLES)
    assert artifact.read(folder).kind == "dataset"


def test_a_way_through_a_folder_that_is_not_there_leads_to_the_same_refusal(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("mine")
    around = tmp_path / "nowhere" / ".." / "mine"
    with pytest.raises(ArtifactError, match="holds other files"):
        artifact.write(around, kind="k", settings={}, arrays=ARRAYS, tables=TABLES)
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_is_replaced_by_a_copy_of_another_or_stays_as_it_was(tmp_path: Path) -> None:
    first, second, target = tmp_path / "first", tmp_path / "second", tmp_path / "target"
    for number, folder in enumerate((first, second)):
        tables = {"items": pl.DataFrame({"item": [number]})}
        arrays = {"a": np.full(3, number, dtype=np.float32)}
        artifact.write(folder, kind="dataset", settings={}, arrays=arrays, tables=tables)
    artifact.copy(first, target)
    artifact.copy(second, target)
    assert artifact.read_manifest(target) == artifact.read_manifest(second)
    assert artifact.read(target).arrays["a"].tolist() == [1, 1, 1]
    assert len(list(target.iterdir())) == 3, "files of the first are removed"
    # A source that is damaged, or a target of another kind, changes nothing.
    path = next(first.glob("*.parquet"))
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(ArtifactError, match="was changed"):
        artifact.copy(first, target)
    assert artifact.read(target).arrays["a"].tolist() == [1, 1, 1]
    assert len(list(target.iterdir())) == 3, "nothing is left of the copy"
    artifact.write(tmp_path / "other", kind="Teaser", settings={}, arrays={}, tables={})
    with pytest.raises(ArtifactError, match="nothing was written"):
        artifact.copy(tmp_path / "other", target)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (read_bytes, read_settings, open_unpacked, read_unpacked, read_parquet):
        with pytest.raises(FileRefusedError, match=r"a pipe.*, not a regular file"):
            read(tmp_path / "pipe")
        with pytest.raises(FileRefusedError, match="it is a folder"):
            read(tmp_path)
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nothing")


def test_a_regular_file_is_read_also_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a\r\nb")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_bytes(tmp_path / "link") == b"a\r\nb"
    assert read_settings(tmp_path / "link") == "a\nb"


def test_a_file_larger_than_allowed_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as handle:
        handle.truncate(MOST_SETTINGS + 1)
    with pytest.raises(FileRefusedError, match="it has 67 MB, and at most 67 MB are read"):
        read_settings(tmp_path / "large")
    os.truncate(tmp_path / "large", 10 * memory_of_machine())
    with pytest.raises(FileRefusedError, match="are read"):
        read_unpacked(tmp_path / "large")


def test_gzipped_text_is_unpacked_unless_it_expands_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"text"))
    assert read_unpacked(tmp_path / "a.gz") == b"text"
    with open_unpacked(tmp_path / "a.gz") as file:
        assert file.read() == b"text"
    monkeypatch.setattr(files, "_SMALL", 2**20)
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(2**24)))
    with pytest.raises(FileRefusedError, match="expands to more than"):
        read_unpacked(tmp_path / "a.gz")


def test_no_more_memory_is_left_than_there_is() -> None:
    assert 0 < available_memory() <= memory_of_machine()


@pytest.mark.parametrize(
    ("size", "said"), [(0, "0 B"), (1500, "2 kB"), (2.5e6, "2 MB"), (1.25e9, "1.2 GB")]
)
def test_bytes_are_said_for_people(size: float, said: str) -> None:
    assert say_bytes(size) == said


def test_a_table_that_takes_more_memory_than_is_left_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": [["x"], []], "c": [None, "y"]})
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet_bytes(frame))
    assert read_parquet(path).equals(frame)
    monkeypatch.setattr(artifact, "available_memory", lambda: 79)
    with pytest.raises(FileRefusedError, match="its 2 rows take 80 B of memory or more, and 79 B"):
        read_parquet(path)


def test_what_is_no_parquet_is_left_to_its_reader(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    check_parquet(tmp_path / "a.parquet")
    with pytest.raises(pl.exceptions.PolarsError):
        read_parquet(tmp_path / "a.parquet")

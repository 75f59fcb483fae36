"""What stops or accompanies the writer of a folder: strangers' files, full disks, kills, others."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from saved_folder import ARRAYS, TABLES, forge, part, save

from teaser import artifact
from teaser.errors import ArtifactError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    save(path)
    return path


class TestTarget:
    """What is not ours is never written over."""

    def test_a_rewrite_leaves_the_new_content_alone(self, folder: Path) -> None:
        save(folder, size=5)
        assert artifact.read(folder).settings == {"size": 5}
        assert len(list(folder.iterdir())) == 3

    def test_an_empty_folder_is_taken(self, tmp_path: Path) -> None:
        (tmp_path / "m").mkdir()
        save(tmp_path / "m")
        assert artifact.read(tmp_path / "m").kind == "teaser"

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

    def test_a_folder_cannot_be_made_under_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "m").write_text("mine")
        with pytest.raises(ArtifactError, match="could not be written"):
            save(tmp_path / "m" / "n")

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

    def test_a_kind_that_is_a_list_is_damage_too(self, folder: Path) -> None:
        forge(folder, lambda manifest: manifest.update(kind=["teaser"]))
        save(folder, size=5)
        assert artifact.read(folder).settings == {"size": 5}

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

    @pytest.mark.parametrize("call", [1, 2, 3, 4, 5, 6])
    def test_a_full_disk(self, folder: Path, monkeypatch: pytest.MonkeyPatch, call: int) -> None:
        calls = 0
        fsync = os.fsync

        def fail(descriptor: int) -> None:
            nonlocal calls
            calls += 1
            if calls == call:
                raise OSError(28, "No space left on device")
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(ArtifactError, match=r"could not be written.*No space left"):
            save(folder, size=5)
        if call < 6:  # the sixth call follows the rename of the manifest
            self.check_old_content(folder)
        assert len(list(folder.iterdir())) == 3

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
    artifact.replace(target, first)
    artifact.replace(target, second)
    assert artifact.read_manifest(target) == artifact.read_manifest(second)
    assert artifact.read(target).arrays["a"].tolist() == [1, 1, 1]
    assert len(list(target.iterdir())) == 3, "files of the first are removed"
    # A source that is damaged, or a target of another kind, changes nothing.
    path = next(first.glob("*.parquet"))
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(ArtifactError, match="was changed"):
        artifact.replace(target, first)
    assert artifact.read(target).arrays["a"].tolist() == [1, 1, 1]
    assert len(list(target.iterdir())) == 3, "nothing is left of the copy"
    artifact.write(tmp_path / "other", kind="Teaser", settings={}, arrays={}, tables={})
    with pytest.raises(ArtifactError, match="nothing was written"):
        artifact.replace(target, tmp_path / "other")

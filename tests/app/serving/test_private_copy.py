"""A served model is a copy of its own: whatever happens to the folder, it stays as it was."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from teaser import Dataset, Teaser, artifact
from teaser.app.serving.private_copy import (
    PREFIX,
    load_kept,
    load_private,
    make_shared_folder,
    taken_in,
)
from teaser.errors import ArtifactError
from teaser.model import load


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder, tmp_path / "served"))


def spoil(folder: Path) -> None:
    """Cut and overwrite in place, as a careless copy does."""
    for path in folder.iterdir():
        os.truncate(path, 10)


def mapped(part: str) -> set[str]:
    """Return the files that this process has mapped under a name."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if part in line and "safetensors" in line}


@pytest.mark.parametrize("shared", [True, False])
def test_a_folder_that_is_cut_changes_nothing(
    folder: Path, tmp_path: Path, model: Teaser, shared: bool
) -> None:
    served = load_private(folder, shared_folder=tmp_path / "shared" if shared else None)
    spoil(folder)
    np.testing.assert_array_equal(np.asarray(served.encoder_), model.encoder_)
    assert served.recommend(["i1"], k=5) == model.recommend(["i1"], k=5)


def test_without_a_copy_the_process_would_end(folder: Path) -> None:
    """The danger is real: what is guarded against happens to a model that is mapped in place."""
    script = (
        "import os, sys, teaser\n"
        "model = teaser.load(sys.argv[1])\n"
        "for name in os.listdir(sys.argv[1]): os.truncate(os.path.join(sys.argv[1], name), 10)\n"
        "float(model.encoder_.sum())\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True)
    assert done.returncode < 0


def test_a_copy_of_ones_own_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    served = load_private(folder, base=base)
    assert list(base.iterdir()) == []
    assert any("(deleted)" in name for name in mapped(str(base)))
    assert len(served.recommend(["i1"], k=5)) == 5


def test_those_who_share_a_folder_map_one_copy(folder: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    one, two = (load_private(folder, shared_folder=shared) for _ in range(2))
    assert len(mapped(str(shared))) == 1
    assert len(list(shared.glob("model-*"))) == 1
    assert shared.stat().st_mode & 0o077 == 0
    assert one.recommend(["i1"]) == two.recommend(["i1"])


def test_a_new_model_takes_the_place_of_the_old_copy(
    folder: Path, tmp_path: Path, model: Teaser, dataset: Dataset
) -> None:
    shared = tmp_path / "shared"
    old = load_private(folder, shared_folder=shared)
    before = old.recommend(["i1"])
    Teaser(l2_weights=9.0, l2_encoder=5.0).fit(dataset).save(folder)
    new = load_private(folder, shared_folder=shared)
    assert len(list(shared.glob("model-*"))) == 1
    assert old.recommend(["i1"]) == before
    assert new.recommend(["i1"]) != before


def test_what_cannot_be_steered_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    dataset.save(tmp_path / "data")
    told = r"data holds a \w+, and the site needs a Teaser.*teaser fit .*data --out MODEL"
    with pytest.raises(ArtifactError, match=told):
        load_private(tmp_path / "data", base=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_copy_that_was_spoilt_is_made_again(folder: Path, tmp_path: Path, model: Teaser) -> None:
    shared = tmp_path / "shared"
    load_private(folder, shared_folder=shared)
    (copy,) = shared.glob("model-*")
    spoil(copy)
    assert load_private(folder, shared_folder=shared).recommend(["i1"]) == model.recommend(["i1"])


def test_a_damaged_model_is_refused_and_the_kept_copy_stays(folder: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    assert load_kept(shared) is None
    load_private(folder, shared_folder=shared)
    was_written_at = (folder / "manifest.json").stat().st_mtime
    spoil(folder)
    with pytest.raises(ArtifactError, match="served"):
        load_private(folder, shared_folder=shared)
    assert sorted(path.name[:6] for path in shared.iterdir()) == ["kept", "lock", "model-"]
    kept = load_kept(shared)
    assert kept is not None
    model, written_at = kept
    assert len(model.recommend(["i1"], k=5)) == 5
    assert written_at == was_written_at


def test_a_copy_is_kept_only_if_it_serves(
    folder: Path, tmp_path: Path, model: Teaser, dataset: Dataset
) -> None:
    shared = tmp_path / "shared"
    load_private(folder, shared_folder=shared)
    newer = Teaser(l2_weights=9.0, l2_encoder=5.0).fit(dataset)
    for is_good, served in ((False, model), (True, newer)):
        newer.save(folder)
        with suppress(ZeroDivisionError), taken_in(folder, shared) as copy:
            assert load(copy, Teaser).recommend(["i1"]) == newer.recommend(["i1"])
            _ = 1 / is_good
        kept = load_kept(shared)
        assert kept is not None
        assert kept[0].recommend(["i1"]) == served.recommend(["i1"])
    assert len(list(shared.glob("model-*"))) == 1


@pytest.mark.parametrize("shared", [True, False])
def test_a_full_disk_is_a_sentence_and_leaves_no_half(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    place = tmp_path / "place"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("teaser.artifact._copy_checked", full)
    place.mkdir()
    where = {"shared_folder" if shared else "base": place}
    with pytest.raises(ArtifactError, match=r"place: No space left .* TEASER_COPIES"):
        load_private(folder, **where)
    assert {path.name for path in place.iterdir()} <= {"lock"}


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "own"])
def test_a_copy_that_would_not_fit_is_not_begun(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (file,) = folder.glob("*.safetensors")
    file.write_bytes(bytes(10))  # a copy that was begun would find the damage
    usage = shutil.disk_usage(tmp_path)._replace(free=100)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(ArtifactError, match="No space left"):
        load_private(folder, **{"shared_folder" if shared else "base": place})


def test_a_copy_of_a_process_that_was_killed_while_it_was_made_goes(
    folder: Path, tmp_path: Path
) -> None:
    killed = f"""
import os, pathlib
from teaser import artifact
from teaser.app.serving.private_copy import load_private
artifact._copy_checked = lambda *_: os.kill(os.getpid(), 9)
load_private(pathlib.Path({str(folder)!r}), base=pathlib.Path({str(tmp_path)!r}))
"""
    assert subprocess.run([sys.executable, "-c", killed]).returncode == -9
    (left,) = (path for path in tmp_path.iterdir() if path != folder)
    load_private(folder, base=tmp_path)
    assert not left.exists()


def test_a_place_that_is_none_is_a_sentence(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"No such file.*TEASER_COPIES"):
        load_private(folder, base=tmp_path / "none")
    with pytest.raises(ArtifactError, match="TEASER_COPIES"), make_shared_folder(tmp_path / "none"):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(ArtifactError, match="TEASER_COPIES"):
        load_private(folder, shared_folder=tmp_path / "file" / "shared")


def test_a_full_disk_of_the_server_itself_is_not_taken_for_that_of_the_copies(
    tmp_path: Path,
) -> None:
    full = OSError(errno.ENOSPC, "of another place")
    with pytest.raises(OSError, match="of another place") as raised, make_shared_folder(tmp_path):
        raise full
    assert raised.value is full


class TestSharedFolder:
    def test_it_is_private_and_goes_at_the_end(self, tmp_path: Path) -> None:
        with make_shared_folder(tmp_path) as shared:
            assert shared.parent == tmp_path
            assert shared.stat().st_mode & 0o077 == 0
            (shared / "model-1").mkdir()
        assert list(tmp_path.iterdir()) == []

    def test_those_of_the_dead_go_and_those_of_the_living_stay(self, tmp_path: Path) -> None:
        dead = tmp_path / f"{PREFIX}dead"
        (dead / "model-1").mkdir(parents=True)
        other = tmp_path / "teaser-other"
        other.mkdir()
        with make_shared_folder(tmp_path) as first:
            assert not dead.exists()
            with make_shared_folder(tmp_path) as second:
                assert first.exists()
                assert second != first
        assert other.exists()

    def test_a_link_is_not_followed(self, tmp_path: Path) -> None:
        precious = tmp_path / "precious"
        (precious / "inner").mkdir(parents=True)
        base = tmp_path / "base"
        base.mkdir()
        (base / f"{PREFIX}link").symlink_to(precious)
        with make_shared_folder(base):
            assert (precious / "inner").exists()


def test_a_model_replaced_while_it_is_copied_is_still_whole(
    folder: Path, tmp_path: Path, model: Teaser, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[..., None] = artifact._copy_checked
    newer = Teaser(l2_weights=9.0, l2_encoder=5.0).fit(dataset)
    saved: list[bool] = []

    def replaced_meanwhile(*given: object) -> None:
        if not saved:
            saved.append(True)
            newer.save(folder)
        real(*given)

    monkeypatch.setattr("teaser.artifact._copy_checked", replaced_meanwhile)
    served = load_private(folder, shared_folder=tmp_path / "shared")
    assert served.recommend(["i1"]) == newer.recommend(["i1"])
    assert len(list((tmp_path / "shared").glob("model-*"))) == 1


def test_a_folder_that_another_server_took_for_abandoned_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    make = tempfile.mkdtemp

    def removed_at_first(**given: Any) -> str:
        made.append(make(**given))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", removed_at_first)
    with make_shared_folder(tmp_path) as folder:
        assert str(folder) == made[1]
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []

"""Saved folders: they come back whole or are refused with a sentence, whatever happens to them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray
from polars.testing import assert_frame_equal
from saved_folder import ARRAYS, TABLES, part, save

from teaser import artifact
from teaser.errors import ArtifactError


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

    def test_arrays_that_are_all_empty_come_back(self, tmp_path: Path) -> None:
        save(tmp_path / "m", arrays={"none": np.empty((0, 3), np.float32)})
        assert artifact.read(tmp_path / "m").arrays["none"].shape == (0, 3)

    def test_no_array_at_all_comes_back(self, tmp_path: Path) -> None:
        save(tmp_path / "m", arrays={})
        assert artifact.read(tmp_path / "m").arrays == {}

    def test_an_array_in_another_order_keeps_its_meaning(self, tmp_path: Path) -> None:
        turned = np.asfortranarray(ARRAYS["E"])
        save(tmp_path / "m", arrays={"E": turned})
        np.testing.assert_array_equal(artifact.read(tmp_path / "m").arrays["E"], turned)

    def test_settings_keyed_by_numbers_come_back_keyed_by_text(self, tmp_path: Path) -> None:
        save(tmp_path / "m", settings={"by_size": {9: "a", 10: "b"}})
        assert artifact.read(tmp_path / "m").settings == {"by_size": {"9": "a", "10": "b"}}

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

    def test_folders_are_made_on_the_way(self, tmp_path: Path) -> None:
        save(tmp_path / "a" / "b" / "c")
        assert artifact.read(tmp_path / "a" / "b" / "c").kind == "teaser"


class TestMapping:
    def test_arrays_are_mapped_from_the_file(self, folder: Path) -> None:
        base: Any = artifact.read(folder).arrays["E"]
        while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)

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
        with pytest.raises(ArtifactError, match="could not be copied"):
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

    def test_what_cannot_be_written_is_said(self, folder: Path, tmp_path: Path) -> None:
        with pytest.raises(ArtifactError, match="could not be copied"):
            artifact.copy(folder, tmp_path / "no" / "copy")


class TestVerify:
    def test_what_is_whole_passes(self, folder: Path) -> None:
        artifact.verify(folder)

    @pytest.mark.parametrize("suffix", [".safetensors", ".parquet"])
    def test_a_byte_is_enough(self, folder: Path, suffix: str) -> None:
        path = part(folder, suffix)
        path.write_bytes(path.read_bytes()[:-1] + b"\x01")
        with pytest.raises(ArtifactError, match=f"{path.name} was changed"):
            artifact.verify(folder)
        path.unlink()
        with pytest.raises(ArtifactError, match="is missing"):
            artifact.verify(folder)

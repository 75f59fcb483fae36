"""Folders that were damaged, or that a forger signed, are refused with a sentence."""

import os
import struct
from pathlib import Path
from typing import Any

import pytest
from forgery import bomb, forge_file
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_folder import forge, part, save

from teaser import artifact
from teaser.errors import ArtifactError


def replace_file(folder: Path, name: str, content: bytes) -> None:
    """Put other bytes in the place of a file, with size and checksum to match."""
    forge_file(folder, name, lambda path: Path(path).write_bytes(content))


def forge_files(folder: Path, files: Any) -> None:
    forge(folder, lambda manifest: manifest.update(files=files))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    save(path)
    return path


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

    def test_a_manifest_whose_files_make_no_sense(self, folder: Path) -> None:
        cases: list[Any] = [
            [],
            None,
            3,
            {},
            {"arrays": None},
            {"arrays": []},
            {"arrays": {}},
            {"arrays": {"name": 3}},
        ]
        for files in cases:
            forge_files(folder, files)
            with pytest.raises(ArtifactError):
                artifact.read(folder)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"kind": ["Teaser"]}, "kind"),
            ({"kind": {"Teaser": 1}}, "kind"),
            ({"kind": None}, "kind"),
            ({"settings": [["a", 1]]}, "settings"),
            ({"settings": None}, "settings"),
            ({"files": {"tags": {}}}, "arrays"),
            ({"files": {"arrays": {"name": "a", "bytes": -1, "sha256": "x"}}}, "bytes"),
            ({"files": {"arrays": {"name": "a", "bytes": 1.5, "sha256": "x"}}}, "bytes"),
            ({"files": {"arrays": {"name": ["a"], "bytes": 1, "sha256": "x"}}}, "name"),
            ({"files": {"arrays": {"name": "a", "bytes": 1, "sha256": None}}}, "sha256"),
        ],
    )
    def test_a_manifest_with_wrong_types_is_refused_by_all_readers(
        self, folder: Path, change: dict[str, Any], said: str
    ) -> None:
        forge(folder, lambda manifest: manifest.update(change))
        readers = (artifact.read_manifest, artifact.verify, artifact.read)
        for reader in readers:
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
        with pytest.raises(ArtifactError, match="damaged: its footer tells of 1,000,000,000,000"):
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

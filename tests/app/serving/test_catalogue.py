"""A model as the application shows it: cards, pictures, search, filters, replacement."""

import base64
import copy
import os
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from teaser import Category, Dataset, Rules, Tag, Teaser
from teaser.app.serving.catalogue import Catalogue, Holder
from teaser.errors import ArtifactError, UnknownItemError

SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'
PIXEL = base64.b64encode(b"bytes of a picture").decode()


@pytest.fixture(scope="module")
def shop() -> Catalogue:
    interactions = pl.DataFrame({"user_id": [1, 1, 2, 2, 3], "item_id": ["a", "b", "a", "c", "a"]})
    items = pl.DataFrame(
        {
            "item_id": ["a", "b", "c", "d"],
            "title": ["Jazz by the Lys", "Night run", None, "Jazz at noon"],
            "picture": [
                SVG,
                f"data:image/png;base64,{PIXEL}",
                "https://example.org/c.png",
                "javascript:x",
            ],
            "link": ["https://example.org/a", "javascript:alert(1)", None, None],
            "date": ["2026-03-01", "2026-04-01", None, "2026-05-01"],
            "type": ["Concert", "Run", "Run", "Concert"],
            "town": ["Ghent", "Ghent", "Mons", "Mons"],
        }
    )
    roles = {role: role for role in ("title", "picture", "link", "date")}
    rules = Rules((Category("type"), Category("town")), roles)
    return Catalogue(Teaser().fit(Dataset.from_tables(interactions, items, rules=rules)))


def test_a_card_tells_what_the_data_have(shop: Catalogue) -> None:
    card = shop.card("a")
    assert (card.title, card.link, card.date) == (
        "Jazz by the Lys",
        "https://example.org/a",
        date(2026, 3, 1),
    )
    assert card.facts == {"type": ("Concert",), "town": ("Ghent",)}
    assert card.has_picture
    bare = shop.card("c")
    assert (bare.title, bare.link, bare.date, bare.description) == ("c", None, None, None)
    with pytest.raises(UnknownItemError):
        shop.card("zz")


def test_nothing_that_a_browser_would_run_is_a_link_or_a_picture(shop: Catalogue) -> None:
    assert shop.card("b").link is None
    assert shop.picture("d") is None


def test_pictures_come_as_bytes_or_as_an_address(shop: Catalogue) -> None:
    assert shop.picture("a") == ("image/svg+xml", SVG.encode())
    assert shop.picture("b") == ("image/png", b"bytes of a picture")
    assert shop.picture("c") == "https://example.org/c.png"


def test_filters_join_features_by_and_and_values_by_or(shop: Catalogue) -> None:
    concert, run, ghent = Tag("type", "Concert"), Tag("type", "Run"), Tag("town", "Ghent")
    assert shop.allowed([concert]).tolist() == [True, False, False, True]
    assert shop.allowed([concert, run]).all()
    assert shop.allowed([concert, ghent]).tolist() == [True, False, False, False]
    assert not shop.allowed([Tag("type", "Opera")]).any()


def test_a_tag_is_carried_whatever_its_weight(shop: Catalogue) -> None:
    model = copy.copy(shop.model)
    decoder = -shop.model.decoder_
    decoder.data[0] = 0.0
    model._tag_table = replace(model.tag_table_, decoder=decoder)
    turned = Catalogue(model)
    for tag in (Tag("type", "Concert"), Tag("type", "Run"), Tag("town", "Ghent")):
        assert turned.allowed([tag]).tolist() == shop.allowed([tag]).tolist()


def test_filters_by_date_leave_out_what_has_none(shop: Catalogue) -> None:
    assert shop.allowed(first=date(2026, 4, 1)).tolist() == [False, True, False, True]
    assert shop.allowed(last=date(2026, 4, 1)).tolist() == [True, True, False, False]
    assert shop.allowed().all()


def test_features_list_the_commonest_tags_first_and_no_popularity(shop: Catalogue) -> None:
    assert set(shop.features) == {"type", "town"}
    assert sum(len(tags) for tags in shop.features.values()) == 4


class TestHolder:
    @pytest.fixture
    def folder(self, model_folder: Path, tmp_path: Path) -> Path:
        return Path(shutil.copytree(model_folder, tmp_path / "served"))

    def test_a_new_model_is_taken_up_and_the_old_one_stays_usable(
        self, folder: Path, model: Teaser
    ) -> None:
        holder = Holder(folder)
        old = holder.current
        assert not holder.refresh()
        assert holder.current is old
        model.save(folder)
        (folder / "manifest.json").touch()
        assert holder.refresh()
        assert holder.current is not old
        assert old.model.recommend(["i1"]) == holder.current.model.recommend(["i1"])

    def test_a_damaged_model_is_not_taken_up(self, folder: Path) -> None:
        holder = Holder(folder)
        old = holder.current
        (folder / "manifest.json").write_text("{}")
        assert not holder.refresh()
        with pytest.raises(ArtifactError):
            holder.refresh(force=True)
        assert holder.current is old

    def test_a_folder_that_vanishes_changes_nothing_and_is_said(
        self, folder: Path, model: Teaser, caplog: pytest.LogCaptureFixture
    ) -> None:
        holder = Holder(folder)
        assert holder.trouble is None
        shutil.rmtree(folder)
        for _ in range(3):
            assert not holder.refresh()
        assert holder.trouble is not None
        assert len(caplog.records) == 1  # once, not every second
        assert holder.current.model.recommend(["i1"])
        model.save(folder)
        assert holder.refresh()
        assert holder.trouble is None

    def test_a_process_that_begins_anew_goes_on_with_what_the_others_serve(
        self, folder: Path, tmp_path: Path, model: Teaser
    ) -> None:
        room = tmp_path / "room"
        Holder(folder, room=room)
        (folder / "manifest.json").write_text("{}")
        with pytest.raises(ArtifactError):
            Holder(folder)
        late = Holder(folder, room=room)
        assert late.trouble is not None
        assert late.current.model.recommend(["i1"]) == model.recommend(["i1"])
        shutil.rmtree(folder)
        model.save(folder)
        assert late.refresh()
        assert late.trouble is None

    @pytest.mark.parametrize("has_room", [True, False], ids=["shared", "own"])
    @pytest.mark.parametrize("harm", ["cut", "overwritten", "missing"])
    def test_files_harmed_in_place_are_noticed_and_so_is_the_cure(
        self, folder: Path, tmp_path: Path, has_room: bool, harm: str
    ) -> None:
        holder = Holder(folder, room=tmp_path / "room" if has_room else None)
        old = holder.current
        (file,) = folder.glob("*.safetensors")
        content, times = file.read_bytes(), file.stat()
        if harm == "missing":
            file.unlink()
        else:
            file.write_bytes(content[:10] if harm == "cut" else bytes(len(content)))
        assert not holder.refresh()
        assert holder.trouble is not None
        assert file.name in holder.trouble
        assert holder.current is old
        assert not holder.refresh()
        file.write_bytes(content)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a careful copy does
        assert holder.refresh()
        assert holder.trouble is None
        assert holder.current.model.recommend(["i1"]) == old.model.recommend(["i1"])
        assert not holder.refresh()

    def test_a_process_that_begins_anew_sees_the_harm_too(
        self, folder: Path, tmp_path: Path
    ) -> None:
        room = tmp_path / "room"
        Holder(folder, room=room)
        (file,) = folder.glob("*.safetensors")
        os.truncate(file, 10)
        assert Holder(folder, room=room).trouble is not None

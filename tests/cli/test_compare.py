"""compare and transparency: what they print, and how they refuse."""

import json
from pathlib import Path

import pytest
from commands import refused, said
from saved_folder import forge

import teaser


def test_a_difference_is_drawn_and_adds_up(shop: Path) -> None:
    words = ("-i", "i2", "-i", "i6", "--press", "town=Liège:+2", "--boost", "i4:0.5")
    text = said("compare", shop / "model", "i4", "i7", *words)
    wanted = teaser.load(shop / "model").compare(
        "i4", "i7", ["i2", "i6"], {"town=Liège": 2}, boost={"i4": 0.5}
    )
    lines = text.splitlines()
    assert all(word in lines[0] for word in ("Event 4", "Event 7", "difference", "share"))
    assert "Boost" in text
    score = next(line for line in lines if line.startswith("score"))
    told = [f"{x:+.3f}" for x in (wanted.score, wanted.other_score, wanted.difference)]
    assert score.split()[1:] == told
    assert " ".join(text.split()).endswith(wanted.sentence())
    drawn = [float(line.split()[-3]) for line in lines if line.endswith(" %")]
    assert sum(drawn) == pytest.approx(wanted.difference, abs=0.005)


def test_a_difference_is_json(both: Path) -> None:
    found = json.loads(said("compare", both, "i4", "i7", "-i", "i2,i6", "--json"))
    wanted = teaser.load(both).compare("i4", "i7", ["i2", "i6"])
    assert (found["item_id"], found["other_id"]) == ("i4", "i7")
    assert found["difference"] == wanted.difference
    assert [part["difference"] for part in found["parts"]] == [p.difference for p in wanted.parts]
    assert {part["part"] for part in found["parts"]} >= {"tag", "viewed"}


def test_what_both_have_in_the_same_measure_is_one_line(shop: Path) -> None:
    model = teaser.load(shop / "model")
    pair = next(
        (a, b)
        for a in model.items_
        for b in model.items_
        if a != b and any(not p.difference for p in model.compare(a, b, ["i2"]).parts)
    )
    assert "the same for both" in said("compare", shop / "model", *pair, "-i", "i2")


def test_bad_questions_are_one_sentence(shop: Path) -> None:
    for words, part in (
        (("i4", "i4"), "Both items are 'i4'. Name two different ones."),
        (("i4", "j7"), "Unknown item 'j7'"),
        (("i4", "i7", "-i", "zz"), "'zz'"),
        (("i4", "i7", "-p", "town=Gent:+1"), "Closest: town=Ghent"),
    ):
        assert part in refused("compare", shop / "model", *words)


def test_what_decides_is_said(shop: Path) -> None:
    told = teaser.load(shop / "model").transparency_
    assert told is not None
    text = " ".join(said("transparency", shop / "model").split())
    assert all(" ".join(sentence.split()) in text for sentence in told.sentences())
    found = json.loads(said("transparency", shop / "model", "--json"))
    assert teaser.transparency.Transparency.from_dict(found) == told


def test_a_model_that_was_not_measured_is_refused(shop: Path, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    teaser.load(shop / "model").save(folder)
    forge(folder, lambda manifest: manifest["settings"].pop("transparency"))
    assert "was not measured" in refused("transparency", folder)

"""The commands that say why and what: profile, explain, compare, transparency, info, say."""

import json
from pathlib import Path

import pytest
from commands import refused, said

import teaser
from teaser.words.wishes import Wish, recommend_for


def test_a_profile_is_json(shop: Path) -> None:
    found = json.loads(
        said("profile", shop / "model", "-i", "i2,i6", "--press", "town=Liège", "--json")
    )
    library = teaser.load(shop / "model").profile(["i2", "i6"], {"town=Liège": 1})
    assert found["history"] == ["i2", "i6"]
    assert found["affinities"] == {str(t): a for t, a in library.affinities.items()}
    assert found["impacts"] == library.impacts
    assert found["general"] == library.general != 0
    text = said(
        "profile", shop / "model", "-i", "i2,i6", "--press", "general appeal=general appeal:-1"
    )
    (line,) = [line for line in text.splitlines() if line.startswith("General appeal")]
    assert line.rstrip().endswith("-1")


def test_an_explanation_adds_up(shop: Path) -> None:
    text = said("explain", shop / "model", "i4", "-i", "i2")
    assert "because of your affinity of" in text
    assert "score" in text
    found = json.loads(said("explain", shop / "model", "i4", "-i", "i2", "--json"))
    reasons = sum(r["contribution"] for r in found["reasons"])
    assert found["general"] + reasons == pytest.approx(found["score"])
    assert reasons == pytest.approx(sum(found["tags"].values()))
    assert "general appeal adds" in text or "general appeal takes" in text


def test_the_origin_of_an_affinity(shop: Path) -> None:
    text = said("explain", shop / "model", "--tag", "town=Ghent", "-i", "i2,i6")
    assert "Event 6" in text
    found = json.loads(
        said("explain", shop / "model", "--tag", "town=Ghent", "-i", "i2,i6", "--json")
    )
    assert {row["item_id"] for row in found} == {"i2", "i6"}


def test_one_thing_is_explained_at_a_time(shop: Path) -> None:
    for words in (("-i", "i2"), ("i4", "--tag", "town=Ghent")):
        assert "Give an item to explain, or a tag" in refused("explain", shop / "model", *words)
    pressed = ("--tag", "town=Ghent", "--press", "town=Ghent")
    assert "--press does not go with" in refused("explain", shop / "model", *pressed)


def test_info_finds_items_and_tags(shop: Path) -> None:
    assert "Teaser" in said("info", shop / "model")
    assert "dataset" in said("info", shop / "data")
    found = json.loads(said("info", shop / "model", "--find", "event 12", "--json"))
    assert found == {"items": {"i12": "Event 12"}, "tags": []}
    assert said("info", shop / "model", "--find", "zzz").strip() == (
        "Nothing found: no item and no tag contains 'zzz'."
    )
    nothing = json.loads(said("info", shop / "data", "--find", "zzz", "--json"))
    assert nothing == {"items": {}, "tags": []}


def test_bad_questions_are_one_sentence(shop: Path) -> None:
    for words, part in (
        (("-i", "i2,zz"), "'zz'"),
        (("-i", "i2", "-p", "town=Gent:+1"), "Closest: town=Ghent"),
        (("-i", "i2", "-p", "town=Ghent:+7"), "7"),
        (("-i", "i2", "-p", "Gent"), "feature=value"),
        (("-i", "i2", "-k", "0"), "k must be"),
        (("-i", "i2", "--scale", "big"), "scale must be"),
        (("-i", "i2", "--balance", "2"), "balance must be"),
    ):
        assert part in refused("recommend", shop / "model", *words)


def test_contradictions_are_asked_back(shop: Path) -> None:
    text = said("say", shop / "model", "more Ghent, no Ghent")
    assert "These cannot both be: press +4 town=Ghent and without town=Ghent. Which" in text
    assert "cannot both be" in refused("say", shop / "model", "more Ghent, no Ghent", "--apply")


def test_wishes_in_json_with_the_list(shop: Path) -> None:
    found = json.loads(
        said("say", shop / "model", "niet in Gent", "--language", "nl", "--apply", "-i", "i2",
             "-k", 5, "--json")
    )  # fmt: skip
    assert [wish["wish"] for wish in found["wishes"]] == ["without town=Ghent"]
    model = teaser.load(shop / "model", teaser.Teaser)
    expected = recommend_for(model, [Wish("without", "town=Ghent")], ["i2"], k=5)
    assert [r["item_id"] for r in found["recommendations"]] == [r.item_id for r in expected]


def test_how_say_refuses(shop: Path) -> None:
    assert "--today must be a date" in refused("say", shop / "model", "jazz", "--today", "soon")
    assert "Unknown interpreter" in refused("say", shop / "model", "jazz", "--interpreter", "x")
    assert "at most 2,000" in refused("say", shop / "model", "jazz " * 500)


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


def test_what_decides_is_said(shop: Path) -> None:
    told = teaser.load(shop / "model").transparency_
    assert told is not None
    text = " ".join(said("transparency", shop / "model").split())
    assert all(" ".join(sentence.split()) in text for sentence in told.sentences())
    found = json.loads(said("transparency", shop / "model", "--json"))
    assert teaser.transparency.Transparency.from_dict(found) == told

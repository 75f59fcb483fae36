"""What is drawn for a terminal."""

from io import StringIO

import pytest
from rich.console import Console, RenderableType

from teaser import Dataset, Presses, Tag, Teaser
from teaser.cli.output import (
    _signed_bar,
    as_explanation,
    as_recommendation,
    describe_change,
    draw_content,
    draw_explanation,
    draw_origins,
    draw_profile,
    draw_recommendations,
)
from teaser.extensions import Remainder


def drawn(what: RenderableType) -> str:
    out = StringIO()
    Console(file=out, width=140, no_color=True).print(what)
    return out.getvalue()


@pytest.mark.parametrize(
    ("value", "bar"),
    [
        (0.5, " " * 10 + "│" + "▬" * 5),
        (-0.3, " " * 7 + "▬" * 3 + "│"),
        (4.2, " " * 10 + "│" + "▬" * 10),  # bars end where the number goes on
        (0.0, " " * 10 + "│"),
    ],
)
def test_bars_go_right_for_a_liking_and_end_at_one(value: float, bar: str) -> None:
    assert _signed_bar(value).plain == bar


def test_a_profile_shows_impacts_affinities_and_presses(model: Teaser) -> None:
    profile = model.profile(["i2", "i4"], Presses().press("town=Ghent", 2))
    lines = drawn(draw_profile(profile, per_feature=2)).splitlines()
    shown = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert shown[0] == "General"
    assert f"{profile.general:+.2f}" in lines[0]
    assert set(shown[1:-1]) == {"Type", "Town", "Labels", "Popularity"}
    ghent = next(line for line in lines if "Ghent" in line)
    assert f"{profile.affinities[Tag('town', 'Ghent')]:+.2f}" in ghent
    assert ghent.rstrip().endswith("+2")
    assert "fairly sure" in lines[-1]


def test_a_list_shows_how_items_moved(model: Teaser) -> None:
    before = model.recommend(["i2"], k=5)
    after = model.recommend(["i2"], {"type=film": 5}, k=5)
    text = drawn(draw_recommendations(after, before=before))
    assert "new" in text
    assert str(after[0].item_id) in text
    assert "new" not in drawn(draw_recommendations(before))


def test_a_change_is_counted(model: Teaser) -> None:
    a, b, c, d = model.recommend(["i2"], k=4)
    assert describe_change([a, b, c], [c, a, d]) == "1 item rose, 1 is new on this list, 1 left it."
    assert describe_change([a, b], [a, b]) == "0 items rose, 0 are new on this list, 0 left it."


def test_an_explanation_ends_with_the_sum(model: Teaser) -> None:
    found = model.explain("i4", ["i2"])
    last = drawn(draw_explanation(found)).splitlines()[-1]
    assert last.startswith("score")
    assert f"{found.score:+.3f}" in last
    lines = drawn(draw_explanation(found)).splitlines()
    (appeal,) = [line for line in lines if line.startswith("General appeal")]
    assert f"{found.general:+.3f}" in appeal
    sums = {"general": found.general, "tags": sum(found.tags.values()), "viewed": 0.0}
    for line, (name, part) in zip(lines[-4:-1], sums.items(), strict=True):
        assert line.split() == [name, f"{part:+.3f}"]


def test_origins_end_with_the_sum(model: Teaser) -> None:
    origins = model.origins("town=Ghent", ["i2", "i5"])
    text = drawn(draw_origins(origins, {"i2": "Event 2"}))
    assert "Event 2  i2" in text
    assert text.splitlines()[-1].split()[-1] == f"{sum(origins.values()):+.5f}"


def test_both_kinds_of_reasons_are_drawn(dataset: Dataset) -> None:
    both = Teaser(l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(l2=20.0)).fit(dataset)
    text = drawn(draw_recommendations(both.recommend(["i1", "i5"], k=3)))
    assert "% viewed Event 1" in text
    assert "film" in text
    found = both.explain("i3", ["i1", "i5"])
    lines = drawn(draw_explanation(found)).splitlines()
    for name in ("1", "5"):
        (line,) = [line for line in lines if f"Event {name}" in line]
        assert line.startswith("Viewed")
        assert f"{found.viewed[f'i{name}']:+.3f}" in line
    said = as_explanation(found)
    assert said["viewed"] == found.viewed
    assert {r["sentence"] for r in said["reasons"]} == set(found.sentences()[1:])
    assert found.sentences()[0].startswith("general appeal")
    (place,) = (as_recommendation(r) for r in both.recommend(["i1", "i5"], k=1))
    kinds = {"tag" in reason for reason in place["reasons"]}
    assert kinds == {True, False}


def test_without_a_remainder_json_says_nothing_of_views(model: Teaser) -> None:
    said = as_explanation(model.explain("i4", ["i2"]))
    assert "viewed" not in said
    assert list(said)[:4] == ["item_id", "title", "score", "match"]


def test_what_a_folder_holds_is_headings_and_entries() -> None:
    content = {"items": 3, "tags": {"town": 2, "type": 1}, "found": ["[a]", "b"]}
    lines = list(draw_content(content))
    assert [line.plain for line in lines] == [
        *("items", "  3", "tags", "  town  2", "  type  1", "found", "  [a]", "  b"),
    ]
    assert [str(line.style) for line in lines].count("bold") == 3

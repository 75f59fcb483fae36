"""What is drawn for a terminal."""

from io import StringIO

import pytest
from rich.console import Console, RenderableType

from teaser import Presses, Teaser
from teaser.terminal import (
    _signed_bar,
    draw_explanation,
    draw_origins,
    draw_profile,
    draw_recommendations,
    say_change,
)


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
    assert set(shown[:-1]) == {"Type", "Town", "Labels", "Popularity"}
    ghent = next(line for line in lines if "Ghent" in line)
    assert f"{profile.top(1, feature='town')[0][1]:+.2f}" in ghent
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
    assert say_change([a, b, c], [c, a, d]) == "1 items rose, 1 are new on this list, 1 left it."
    assert say_change([a, b], [a, b]) == "0 items rose, 0 are new on this list, 0 left it."


def test_an_explanation_ends_with_the_sum(model: Teaser) -> None:
    found = model.explain("i4", ["i2"])
    last = drawn(draw_explanation(found)).splitlines()[-1]
    assert last.startswith("score")
    assert f"{found.score:+.3f}" in last


def test_origins_end_with_the_sum(model: Teaser) -> None:
    origins = model.origins("town=Ghent", ["i2", "i5"])
    text = drawn(draw_origins(origins, {"i2": "Event 2"}))
    assert "Event 2  i2" in text
    assert text.splitlines()[-1].split()[-1] == f"{sum(origins.values()):+.5f}"

import re

import pytest

from teaser import Teaser
from teaser.notebook.waterfall import Step, draw_waterfall


def numbers(drawn: str, place: int) -> list[float]:
    """Return a column of numbers of the table's body."""
    body = drawn[drawn.index("<tbody>") : drawn.index("</tbody>")]
    rows = re.findall(r"<tr>(.*?)</tr>", body)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)[place] for row in rows]
    return [float(re.sub(r"<[^>]+>", "", cell).replace("−", "-")) for cell in cells]


def test_steps_add_up_to_the_score() -> None:
    steps = [Step("general appeal", "", 0.5), Step("Drama", "genre", -0.75, -1.5, 0.5)]
    drawn = draw_waterfall("Dune", [*steps, Step("Solaris", "viewed", 1.0)], score=0.75, match=0.6)
    assert "<strong>Why Dune</strong>" in drawn
    assert "score 0.750, 60 % match" in drawn
    assert numbers(drawn, 2) == [0.5, -0.75, 1.0]
    assert numbers(drawn, 3) == [0.5, -0.25, 0.75]
    assert "−1.50 × 0.50" in drawn
    assert 'Drama<span class="soft"> (genre)</span>' in drawn
    assert '<tfoot><tr><th scope="row">score</th>' in drawn


def test_the_weight_of_tags_is_shown_as_a_factor() -> None:
    drawn = draw_waterfall("a", [Step("x", "f", 0.3, 0.5, 1.0)], score=0.3, match=1.0)
    assert "+0.50 × 1.00 × 0.60" in drawn


def test_small_steps_are_told_together() -> None:
    steps = [Step("large", "f", 10.0), *(Step(f"s{n}", "f", 0.01 * (-1) ** n) for n in range(5))]
    drawn = draw_waterfall("a", steps, score=10.01, match=1.0)
    assert "5 more" in drawn
    assert "s0" not in drawn
    assert numbers(drawn, 2) == [10.0, 0.01]
    drawn = draw_waterfall("a", steps[:2], score=10.01, match=1.0)
    assert "more" not in drawn  # one small step keeps its name
    assert "s0" in drawn


def test_names_are_escaped_and_nothing_is_no_error() -> None:
    bad = "<script>x</script>"
    assert "<script" not in draw_waterfall(
        bad, [Step(bad, bad, 1.0)], score=1.0, match=1.0, note=bad
    )
    assert "score 0.000" in draw_waterfall("a", [], score=0.0, match=0.0)


def test_an_explanation_draws_itself(model: Teaser) -> None:
    said = model.explain("i4", ["i1", "i5"], {"town=Ghent": 1})
    drawn = said._repr_html_()
    assert f"Why {said.title}" in drawn
    assert numbers(drawn, 3)[-1] == pytest.approx(said.score, abs=0.0006)
    assert numbers(drawn, 2)[0] == pytest.approx(said.general, abs=0.0006)

"""The difference of two scores as a waterfall."""

import re

import pytest

from teaser import Teaser
from teaser.notebook.difference_view import Step, draw_difference


def numbers(drawn: str, place: int) -> list[float]:
    """Return a column of numbers of the table's body, but for its first row."""
    body = drawn[drawn.index("<tbody>") : drawn.index("</tbody>")]
    rows = re.findall(r"<tr>(.*?)</tr>", body)[1:]
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)[place] for row in rows]
    return [float(re.sub(r"<[^>]+>", "", cell).replace("−", "-")) for cell in cells]


def test_steps_lead_from_one_score_to_the_other() -> None:
    steps = [Step("Jazz", "genre", 0.5, 0.1), Step("Alien", "viewed", 0.0, 0.25)]
    drawn = draw_difference(("Miles", "Dune"), steps, scores=(0.5, 0.35))
    assert "<strong>Miles against Dune</strong>" in drawn
    assert "difference +0.150" in drawn
    assert [numbers(drawn, place) for place in (1, 2, 3, 4)] == [
        [0.5, 0.0], [0.1, 0.25], [0.4, -0.25], [0.75, 0.5]
    ]  # fmt: skip
    assert 'Jazz<span class="soft"> (genre)</span>' in drawn
    assert '<th scope="row">score of Dune</th>' in drawn
    assert '<tfoot><tr><th scope="row">score of Miles</th>' in drawn


def test_small_steps_are_told_together() -> None:
    small = [Step(f"s{n}", "f", 0.02, 0.01) for n in range(5)]
    steps = [Step("large", "f", 10.0, 0.0), *small]
    drawn = draw_difference(("a", "b"), steps, scores=(10.1, 0.05))
    assert "5 more" in drawn
    assert "s0" not in drawn
    assert [numbers(drawn, place) for place in (1, 2)] == [[10.0, 0.1], [0.0, 0.05]]
    drawn = draw_difference(("a", "b"), steps[:2], scores=(10.02, 0.01))
    assert "more" not in drawn
    assert "s0" in drawn


def test_names_are_escaped_and_nothing_is_no_error() -> None:
    bad = "<script>x</script>"
    drawn = draw_difference((bad, bad), [Step(bad, bad, 1.0, 0.0)], scores=(1.0, 0.0), note=bad)
    assert "<script" not in drawn
    assert "difference +0.000" in draw_difference(("a", "b"), [], scores=(0.0, 0.0))


def test_a_difference_draws_itself(model: Teaser) -> None:
    found = model.compare("i4", "i7", ["i1", "i5"], {"town=Ghent": 1})
    drawn = found._repr_html_()
    assert f"{found.title} against {found.other_title}" in drawn
    assert numbers(drawn, 4)[-1] == pytest.approx(found.score, abs=0.0006)
    assert sum(numbers(drawn, 3)) == pytest.approx(found.difference, abs=0.006)

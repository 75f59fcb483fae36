"""What objects look like in a notebook: complete, escaped, readable in light and dark."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from IPython.lib import pretty

from teaser import Teaser, notebook
from teaser.baselines import EASE, Product
from teaser.notebook import Card, draw_difference, draw_list, draw_waterfall
from teaser.steps import Step, arrange
from teaser.testing import example_dataset

# What IPython writes in a terminal; it has no types.
in_terminal: Callable[[object], str] = pretty.pretty
STYLE = Path(notebook.__file__).with_suffix(".css").read_text()
RULE = ".teaser-out.teaser-out.teaser-out"
BAD = '<script>alert("x")</script>'


def numbers(drawn: str, place: int) -> list[float]:
    """Return a column of numbers of a table's body; cells without a number are left out."""
    body = drawn[drawn.index("<tbody>") : drawn.index("</tbody>")]
    rows = re.findall(r"<tr>(.*?)</tr>", body)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)[place] for row in rows]
    texts = [re.sub(r"<[^>]+>", "", cell).replace("−", "-") for cell in cells]
    return [float(text) for text in texts if text]


def test_everything_given_is_escaped() -> None:
    step = Step("tag", BAD, BAD, 1.0)
    for drawn in (
        draw_waterfall(BAD, [step], score=1.0, match=1.0, note=BAD),
        draw_difference((BAD, BAD), [step], scores=(1.0, 0.0), note=BAD),
        draw_list([Card(BAD, BAD, 1.0, [(1.0, BAD)], BAD)], notes=[BAD]),
    ):
        assert "<script" not in drawn
        assert "&lt;script&gt;" in drawn


def test_an_output_needs_nothing_from_elsewhere() -> None:
    made = draw_list([])
    assert made.count("<style>") == 1
    for name in ("http:", "https:", "url(", "@import", "src=", "<script"):
        assert name not in made


def test_every_rule_of_the_style_is_about_our_outputs() -> None:
    rules = re.sub(r"@(media|container)[^{]*|/\*.*?\*/", "", STYLE, flags=re.S)
    depth, outer = 0, ""
    for letter in rules:
        outer += letter if depth == 0 else ""
        depth += {"{": 1, "}": -1}.get(letter, 0)
    heads = [head.strip() for head in re.split(r"[{}]", outer) if head.strip()]
    assert heads
    for head in heads:
        assert all(RULE in part for part in head.split(",")), head


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_texts_contrast_with_their_ground() -> None:
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", STYLE)
    colours = {name: (light, dark) for name, light, dark in pairs}
    for text in ("ink", "soft", "teal", "orange"):
        for ground in ("card", "raised"):
            for scheme in (0, 1):
                pair = (colours[text][scheme], colours[ground][scheme])
                high, low = sorted(map(luminance, pair), reverse=True)
                assert (high + 0.05) / (low + 0.05) >= 4.5


def test_a_waterfall_shows_every_step_and_the_sum() -> None:
    steps = [Step("general", "general appeal", "", 0.5)]
    steps += [Step("tag", "Drama", "genre", -0.75, affinity=-1.5, weight=0.5)]
    steps = arrange([*steps, Step("viewed", "Solaris", "viewed", 1.0)])
    drawn = draw_waterfall("Dune", steps, score=0.75, match=0.6)
    assert numbers(drawn, 2) == [0.5, -0.75, 1.0]
    assert numbers(drawn, 3) == [0.5, -0.25, 0.75]
    assert "−1.50 × 0.50" in drawn
    assert "score 0.000" in draw_waterfall("a", [], score=0.0, match=0.0)


def test_small_steps_are_one_row() -> None:
    parts = [Step("tag", "large", "f", 10.0)]
    parts += [Step("tag", f"s{n}", "f", 0.01 * (-1) ** n) for n in range(5)]
    drawn = draw_waterfall("a", arrange(parts), score=10.01, match=1.0)
    assert "5 more" in drawn
    assert "s0" not in drawn
    assert numbers(drawn, 2) == [10.0, 0.01]


def test_explanations_and_differences_draw_themselves(model: Teaser) -> None:
    said = model.explain("i4", ["i1", "i5"], {"town=Ghent": 1})
    assert numbers(said._repr_html_(), 3)[-1] == pytest.approx(said.score, abs=0.0006)
    found = model.compare("i4", "i7", ["i1", "i5"], {"town=Ghent": 1})
    drawn = found._repr_html_()
    assert f"{found.title} against {found.other_title}" in drawn
    assert numbers(drawn, 4)[-1] == pytest.approx(found.score, abs=0.0006)
    assert sum(numbers(drawn, 3)) == pytest.approx(found.difference, abs=0.006)


def test_lists_draw_themselves_with_their_reasons(model: Teaser) -> None:
    found = model.recommend(["i1", "i5"], k=3)
    drawn = found._repr_html_()
    for r in found:
        assert str(r.title) in drawn
        for reason in r.reasons:
            assert f"{round(100 * reason.share)} %".replace("-", "−") in drawn
    assert "general appeal" in drawn
    assert "Nothing can be recommended" in found[:0]._repr_html_()
    assert len(in_terminal(found).splitlines()) == 3
    many = draw_list([Card(str(n), str(n), 1.0, []) for n in range(1024)])
    assert "1,000 more" in many
    assert "<table" in model.recommend_batch([["i1"], ["i2"]], k=2)._repr_html_()


def test_a_product_says_what_its_reasons_cover() -> None:
    product = Product(Teaser(l2_weights=5.0, l2_encoder=5.0), EASE()).fit(example_dataset())
    for found in (product.recommend(["i1", "i5"], k=1), product.explain("i4", ["i1"])):
        assert "which has no reasons." in found._repr_html_()

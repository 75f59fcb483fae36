"""What objects look like in a notebook: escaped, readable in light and dark."""

import re
from pathlib import Path

import pytest

from teaser import Teaser, notebook
from teaser.baselines import EASE, Popularity, Product
from teaser.extensions import Remainder
from teaser.notebook import (
    Card,
    FeatureBars,
    TagBar,
    draw_difference,
    draw_list,
    draw_profile,
    draw_waterfall,
)
from teaser.steps import Step
from teaser.testing import example_dataset

STYLE = Path(notebook.__file__).with_suffix(".css").read_text()
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
        draw_profile(
            [FeatureBars(BAD, 1.0, [TagBar(BAD, 1.0)])], general=0.0, certainty=1.0, seen=1
        ),
    ):
        assert "<script" not in drawn
        assert "&lt;script&gt;" in drawn


def test_an_output_needs_nothing_from_elsewhere() -> None:
    made = draw_list([])
    assert made.count("<style>") == 1
    for name in ("http:", "https:", "url(", "@import", "src=", "<script"):
        assert name not in made


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


def test_explanations_and_differences_draw_themselves(model: Teaser) -> None:
    said = model.explain("i4", ["i1", "i5"], {"town=Ghent": 1})
    assert numbers(said._repr_html_(), 3)[-1] == pytest.approx(said.score, abs=0.0006)
    found = model.compare("i4", "i7", ["i1", "i5"], {"town=Ghent": 1})
    drawn = found._repr_html_()
    assert f"{found.title} against {found.other_title}" in drawn
    assert numbers(drawn, 4)[-1] == pytest.approx(found.score, abs=0.0006)
    assert sum(numbers(drawn, 3)) == pytest.approx(found.difference, abs=0.006)


def test_models_draw_themselves_fitted_or_not(model: Teaser) -> None:
    assert "not fitted yet" in Teaser(remainder=Remainder(l2=5.0))._repr_html_()
    drawn = model._repr_html_()
    assert "40 items" in drawn
    assert f"{len(model.tags_)} tags" in drawn
    assert f"{model.iterations_} iterations" in drawn
    assert "40 items" in Popularity().fit(example_dataset())._repr_html_()
    product = Product(model, EASE().fit(example_dataset()))
    assert "40 items" in product._repr_html_()
    assert "not fitted yet" in Product(Teaser(), EASE())._repr_html_()

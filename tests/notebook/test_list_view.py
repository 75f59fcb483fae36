import re
from collections.abc import Callable

from IPython.lib import pretty

from teaser import Teaser
from teaser.baselines import EASE, Product
from teaser.notebook.list_view import SHOWN, Card, draw_list
from teaser.recommendation import Recommendations
from teaser.testing import example_dataset

# What IPython writes in a terminal; it has no types.
in_terminal: Callable[[object], str] = pretty.pretty

BAD = "<img src=x onerror=alert(1)>"


def test_cards_name_items_with_match_and_reasons() -> None:
    card = Card("Dune", "b1", 0.93, [(0.4, "science fiction (genre)"), (-0.2, "long (length)")])
    drawn = draw_list([card, Card("b2", "b2", 0.5, [], "Half of it.")], notes=["Two ids ignored."])
    assert "<strong>2 recommended items</strong>" in drawn
    assert "<strong>Dune</strong>" in drawn
    assert '<span class="n up">93 %</span> match <span class="soft">b1</span>' in drawn
    assert '<ul class="reasons" aria-label="Why Dune">' in drawn
    assert '<span class="n down">−20 %</span> <span>long (length)</span>' in drawn
    assert "Half of it." in drawn
    assert "Two ids ignored." in drawn
    assert drawn.count("b2") == 1  # the id is the name


def test_titles_and_reasons_are_escaped() -> None:
    drawn = draw_list([Card(BAD, BAD, 1.0, [(1.0, BAD)], BAD)], notes=[BAD])
    assert "<img" not in drawn
    assert drawn.count("&lt;img") == 5  # title, label, reason, note, note of the list


def test_long_and_empty_lists_say_so() -> None:
    many = draw_list([Card(str(n), str(n), 1.0, []) for n in range(SHOWN + 1000)])
    assert many.count("<li>") == SHOWN
    assert "1,000 more; to_frame() has all of them." in many
    assert "Nothing can be recommended" in draw_list([])
    assert "<strong>1 recommended item</strong>" in draw_list([Card("a", "a", 1.0, [])])


def test_recommendations_draw_themselves(model: Teaser) -> None:
    found = model.recommend(["i1", "i5"], k=3)
    drawn = found._repr_html_()
    assert isinstance(found, Recommendations)
    for r in found:
        assert f"<strong>{r.title}</strong>" in drawn
        for reason in r.reasons:
            assert f"{round(100 * reason.share)} %".replace("-", "−") in drawn
    assert "general appeal" in drawn
    assert re.search(r"\((Type|Town|Labels)\)", drawn)


def test_a_terminal_gets_lines(model: Teaser) -> None:
    found = model.recommend(["i1", "i5"], k=2)
    lines = in_terminal(found).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"  1. {found[0].match:.0%}  {found[0].title}: +")
    assert in_terminal(found[:0]) == "[]"


def test_a_product_says_what_its_reasons_cover() -> None:
    product = Product(Teaser(l2_weights=5.0, l2_encoder=5.0), EASE()).fit(example_dataset())
    found = product.recommend(["i1", "i5"], k=1)
    assert "which has no reasons." in found._repr_html_()
    assert "which has no reasons." in product.explain("i4", ["i1"])._repr_html_()


def test_other_lists_are_tables(model: Teaser) -> None:
    lists = model.recommend_batch([["i1"], ["i2"]], k=2)
    drawn = lists._repr_html_()
    assert "<table" in drawn
    assert "Event" in drawn

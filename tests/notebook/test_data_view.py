import polars as pl

from teaser import Category, Dataset, Rules, Year
from teaser.testing import example_dataset, example_tables

BAD = "<script>x</script>"


def test_a_data_set_draws_what_was_read() -> None:
    data = example_dataset()
    drawn = data._repr_html_()
    assert f"{data.n_users:,} users, {data.n_items:,} items" in drawn
    assert repr(data).startswith("<Dataset: 300 users, 40 items, ")
    assert "concert, film" in drawn
    assert data.lines()[0] in drawn
    assert "<summary>Rules</summary>" in drawn


def test_a_data_set_without_tags_says_so() -> None:
    interactions, items = example_tables()
    drawn = Dataset.from_tables(interactions, items, rules=())._repr_html_()
    assert "There are no tags." in drawn


def test_rules_draw_themselves() -> None:
    drawn = Rules((Category("genre"), Year("year", width=5, feature="era")))._repr_html_()
    assert "2 columns become tags" in drawn
    assert "width = 5" in drawn


def test_what_people_wrote_into_tables_is_escaped() -> None:
    interactions, items = example_tables()
    odd = items.with_columns(pl.lit(BAD).alias("type"), pl.lit(BAD).alias("title")).rename(
        {"town": "<i>town"}
    )
    data = Dataset.from_tables(interactions, odd, rules=[Category("type"), Category("<i>town")])
    drawn = data._repr_html_() + data.rules._repr_html_()
    assert "<script" not in drawn
    assert "<i>" not in drawn

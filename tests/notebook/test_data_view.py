import polars as pl

from teaser import Category, Dataset
from teaser.testing import example_tables

BAD = "<script>x</script>"


def test_what_people_wrote_into_tables_is_escaped() -> None:
    interactions, items = example_tables()
    odd = items.with_columns(pl.lit(BAD).alias("type"), pl.lit(BAD).alias("title")).rename(
        {"town": "<i>town"}
    )
    data = Dataset.from_tables(interactions, odd, rules=[Category("type"), Category("<i>town")])
    drawn = data._repr_html_() + data.rules._repr_html_()
    assert "<script" not in drawn
    assert "<i>" not in drawn

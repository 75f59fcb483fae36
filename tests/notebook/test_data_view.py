import polars as pl

from teaser import Category, Dataset, Rules, Year
from teaser.notebook import draw_dataset, draw_rules, rule_tables
from teaser.testing import example_dataset, example_tables

BAD = "<script>x</script>"


def test_rules_show_columns_settings_and_what_is_not_used() -> None:
    rules = [{"kind": "year", "column": "released", "feature": "decade", "width": 10}]
    drawn = draw_rules(rules, {"title": "name"}, {"isbn": "every value is different"})
    assert "1 column becomes tags" in drawn
    assert '<th scope="row">released</th><td>year</td><td>decade</td><td>width = 10</td>' in drawn
    assert '<th scope="row">title</th><td>name</td>' in drawn
    assert "every value is different" in drawn
    assert "No column becomes tags." in draw_rules([], {}, {})
    assert "<script" not in rule_tables([{"kind": BAD, "column": BAD}], {BAD: BAD}, {BAD: BAD})


def test_warnings_stand_out() -> None:
    found = {
        "users": 1200,
        "items": 30,
        "interactions": 5000,
        "report": ["12 rows read", "warning: too few"],
        "tags": {"town": 2},
        "rules": [],
        "roles": {},
        "skipped": {},
    }
    drawn = draw_dataset(found, {"town": ["Ghent", BAD]})
    assert "1,200 users" in drawn
    assert "<li>12 rows read</li>" in drawn
    assert '<strong class="down">warning:</strong> too few' in drawn
    assert "Ghent, &lt;script&gt;" in drawn


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

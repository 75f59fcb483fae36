"""The tables of the fields of rules."""

from website import rule_fields
from website.references import DOCS

from teaser.data.rules import KINDS, ROLES


def test_the_rule_page_has_the_fields_of_every_kind_and_every_role() -> None:
    page = (DOCS / "users" / "data.md").read_text()
    assert rule_fields.described(page) == [rule_fields.COMMON, *KINDS]
    for role in ROLES:
        assert f"\n| `{role}` | " in page
    for kind, rule in KINDS.items():
        assert f"\n### {kind}\n" in page
        own = set(rule_fields.parameter_texts(rule))
        assert own <= {
            line.split("`")[1] for line in rule_fields.field_table(kind).split("\n")[2:-1]
        }


def test_fields_are_told_by_type_default_and_meaning() -> None:
    table = rule_fields.field_table("number")
    assert "| `bins` | whole number | `10` | How many bins" in table
    assert "| `edges` | list of numbers | none | The boundaries" in table
    assert r'| `separator` | text | `"\|"` |' in rule_fields.field_table("list")
    assert "| `column` | text or list of texts | *needed* |" in rule_fields.field_table("text")
    assert "min_items" not in rule_fields.field_table("year")

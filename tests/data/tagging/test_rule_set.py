"""Sets of rules: what they refuse, and how they are written as TOML."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminal import pretty

from teaser.data.rules import Category, ListOf, Number, Rule, Rules, Text, Year, as_rules
from teaser.errors import RuleError

# The constructors as a program without type checks calls them.
ANY: Any = (Category, ListOf, Number, Text, Year)
category, list_of, number, text, year = ANY
WRONG_RULES = [
    (category("x", min_items="3"), "a whole number from 1 as min_items, found '3'"),
    (category("x", min_items=0), "a whole number from 1 as min_items, found 0"),
    (category("x", min_items=True), "as min_items, found True"),
    (category("x", min_items=1.5), "as min_items, found 1.5"),
    (category("x", feature=3), "a name as feature, found 3"),
    (category(3), "needs the name of a column, found 3"),
    (category(""), "needs the name of a column, found ''"),
    (category(("a", "b")), "needs the name of a column"),
    (category("a=b"), "a feature called 'a=b'"),
    (category("x", feature="a=b"), "a feature called 'a=b'"),
    (category("x", feature=" "), "a feature called ''"),
    (list_of("x", separator=5), "a text that is not empty as separator, found 5"),
    (list_of("x", separator=""), "a text that is not empty as separator, found ''"),
    (number("x", bins=1), "2 to 1,000 bins, found 1"),
    (number("x", bins=10**9), "2 to 1,000 bins, found 1,000,000,000"),
    (number("x", bins="4"), "a whole number as bins, found '4'"),
    (number("x", edges=("a", "b")), "finite numbers as edges"),
    (number("x", edges="ab"), "finite numbers as edges"),
    (number("x", edges=5), "finite numbers as edges, found 5"),
    (number("x", edges=(1.0, math.nan)), "finite numbers as edges"),
    (number("x", edges=(1.0, math.inf)), "finite numbers as edges"),
    (number("x", edges=(10**400,)), "finite numbers as edges"),
    (number("x", edges=(True,)), "finite numbers as edges"),
    (number("x", edges=(2, 1)), "needs edges that ascend"),
    (number("x", edges=(1, 1)), "needs edges that ascend"),
    (number("x", labels=("a", "b")), "has labels but no edges"),
    (number("x", edges=(1,), labels=("a",)), "has 1 edges and 1 labels"),
    (number("x", edges=(1,), labels=("a", " ")), "names as labels"),
    (number("x", edges=(1,), labels=(1, 2)), "names as labels"),
    (number("x", unit=3), "a word as unit"),
    (year("x", width=0), "a whole number from 1 as width, found 0"),
    (year("x", width=2.5), "a whole number from 1 as width, found 2.5"),
    (text(()), "needs the name of a column"),
    (text(("a", 3)), "needs the name of a column"),
    (text(3), "needs the name of a column, found 3"),
    (text("x", min_share=0.5, max_share=0.5), "0 <= min_share < max_share <= 1"),
    (text("x", min_share=-0.1), "0 <= min_share < max_share <= 1"),
    (text("x", max_share=2), "0 <= min_share < max_share <= 1"),
    (text("x", min_share="1"), "a number as min_share"),
    (text("x", max_share=math.nan), "a number as max_share"),
    (text("x", stop_words="german"), "unknown stop words 'german'. Known: english"),
    (text("x", stop_words=5), "a language or a list of words as stop_words"),
    (text("x", min_length=0), "a whole number from 1 as min_length"),
]


class TestChecks:
    def test_invalid_settings_are_refused(self) -> None:
        for rule, complaint in WRONG_RULES:
            with pytest.raises(RuleError, match=re.escape(complaint)):
                Rules((rule,))

    def test_only_rules_are_rules(self) -> None:
        cases: list[Any] = ["genre", None, {"kind": "category"}, Rule("x"), Category]
        for thing in cases:
            with pytest.raises(RuleError, match="A rule must be one of category, list"):
                Rules((thing,))

    def test_an_unknown_role_is_named_with_the_closest(self) -> None:
        with pytest.raises(RuleError, match=r"Unknown role 'titel'.*Closest: title"):
            Rules((Category("x"),), {"titel": "x"})

    def test_edges_may_come_as_any_sequence(self) -> None:
        for edges in ([1, 2], np.array([1.0, 2.0])):
            assert Rules((number("x", edges=edges),)).tags == (Number("x", edges=(1.0, 2.0)),)

    def test_a_feature_is_called_after_its_column_unless_named(self) -> None:
        assert Category(" Main  genre ").name == "Main genre"
        assert Category("x", feature="genre").name == "genre"


name = st.text(min_size=1).filter(lambda t: "=" not in t and t.strip())
finite = st.floats(allow_nan=False, allow_infinity=False)
shared = {"column": name, "feature": st.just("") | name, "min_items": st.integers(1, 99)}
shares = st.tuples(st.floats(0, 0.4), st.floats(0.5, 1))
any_rule = st.one_of(
    st.builds(Category, **shared),
    st.builds(ListOf, **shared, separator=st.text(min_size=1)),
    st.builds(Number, **shared, bins=st.integers(2, 99), unit=st.text()),
    st.lists(finite, min_size=1, unique=True)
    .map(sorted)
    .flatmap(
        lambda edges: st.builds(
            Number,
            **shared,
            edges=st.just(tuple(edges)),
            labels=st.just(())
            | st.lists(name, min_size=len(edges) + 1, max_size=len(edges) + 1).map(tuple),
        )
    ),
    st.builds(Year, **shared, width=st.integers(1, 99)),
    shares.flatmap(
        lambda share: st.builds(
            Text,
            **{**shared, "column": name | st.lists(name, min_size=1).map(tuple)},
            min_share=st.just(share[0]),
            max_share=st.just(share[1]),
            stop_words=st.sampled_from(["english", "dutch", "french", ""])
            | st.lists(st.text()).map(tuple),
            min_length=st.integers(1, 9),
        )
    ),
)
any_rules = st.builds(
    Rules,
    st.lists(any_rule, max_size=4).map(tuple),
    st.dictionaries(st.sampled_from(["title", "description", "picture", "link", "date"]), name),
    st.dictionaries(st.text(), st.just("it is empty")),
)


RULE = '[[tags]]\nkind = "category"\ncolumn = "x"\n'
MISTAKES = [
    (RULE + 'min_items = "3"', "In rule 1 of .*rules.toml: .*as min_items, found '3'"),
    (RULE + "min_item = 3", "'min_item' in rule 1 of .*Closest: min_items"),
    (RULE + 'feature = "a=b"', "rule 1 of .*without equal signs"),
    (RULE + "[[tags]]", "in rule 2 of"),
    ('[[tags]]\nkind = "list"\ncolumn = "x"\nseparator = 5', "rule 1 of .*separator"),
    ('[[tags]]\nkind = "category"\ncolumn = 3', "rule 1 of .*name of a column, found 3"),
    ('[[tags]]\nkind = "number"\ncolumn = "x"\nedges = ["a"]', "rule 1 of .*edges"),
    ('[[tags]]\nkind = "number"\ncolumn = "x"\nedges = [nan]', "rule 1 of .*edges"),
    ('[[tags]]\nkind = "number"\ncolumn = "x"\nedges = 1', "rule 1 of .*edges, found 1"),
    ('[[tags]]\nkind = "year"\ncolumn = "x"\nwidth = 1979-05-27', "rule 1 of .*width"),
    ('[[tags]]\nkind = "category"', "rule 1 of .*names no column"),
    ('[[tags]]\nkind = "genre"', "Unknown kind 'genre' in rule 1 of .*Known: category"),
    ('[[tags]]\nkind = ["list"]', "Unknown kind .* in rule 1"),
    ('[[tags]]\ncolumn = "x"', "Unknown kind None in rule 1"),
    ('tags = ["x"]', "rule 1 of .*is not a table"),
    ('[tags]\nkind = "category"', "with two brackets"),
    ("[rules]\nx = 1", r"Unknown table \[rules\]"),
    ("[roles]\ntitle = 3", r"\[roles\] in .*map a role"),
    ("roles = 3", r"\[roles\] in .*map a role"),
    ('[roles]\nhead = "x"', "Unknown role 'head'"),
    ("kind = ", "could not be read"),
    ("a = " + "[" * 100_000, "could not be read"),
]


class TestToml:
    @given(rules=any_rules)
    def test_rules_written_as_toml_read_back(
        self, tmp_path_factory: pytest.TempPathFactory, rules: Rules
    ) -> None:
        path = tmp_path_factory.mktemp("rules") / "rules.toml"
        rules.write(path)
        found = Rules.read(path)
        assert found.tags == rules.tags
        assert found.roles == rules.roles

    @given(rules=any_rules)
    def test_rules_as_plain_values_read_back(self, rules: Rules) -> None:
        assert Rules.from_dict(rules.as_dict()).tags == rules.tags

    def test_the_file_is_made_to_be_edited(self) -> None:
        rules = Rules(
            (ListOf("genres", feature="genre", min_items=3), Number("price", edges=(5, 10.5))),
            {"title": "name"},
            {"code": "it looks like an identifier"},
        )
        assert rules.to_toml() == (
            "# Which metadata columns become tags. Edit, and pass the file with --rules.\n"
            "\n"
            "[roles]\n"
            'title = "name"\n'
            "\n"
            "[[tags]]\n"
            'kind = "list"\n'
            'column = "genres"\n'
            'feature = "genre"\n'
            "min_items = 3\n"
            "\n"
            "[[tags]]\n"
            'kind = "number"\n'
            'column = "price"\n'
            "edges = [5, 10.5]\n"
            "\n"
            '# "code": it looks like an identifier\n'
        )

    def test_mistakes_are_refused_and_their_place_is_named(self, tmp_path: Path) -> None:
        for text, complaint in MISTAKES:
            (tmp_path / "rules.toml").write_text(text)
            with pytest.raises(RuleError, match=complaint):
                Rules.read(tmp_path / "rules.toml")

    def test_a_byte_order_mark_is_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "r.toml").write_bytes(b'\xef\xbb\xbf[[tags]]\nkind = "year"\ncolumn = "y"')
        assert Rules.read(tmp_path / "r.toml").tags == (Year("y"),)

    def test_another_encoding_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "r.toml").write_bytes("# é".encode("latin-1"))
        with pytest.raises(RuleError, match="could not be read"):
            Rules.read(tmp_path / "r.toml")

    def test_a_file_that_is_not_there_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(RuleError, match="There is no rules file"):
            Rules.read(tmp_path / "r.toml")

    def test_a_place_that_cannot_be_written_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(RuleError, match="could not be written"):
            Rules((Category("x"),)).write(tmp_path)


OWN = """# Rules of our museum.
[[tags]]  # first
kind = "number"  # ten bins
column = "price"

# Themes are separated by bars.
[[tags]]
kind = "list"
column = "themes"
min_items = 1
"""


class TestComments:
    def test_a_file_that_was_read_is_written_back_unchanged(self, tmp_path: Path) -> None:
        (tmp_path / "r.toml").write_text(OWN)
        assert Rules.read(tmp_path / "r.toml").to_toml() == OWN

    def test_what_a_rule_learned_is_added_and_comments_are_kept(self, tmp_path: Path) -> None:
        (tmp_path / "r.toml").write_text(OWN)
        rules = Rules.read(tmp_path / "r.toml")
        learned = Number("price", edges=(5.0, 10.5))
        resolved = replace(rules, tags=(learned, rules.tags[1]), roles={"title": "name"})
        found = resolved.to_toml()
        assert found == (
            OWN.replace('column = "price"\n', 'column = "price"\nedges = [5.0, 10.5]\n')
            + '\n[roles]\ntitle = "name"\n'
        )
        resolved.write(tmp_path / "out.toml")
        assert Rules.read(tmp_path / "out.toml") == resolved

    def test_other_rules_are_written_anew(self, tmp_path: Path) -> None:
        (tmp_path / "r.toml").write_text(OWN)
        rules = Rules.read(tmp_path / "r.toml")
        for tags in (rules.tags[:1], (rules.tags[1], Number("price", bins=4))):
            other = replace(rules, tags=tags)
            other.write(tmp_path / "out.toml")
            assert Rules.read(tmp_path / "out.toml").tags == tags
            assert "museum" not in other.to_toml()


class TestAsRules:
    def test_rules_come_in_every_form(self, tmp_path: Path) -> None:
        rules = Rules((Category("x"),))
        rules.write(tmp_path / "r.toml")
        forms: list[Any] = [rules, [Category("x")], iter([Category("x")])]
        for form in [*forms, tmp_path / "r.toml", str(tmp_path / "r.toml")]:
            assert as_rules(form) == rules

    @pytest.mark.parametrize("thing", [5, Category("x"), None])
    def test_other_things_are_refused(self, thing: Any) -> None:
        with pytest.raises(RuleError, match="Rules must be a path, a list of rules or Rules"):
            as_rules(thing)


def test_rules_read_as_lines_in_a_terminal() -> None:
    rules = Rules((Category("type", min_items=5), ListOf("labels")), {"title": "name"}, {"x": "no"})
    lines = pretty(rules).splitlines()
    assert lines[0] == "2 rules"
    assert lines[1].startswith("  category of type: ")
    assert "min_items=5" in lines[1]
    assert lines[2].startswith("  list of labels")
    assert lines[3:] == ["  title: name", "  not used: x, no"]

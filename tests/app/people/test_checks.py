"""Events that are not possible are refused, and the message says what was found."""

from typing import Any

import pytest
from app.people.test_fold import press, view

from teaser.app.people.checks import LIMITS, check
from teaser.app.people.events import KINDS, Event
from teaser.app.people.fold import fold
from teaser.app.people.state import State
from teaser.app.people.values import Values
from teaser.errors import (
    MalformedTagError,
    NotHiddenError,
    NotInHistoryError,
    ParameterError,
    PressRangeError,
    StateLimitError,
)

END = "2030-01-01T00:00:00+00:00"


class TestCheck:
    @pytest.mark.parametrize(
        ("event", "found"),
        [
            (Event("dance"), "'dance'"),
            (Event("view"), "'view'"),
            (Event("view", {"item": ["a"]}), "'view'"),
            (Event("press"), "tag"),
            (Event("press", {"presses": {}}), "tag"),
            (Event("press", {"presses": {"tag=a": 1.5}}), "tag=a .* 1.5"),
            (Event("press", {"presses": {"tag=a": True}}), "tag=a .* True"),
            (Event("press", {"presses": {"tag=a": 0}}), "tag=a .* 0"),
            (Event("press", {"presses": {f"tag=a{n}": 1 for n in range(21)}}), "20 tags.* 21"),
            (Event("vary", {"variety": 1.5}), "variety .* 1.5"),
            (Event("vary", {"variety": float("nan")}), "variety .* nan"),
            (Event("vary", {"variety": "much"}), "variety .* 'much'"),
            (Event("vary"), "variety .* None"),
            (Event("balance", {"balance": True}), "balance .* True"),
            (Event("about"), "about"),
            (Event("about", {"about": "age=young"}), "about"),
            (Event("about", {"about": [7]}), "7"),
            (Event("about", {"about": ["a=b"] * 201}), "200 .* 201"),
        ],
    )
    def test_an_invalid_event_is_refused_with_what_was_found(
        self, event: Event, found: str
    ) -> None:
        with pytest.raises(ParameterError, match=found):
            check(State(), event)

    @pytest.mark.parametrize("strength", [0, float("nan"), float("inf"), "1", True, None, -2e9])
    def test_an_impossible_strength_is_refused(self, strength: Any) -> None:
        with pytest.raises(ParameterError, match="strength of a view must be a number other than"):
            check(State(), Event("view", {"item": "a", "strength": strength}))

    def test_items_that_are_not_there_are_named(self) -> None:
        with pytest.raises(NotInHistoryError) as removed:
            check(fold([Event("hide", {"item": "a"})]), Event("remove", {"item": "a"}))
        with pytest.raises(NotHiddenError) as shown:
            check(fold([view("a")]), Event("unhide", {"item": "a"}))
        assert removed.value.item_id == shown.value.item_id == "a"

    def test_a_tag_is_written_as_feature_and_value(self) -> None:
        with pytest.raises(MalformedTagError) as raised:
            check(State(), Event("press", {"presses": {"Ghent": 1}}))
        assert raised.value.tag == "Ghent"

    def test_presses_out_of_range_are_named(self) -> None:
        state = fold([press(a=3)])
        check(state, press(a=2))
        check(state, press(a=-8))
        for steps, net in ((3, 6), (-9, -6)):
            with pytest.raises(PressRangeError) as raised:
                check(state, press(a=steps))
            assert str(raised.value.tag) == "tag=a"
            assert (raised.value.presses, raised.value.limit) == (net, 5)

    def test_presses_that_are_taken_back_do_not_count_as_tags(self) -> None:
        old = press(**{f"old{n}": 1 for n in range(15)})
        moved = press(**{f"old{n}": -1 for n in range(15)}, **{f"new{n}": 1 for n in range(20)})
        check(fold([old]), moved)
        with pytest.raises(ParameterError, match=r"20 tags.* 35"):
            check(State(), moved)

    def test_events_of_earlier_versions_with_more_tags_are_folded_and_undone(self) -> None:
        many = press(**{f"tag{n}": 1 for n in range(215)})
        assert len(fold([many]).presses) == 215
        assert fold([many, Event("undo")]).presses == {}
        assert len(fold([many, Event("undo"), Event("redo")]).presses) == 215

    def test_what_can_happen_passes(self) -> None:
        feed = Event("make_feed", {"feed": "kids"})
        state = fold([view("a"), feed, Event("hide", {"item": "b"}), Event("undo")])
        data: dict[str, dict[str, Any]] = {
            "view": {"item": 1},
            "remove": {"item": "a"},
            "press": {"presses": {"tag=a": -5}},
            "hide": {"item": "c"},
            "vary": {"variety": 0.5},
            "balance": {"balance": 0},
            "about": {"about": []},
            "filter": {"filters": {"only": ["tag=a"], "at_most": {"price": 20}, "when": "week"}},
            "make_feed": {"feed": "Friday night"},
            "switch_feed": {"feed": ""},
            "rename_feed": {"feed": "kids", "name": "KIDS"},
            "drop_feed": {"feed": "kids"},
            "profiling": {"on": False, "order": "newest"},
            "several": {"actions": [["press", {"presses": {"tag=a": 5}}]]},
            "import": {"state": Values().to_json()},
        }
        for kind in KINDS:
            if kind != "unhide":
                check(state, Event(kind, data.get(kind, {})))


def large_state(**given: Any) -> dict[str, Any]:
    """Return the state of an import, as it is stored, with something replaced."""
    return {**Values().to_json(), **given}


LARGE: dict[str, dict[str, Any]] = {
    "viewed items": {"history": [f"i{n}" for n in range(LIMITS["viewed items"] + 1)]},
    "hidden items": {"hidden": list(range(LIMITS["hidden items"] + 1))},
    "hidden tags": {"hidden_tags": [[f"a={n}", None] for n in range(LIMITS["hidden tags"] + 1)]},
    "pressed tags": {
        "feeds": [
            ["", {"presses": {f"a={n}": 1 for n in range(LIMITS["pressed tags"] // 2)}}],
            ["x", {"presses": {f"a={n}": 1 for n in range(LIMITS["pressed tags"] // 2 + 1)}}],
        ]
    },
    "things that end by themselves": {
        "feeds": [["", {"passing": [[f"a={n}", 1, END] for n in range(200)]}]],
        "hidden": ["i1"],
        "hidden_until": [[0, END]],
    },
    "feeds": {"feeds": [["", {}], *([f"x{n}", {}] for n in range(LIMITS["feeds"] + 1))]},
}


@pytest.mark.parametrize("kind", LIMITS)
def test_an_import_of_too_much_is_refused_with_its_number(kind: str) -> None:
    limit = LIMITS[kind]
    with pytest.raises(StateLimitError, match=f"{limit + 1:,} {kind} .* most {limit:,} ") as raised:
        check(State(), Event("import", {"state": large_state(**LARGE[kind])}))
    assert raised.value.n == limit + 1


def test_actions_lead_to_no_more_than_an_import_can_bring() -> None:
    hidden = State(hidden=tuple(range(LIMITS["hidden items"])))
    tags = State(hidden_tags=tuple(f"a={n}" for n in range(LIMITS["hidden tags"])))
    seen = State(history=tuple(range(LIMITS["viewed items"])))
    many = {f"a={n}": 1 for n in range(LIMITS["pressed tags"])}
    pressed = State(presses=many)
    for state, event in (
        (hidden, Event("hide", {"item": "new"})),
        (tags, Event("hide", {"tag": "b=new"})),
        (seen, Event("view", {"item": "new"})),
        (pressed, Event("press", {"presses": {"b=new": 1}})),
        (pressed, Event("make_feed", {"feed": "copy"})),
        (State(), Event("make_feed", {"feed": "x", "copy": {"presses": {**many, "b=new": 1}}})),
    ):
        with pytest.raises(StateLimitError):
            check(state, event)
    check(hidden, Event("hide", {"item": 5}))
    check(seen, Event("view", {"item": 5}))
    check(pressed, Event("press", {"presses": {"a=5": 1}}))
    more = State(hidden=tuple(range(2 * LIMITS["hidden items"])))
    check(more, Event("view", {"item": "new"}))

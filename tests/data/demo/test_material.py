"""The TOML files: every value is of the type and within the vocabulary that the code needs."""

import re
import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from string import Formatter
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import teaser.data.demo
from teaser.data.demo.event import audiences, event_types, labels, offers
from teaser.data.demo.picture import emblems
from teaser.data.demo.places import Town, draw_one, read_table, towns, venue_kinds

FOLDER = Path(teaser.data.demo.__file__).parent
DAYS = {"weekday", "weekend", "multiple days"}
SETTINGS = {"Indoors", "Outdoors", "In nature", "Indoors and outdoors", "Under canvas"}
ALL = (
    *offers(),
    *event_types().values(),
    *audiences().values(),
    *towns(),
    *venue_kinds().values(),
    *labels().values(),
    *emblems().values(),
)


def is_of(value: Any, hint: Any) -> bool:
    """Whether a value has the type of an annotation, down to the elements of tuples."""
    if get_origin(hint) in (Union, types.UnionType):
        return any(is_of(value, choice) for choice in get_args(hint))
    if get_origin(hint) is tuple:
        inner = get_args(hint)
        if not isinstance(value, tuple):
            return False
        wanted = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        return len(value) == len(wanted) and all(map(is_of, value, wanted))
    if isinstance(hint, type) and is_dataclass(hint):
        known = get_type_hints(hint)
        return isinstance(value, hint) and all(
            is_of(getattr(value, field.name), known[field.name]) for field in fields(hint)
        )
    if hint in (int, float):
        numbers = (int, float) if hint is float else int
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, hint)


def texts(value: Any) -> Iterator[str]:
    """All strings in a tree of dictionaries and tuples."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | tuple):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from texts(entry)


def test_every_value_has_the_type_of_its_field() -> None:
    for entry in ALL:
        assert is_of(entry, type(entry)), entry


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (1, str),
        (True, int),
        (True, float),
        ("Adults", tuple[str, ...]),
        ((1.5,), tuple[int, ...]),
        ((1, 2, 3), tuple[float, float]),
        ("", bool | None),
    ],
)
def test_a_value_of_another_type_would_be_found(value: Any, hint: Any) -> None:
    assert not is_of(value, hint)


def test_an_unknown_or_missing_key_is_refused() -> None:
    table: dict[str, Any] = {"region": "", **read_table("towns")["East Flanders"][0]}
    assert Town(**table).name == "Ghent"
    with pytest.raises(TypeError, match="unexpected"):
        Town(**{**table, "colour": "red"})
    del table["language"]
    with pytest.raises(TypeError, match="missing"):
        Town(**table)


def test_every_file_is_read() -> None:
    found = {str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.toml")}
    others = {"towns", "venues", "types", "audiences", "labels", "emblems", "names", "tastes"}
    of_offers = {name for name in found if name.startswith("offers/")}
    assert found - of_offers == others
    assert len(of_offers) == 6
    assert sum(len(read_table(name)["offers"]) for name in of_offers) == len(offers())


def test_a_file_is_read_once_and_cannot_be_changed_by_a_list() -> None:
    assert read_table("venues") is read_table("venues")
    assert isinstance(read_table("venues")["kinds"]["hall"]["dutch"], tuple)


def test_no_text_has_loose_ends() -> None:
    for path in FOLDER.rglob("*.toml"):
        for text in texts(read_table(str(path.relative_to(FOLDER).with_suffix("")))):
            assert text == text.strip(), (path.name, text)
            assert "  " not in text, (path.name, text)
            assert "|" not in text, (path.name, text)


def test_draws_reach_every_option() -> None:
    rng = np.random.default_rng(0)
    assert {draw_one(("a", "b", "c"), rng) for _ in range(50)} == {"a", "b", "c"}


def test_towns_name_a_known_language_and_a_quay_where_there_is_water() -> None:
    for town in towns():
        assert town.language in ("nl", "fr", "both"), town
        assert bool(town.water) == bool(town.quay), town
        assert town.population > 0, town
        assert town.spots, town


def test_venues_have_names_known_settings_and_needs() -> None:
    for kind in venue_kinds().values():
        assert kind.setting in SETTINGS, kind
        assert kind.needs in ("", "water", "sea", "space"), kind
        assert kind.dutch, kind
        assert kind.french, kind
        for pattern in (*kind.dutch, *kind.french):
            assert {name for _, name, _, _ in Formatter().parse(pattern) if name} <= {"de", "quay"}
    names = {town.name for town in towns()}
    landmarks = read_table("venues")["landmarks"]
    assert set(landmarks) <= names
    for town, of_kind in landmarks.items():
        assert set(of_kind) <= set(venue_kinds()), town
        assert all(of_kind.values()), town


def test_conditions_of_labels_name_what_there_is() -> None:
    known: dict[str, set[Any]] = {
        "types": set(event_types()),
        "themes": set(emblems()),
        "kinds": set(venue_kinds()),
        "audiences": set(audiences()),
        "months": set(range(1, 13)),
        "hours": set(range(24)),
    }
    for label in labels().values():
        assert 0 < label.chance <= 1, label
        assert label.clause, label
        assert label.when, label
        for condition in label.when:
            for name, allowed in known.items():
                assert set(getattr(condition, name)) <= allowed, (label.name, name)
                assert set(getattr(condition, f"except_{name}", ())) <= allowed, (label.name, name)


def test_tastes_name_what_there_is_and_share_out_all_users() -> None:
    groups = read_table("tastes")["tastes"]
    known = {*event_types(), *emblems(), *audiences(), *SETTINGS, *DAYS}
    for group in groups:
        assert set(group) == {"name", "share", "likes"}
        assert is_of(group["share"], float)
        assert set(group["likes"]) <= known, group["name"]
        assert all(is_of(like, float) for like in group["likes"].values()), group["name"]
    assert len({group["name"] for group in groups}) == len(groups)
    assert 0.9 < sum(group["share"] for group in groups) < 1.2


def test_names_are_given_for_both_languages() -> None:
    for language in ("nl", "fr"):
        names = read_table("names")[language]
        assert set(names) == {"first", "last"}
        for given in names.values():
            assert is_of(given, tuple[str, ...])
            assert len(set(given)) == len(given) > 20


def test_hours_are_hours() -> None:
    hours = {hour for kind in event_types().values() for hour in kind.hours}
    hours |= {hour for offer in offers() for act in offer.acts for hour in act.hours}
    assert all(re.fullmatch(r"(\d|1\d|2[0-3]):[0-5]\d", hour) for hour in hours), hours

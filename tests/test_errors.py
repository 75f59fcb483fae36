"""Errors: their tree, the facts that they carry, and names that are nearly right."""

import difflib
import pickle
import re
import time

import numpy as np
import pytest

from teaser import errors
from teaser.data.tags import Tag
from teaser.errors import TeaserError, closest, closest_names

CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, Exception)
}


def drawn_parents() -> dict[str, str | None]:
    """Read the tree at the top of the module: each class and the class that it hangs from."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"([│├└─ ]*)([A-Z]\w+(?:Error|Warning))(?:\s|$)", line)
        if found:
            depth = len(found[1]) // 4
            path = [*path[:depth], found[2]]
            parents[found[2]] = path[depth - 1] if depth else None
    return parents


def test_the_tree_draws_every_class() -> None:
    assert set(drawn_parents()) == set(CLASSES)


def test_the_tree_draws_each_class_under_its_base() -> None:
    for name, parent in drawn_parents().items():
        if parent is not None:
            assert issubclass(CLASSES[name], CLASSES[parent]), name


def test_every_error_is_a_teaser_error() -> None:
    loose = [n for n, c in CLASSES.items() if not issubclass(c, TeaserError | Warning)]
    assert loose == []


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.DataError, ValueError),
        (errors.ParameterError, ValueError),
        (errors.UnknownNameError, LookupError),
        (errors.NotFittedError, AttributeError),
        (errors.ConvergenceWarning, UserWarning),
    ],
)
def test_errors_are_caught_by_the_builtin_that_people_expect(
    error: type[Exception], builtin: type[Exception]
) -> None:
    with pytest.raises(builtin):
        raise error("found this, do that")


FACTS: dict[TeaserError, dict[str, object]] = {
    errors.UnknownItemError("i99", ("i9", "i90"), 40): {
        "item_id": "i99",
        "closest": ("i9", "i90"),
        "n_items": 40,
    },
    errors.UnknownTagError("town=Gent", ["town=Ghent"]): {
        "tag": "town=Gent",
        "closest": ("town=Ghent",),
    },
    errors.MalformedTagError("Ghent"): {"tag": "Ghent", "closest": ()},
    errors.UnknownFeatureError("twn", ["town"]): {"feature": "twn", "closest": ("town",)},
    errors.PressRangeError("town=Ghent", 6, 5): {"tag": "town=Ghent", "presses": 6, "limit": 5},
    errors.NotInHistoryError("i3"): {"item_id": "i3"},
    errors.NotHiddenError("i3"): {"item_id": "i3"},
    errors.ActionLimitError(10_000): {"limit": 10_000},
    errors.StorageLimitError(10_000): {"limit": 10_000},
    errors.ShareLimitError(100): {"limit": 100},
    errors.TagNotHiddenError("town=Ghent"): {"tag": "town=Ghent"},
    errors.FeedNameError("x" * 70, limit=60): {"name": "x" * 70, "limit": 60},
    errors.FeedExistsError("Friday"): {"name": "Friday"},
    errors.FeedLimitError(20): {"limit": 20},
    errors.WishLimitError(62, 50): {"n": 62, "limit": 50},
    errors.StateLimitError("hidden tags", 300, 200): {"kind": "hidden tags", "n": 300},
    errors.ImportedFileError("It is not JSON."): {"problem": "It is not JSON."},
    errors.ContradictionError("only a=b", "without a=b"): {"one": "only a=b"},
    errors.UnknownFeedError("Fridy", ["Friday"]): {"name": "Fridy", "closest": ("Friday",)},
    errors.UnknownBoostError("promotd", ["promoted"]): {"closest": ("promoted",)},
    errors.UnknownUserError("u1", ["u10"], 30): {"closest": ("u10",), "n_users": 30},
}


def test_errors_carry_facts_and_make_their_message_of_them() -> None:
    for error, facts in FACTS.items():
        assert {name: getattr(error, name) for name in facts} == facts
        message = str(error)
        assert message.endswith(".")
        for fact in facts.values():
            for part in fact if isinstance(fact, tuple) else (fact,):
                assert (f"{part:,}" if isinstance(part, int) else str(part)) in message


def test_errors_with_facts_survive_pickling() -> None:
    for error, facts in FACTS.items():
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert {name: getattr(again, name) for name in facts} == facts


def test_errors_without_facts_have_a_message() -> None:
    for kind in (
        errors.NothingToUndoError,
        errors.NothingToRedoError,
        errors.UnknownPersonError,
        errors.UnknownShareError,
        errors.ForeignOriginError,
    ):
        assert str(kind()).endswith((".", "?"))


class TestClosest:
    def test_it_names_what_resembles_best_first(self) -> None:
        assert closest_names("ratng", ["rating", "ratio", "user"]) == ("rating", "ratio")
        assert closest("ratng", ["rating", "ratio", "user"]) == " Closest: rating, ratio."

    def test_it_says_nothing_when_nothing_resembles(self) -> None:
        assert closest("zzz", ["rating"]) == ""

    def test_it_says_nothing_of_no_names(self) -> None:
        assert closest("a", []) == ""

    def test_it_names_as_many_as_asked(self) -> None:
        assert closest("ab", ["aa", "ac", "ad", "ae"], n=2).count(",") == 1

    def test_among_very_many_names_it_still_finds_a_near_one(self) -> None:
        names = [f"{letter}-{number}" for number in range(2_000) for letter in "abcdefgh"]
        assert "h-1999" in closest("h-19999", names)

    def test_among_very_many_names_an_odd_beginning_is_no_trouble(self) -> None:
        assert closest("?" * 1_000, (f"item-{i}" for i in range(20_000))) == ""

    def test_the_empty_name_is_no_trouble(self) -> None:
        assert closest("", (str(i) for i in range(20_000))) == ""


def test_a_missing_package_tells_how_to_install_it() -> None:
    error = errors.MissingPackageError("A cluster", "Dask", extra="dask")
    assert (error.what, error.package, error.extra) == ("A cluster", "Dask", "dask")
    assert "Dask" in str(error)
    assert str(error).endswith("pip install 'teaser-recommender[dask]'")
    assert isinstance(error, ImportError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # as workers send it


def test_long_names_are_cut_in_messages_only() -> None:
    long = "x" * 60_000
    for error in (
        errors.UnknownItemError(long),
        errors.UnknownTagError(Tag("theme", long)),
        errors.MalformedTagError(long),
        errors.UnknownFeatureError(long),
        errors.UnknownFeedError(long),
        errors.FeedNameError(long, 60),
        errors.FeedExistsError(long),
        errors.TagNotHiddenError(long),
        errors.NotHiddenError(long),
        errors.WishError(long, "It begins with no known word."),
        errors.ContradictionError(long, long),
        errors.PressRangeError(Tag("theme", long), 9, 5),
    ):
        assert len(str(error)) < 400, type(error)
        assert "xxx…" in str(error), type(error)
    assert errors.UnknownItemError(long).item_id == long
    problem = "a sentence, " * 30
    assert problem in str(errors.ImportedFileError(problem))
    assert errors.shortened("x" * 80) == "x" * 80
    assert errors.shortened("x" * 81) == "x" * 80 + "…"


RNG = np.random.default_rng(14)
HEXES = [RNG.bytes(16).hex() for _ in range(20_000)]
NUMBERS = [f"item-{i:05d}" for i in range(20_000)]
TITLES = [f"The {word} story of {i} friends" for i in range(10_000) for word in ("odd", "old")]


def mistakes(name: str) -> list[str]:
    """Return a name with a letter changed, left out, doubled and swapped, in several places."""
    places = (0, 1, len(name) // 2, len(name) - 2)
    return [
        wrong
        for i in places
        for wrong in (
            f"{name[:i]}?{name[i + 1 :]}",
            name[:i] + name[i + 1 :],
            name[:i] + name[i] + name[i:],
            name[:i] + name[i + 1] + name[i] + name[i + 2 :],
        )
        if wrong != name
    ]


@pytest.mark.parametrize("names", [HEXES, TITLES])
def test_a_typing_error_anywhere_finds_its_name_among_very_many(names: list[str]) -> None:
    for wrong in mistakes(names[7_777]):
        if wrong not in names:
            assert names[7_777] in closest_names(wrong, names), wrong


def test_among_numbers_a_name_with_one_letter_more_or_less_is_found() -> None:
    for wrong in ("item-0777", "itm-07777", "?tem-07777", "item-07777?"):
        best = closest_names(wrong, NUMBERS)[0]
        assert difflib.SequenceMatcher(None, wrong, best).ratio() > 0.85


def test_names_that_differ_beyond_what_is_compared_are_all_named() -> None:
    long = "x" * 64
    assert set(closest_names(long + "d", [long + "a", long + "b"])) == {long + "a", long + "b"}


def test_very_many_and_long_names_take_little_time() -> None:
    names = ["ab" * 45 + name for name in HEXES] * 5
    start = time.process_time()
    for wrong in ("x" * 90, HEXES[0] * 3, "0" * 90, "ab" * 50_000):
        closest_names(wrong, names)
    assert time.process_time() - start < 4.0

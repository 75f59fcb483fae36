"""Errors: what they are caught by, the facts that they carry, names that are nearly right."""

import pickle

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


def test_every_error_is_a_teaser_error() -> None:
    loose = [n for n, c in CLASSES.items() if not issubclass(c, TeaserError | Warning)]
    assert loose == []


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.DataError, ValueError),
        (errors.ParameterError, ValueError),
        (errors.UnknownNameError, LookupError),
        (errors.ResourceError, RuntimeError),
        (errors.NotFittedError, AttributeError),
        (errors.ConvergenceWarning, UserWarning),
    ],
)
def test_errors_are_caught_by_the_builtin_that_people_expect(
    error: type[Exception], builtin: type[Exception]
) -> None:
    with pytest.raises(builtin):
        raise error("found this, do that")


CARRIED: list[tuple[TeaserError, str]] = [
    (
        errors.LimitError("{n:,} wishes; at most {limit}.", problem="wishes", n=6_200, limit=50),
        "6,200 wishes; at most 50.",
    ),
    (errors.ParameterError("a {b} c"), "a {b} c"),
    (errors.ParameterError("{one} or {other}.", one="{x}", other=2), "{x} or 2."),
    (errors.UnknownNameError("feature", "twn", ["town"]), "Unknown feature 'twn'. Closest: town."),
    (errors.UnknownNameError("tag", Tag("a", "b"), hint="Look."), "Unknown tag a=b. Look."),
    (errors.UnknownNameError("list", "x", message="{name} is no {kind}."), "x is no list."),
    (errors.UnknownNameError("person"), "There is no such person. Was it deleted?"),
    (errors.SearchTimeoutError(2.5), "The search did not end within 2.5 s. Allow it more time"),
]


def test_facts_fill_in_the_message() -> None:
    for error, message in CARRIED:
        assert str(error).startswith(message)
    assert CARRIED[0][0].facts == {"n": 6_200, "limit": 50}


def test_an_unknown_name_carries_what_it_would_name_and_the_closest() -> None:
    error = errors.UnknownNameError("feature", "twn", ["town"])
    assert (error.kind, error.name, error.closest) == ("feature", "twn", ("town",))
    assert error.problem == "unknown feature"


def test_errors_survive_pickling_with_their_facts() -> None:  # as workers send them
    for error, _ in CARRIED:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert vars(again) == vars(error)
        assert str(again) == str(error)


class TestClosest:
    def test_it_names_what_resembles_best_first(self) -> None:
        assert closest_names("ratng", ["rating", "ratio", "user"]) == ("rating", "ratio")
        assert closest("ratng", ["rating", "ratio", "user"]) == " Closest: rating, ratio."


def test_a_missing_package_tells_how_to_install_it() -> None:
    error = errors.MissingPackageError("A cluster", "Dask", extra="dask")
    assert (error.what, error.package, error.extra) == ("A cluster", "Dask", "dask")
    assert "Dask" in str(error)
    assert str(error).endswith("pip install 'teaser-recommender[dask]'")
    assert isinstance(error, ImportError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # as workers send it


def test_long_facts_are_cut_in_messages_only() -> None:
    long = "x" * 60_000
    for error in (
        errors.UnknownNameError("item", long),
        errors.UnknownNameError("tag", Tag("theme", long)),
        errors.ParameterError("{one} and {other} cannot both be.", one=long, other=long),
    ):
        assert len(str(error)) < 400
        assert "xxx…" in str(error)
    assert errors.UnknownNameError("item", long).name == long
    assert errors.shortened("x" * 80) == "x" * 80
    assert errors.shortened("x" * 81) == "x" * 80 + "…"


RNG = np.random.default_rng(14)
HEXES = [RNG.bytes(16).hex() for _ in range(20_000)]
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

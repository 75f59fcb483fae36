"""Two or three plain statements about a profile, each of which can be contradicted."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from teaser.data.tags import Tag
from teaser.errors import ParameterError
from teaser.explain import join_names
from teaser.profile import DEFAULT_STEERING, GENERAL, MAX_PRESSES, POPULARITY, Profile

Array = NDArray[Any]
# Only affinities of at least this share of the strongest one are stated.
_SHARE = 0.5
# Affinities below half a press are never stated.
_LEAST = 0.1
_TOGETHER, _APART = 3, 2


@dataclass(frozen=True)
class Statement:
    """What a person leans towards (+1) or away from (-1).

    Attributes
    ----------
    tags
        Tags of different features, strongest affinity first, all with the sign of `leaning`.
    strength
        The smallest absolute affinity among the tags, near-equal ones summed.
    near_equal
        The tags that lie on nearly the same items as one of `tags` and are stated with it.
    """

    leaning: Literal[1, -1]
    tags: tuple[Tag, ...]
    strength: float
    near_equal: Mapping[Tag, tuple[Tag, ...]] = field(default_factory=dict, compare=False)


def statements(profile: Profile, *, k: int = 3) -> list[Statement]:
    """Return at most k statements that a profile supports.

    The first names what the user leans towards: the strongest tag of each of up to three
    features. Up to two more each name one tag that the user leans away from, so that each can be
    contradicted on its own. An affinity is stated only if it is at least 0.1 and at least half
    the strongest one. So that no statement contradicts another, near-equal tags, which lie on
    nearly the same items, count once with the sum of their affinities, and a tag that lies inside
    a liked one or around it, or a group named by the same item, is not said to be avoided.
    Popularity, general appeal and values that are not stated are left out, as is an affinity that
    the user's own presses oppose. An empty profile has no statements.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise ParameterError(f"k must be a whole number of at least 0, found {k!r}.")
    places, totals = _leanings(profile)
    pairs = zip(places.tolist(), totals.tolist(), strict=True)
    found = [_Leaning(profile.tags[place], total, place) for place, total in pairs]
    strong = sorted(found, key=lambda each: (-abs(each.affinity), each.tag))
    liked = list(islice(_one_a_feature(e for e in strong if e.affinity > 0), _TOGETHER))
    apart = (e for e in strong if e.affinity < 0 and not _overlaps(profile, e, liked))
    told = [_statement(profile, 1, liked)] if liked else []
    told += [_statement(profile, -1, [e]) for e in islice(_one_a_feature(apart), _APART)]
    return told[:k]


def undo_presses(
    statement: Statement,
    learned: Profile,
    presses: Mapping[Tag, int] | None = None,
    *,
    step: float = DEFAULT_STEERING.step,
) -> dict[Tag, int]:
    """Return the presses behind "not really": as many as bring each affinity to 0 or beyond.

    The affinity of a tag with near-equal ones is the sum of theirs, presses on the others
    included; the tag alone is pressed.

    If all remaining presses do not reach 0, they are all returned: `statements` does not state a
    tag that was pressed against. A tag without remaining presses is left out.

    Parameters
    ----------
    statement
        The statement that is contradicted.
    learned
        The profile of the same user without presses.
    presses
        The current presses, to which these are added.
    step
        How far one press moves an affinity.
    """
    found, pressed = {}, presses or {}
    for tag in statement.tags:
        places, now = _group(learned, learned.place_of(tag)), pressed.get(tag, 0)
        others = sum(pressed.get(learned.tags[j], 0) for j in places) - now
        a = statement.leaning * (float(learned.values[places].sum()) + step * others)
        # Rounding may lift n presses slightly above n.
        wanted = max(1, math.ceil(a / step - 1e-9))
        steps = -statement.leaning * min(MAX_PRESSES, wanted) - now
        if steps * statement.leaning < 0:
            found[tag] = steps
    return found


def say(statement: Statement) -> str:
    """Return a statement as an English sentence.

    Examples
    --------
    >>> say(Statement(1, (Tag("type", "Concert"), Tag("town", "Ghent")), 0.7))
    'You lean towards Concert and Ghent.'
    """
    way = "towards" if statement.leaning > 0 else "away from"
    told = [
        " / ".join(each.label for each in (tag, *statement.near_equal.get(tag, ())))
        for tag in statement.tags
    ]
    return f"You lean {way} {join_names(told)}."


class _Leaning(NamedTuple):
    """A tag, the sum of the affinities of its group of near-equal tags, and its position."""

    tag: Tag
    affinity: float
    place: int


def _leanings(profile: Profile) -> tuple[Array, Array]:
    """Return the positions of the tags that are strong enough, and the sum of each one's group.

    A group of near-equal tags has the name of its tag that leans most in the direction of the sum.
    Groups of which a tag was pressed against the sum are left out.
    """
    group = _numbers(profile)
    own = np.flatnonzero(group >= 0)
    number, a = group[own], np.asarray(profile.values, dtype=np.float64)[own]
    totals = np.bincount(number, weights=a)
    size = np.abs(totals)
    for tag, steps in profile.presses.items():
        pressed = group[profile.place_of(tag)]
        if pressed >= 0 and steps * totals[pressed] < 0:
            size[pressed] = 0.0
    is_strong = size >= max(_LEAST, _SHARE * float(size.max(initial=0.0)))
    few = is_strong[number]
    own, number, a = own[few], number[few], a[few]
    # Of each group, the first of the tags that lean most in the direction of the sum.
    order = np.lexsort((-np.sign(totals[number]) * a, number))
    sorted_numbers = number[order]
    is_first = np.ones(len(order), dtype=bool)
    np.not_equal(sorted_numbers[1:], sorted_numbers[:-1], out=is_first[1:])
    order = order[is_first]
    return own[order], totals[number[order]]


def _statement(profile: Profile, leaning: Literal[1, -1], found: list[_Leaning]) -> Statement:
    near = {each.tag: _near_equal(profile, each.place) for each in found}
    return Statement(
        leaning,
        tuple(each.tag for each in found),
        min(abs(each.affinity) for each in found),
        {tag: others for tag, others in near.items() if others},
    )


def _near_equal(profile: Profile, place: int) -> tuple[Tag, ...]:
    """Return the other tags that lie on nearly the same items as a tag."""
    return tuple(profile.tags[j] for j in _group(profile, place) if j != place)


def _group(profile: Profile, place: int) -> list[int]:
    """Return the positions of a tag and of its near-equal ones."""
    if profile.together is None or profile.together[place] < 0:
        return [place]
    return np.flatnonzero(profile.together == profile.together[place]).tolist()


def _numbers(profile: Profile) -> Array:
    """Return the number of each tag's group; -1 for those that are never stated."""
    if profile.together is not None:
        return profile.together
    apart = (POPULARITY, GENERAL)
    return np.array(
        [-1 if tag in apart else j for j, tag in enumerate(profile.tags)], dtype=np.int64
    )


def _overlaps(profile: Profile, each: _Leaning, liked: list[_Leaning]) -> bool:
    """Whether a tag lies inside a liked one or around it, or has an item's name in common."""
    nested = profile.nested
    if nested is not None:
        # An entry of a sparse matrix takes a hundred times as long as one of its row.
        row = nested.indices[nested.indptr[each.place] : nested.indptr[each.place + 1]]
        if any(other.place in row for other in liked):
            return True
    named = set(each.tag.value.split(", ")) if each.tag.discovered else set()
    return any(o.tag.discovered and named & set(o.tag.value.split(", ")) for o in liked)


def _one_a_feature(found: Iterable[_Leaning]) -> Iterator[_Leaning]:
    """Yield the first tag of each feature."""
    known: set[str] = set()
    for each in found:
        if each.tag.feature not in known:
            known.add(each.tag.feature)
            yield each

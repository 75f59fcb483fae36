"""Two or three plain statements about a profile, each of which can be contradicted."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from teaser.data.tagging.tag import Tag
from teaser.errors import ParameterError
from teaser.profile import DEFAULT_STEERING, GENERAL, MAX_PRESSES, POPULARITY, Profile
from teaser.reason import join_names

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
    leanings = _leanings(profile)
    bar = max(_LEAST, _SHARE * max((abs(a) for _, a in leanings), default=0.0))
    strong = sorted(
        (pair for pair in leanings if abs(pair[1]) >= bar), key=lambda p: (-abs(p[1]), p[0])
    )
    liked = _one_a_feature([(tag, a) for tag, a in strong if a > 0])[:_TOGETHER]
    apart = [(tag, a) for tag, a in strong if a < 0 and not _overlaps(profile, tag, liked)]
    shunned = _one_a_feature(apart)
    found = []
    if liked:
        found.append(_statement(profile, 1, liked))
    found += [_statement(profile, -1, [pair]) for pair in shunned[:_APART]]
    return found[:k]


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
        places, now = _group(learned, tag), pressed.get(tag, 0)
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


def _leanings(profile: Profile) -> list[tuple[Tag, float]]:
    """Return the affinities that may be stated: the sum of each group of near-equal tags.

    A group has the name of its tag that leans most in the direction of the sum. Groups of which a
    tag was pressed against the sum are left out.
    """
    found = []
    values = profile.values.tolist()
    steps = profile.presses
    pressed = {j: steps[tag] for j, tag in enumerate(profile.tags) if tag in steps} if steps else {}
    for places in groups(profile):
        # Most tags are near-equal to none.
        total = values[places[0]] if len(places) == 1 else float(profile.values[places].sum())
        if total and all(pressed.get(j, 0) * total >= 0 for j in places):
            first = max(places, key=lambda j: math.copysign(1.0, total) * values[j])
            found.append((profile.tags[first], total))
    return found


def _statement(
    profile: Profile, leaning: Literal[1, -1], pairs: list[tuple[Tag, float]]
) -> Statement:
    near = {tag: _near_equal(profile, tag) for tag, _ in pairs}
    return Statement(
        leaning,
        tuple(tag for tag, _ in pairs),
        min(abs(a) for _, a in pairs),
        {tag: others for tag, others in near.items() if others},
    )


def _near_equal(profile: Profile, tag: Tag) -> tuple[Tag, ...]:
    """Return the other tags that lie on nearly the same items as a tag."""
    same = (profile.tags[j] for j in _group(profile, tag))
    return tuple(other for other in same if other != tag)


def _group(profile: Profile, tag: Tag) -> list[int]:
    """Return the positions of a tag and of its near-equal ones."""
    place = profile.tags.index(tag)
    if profile.together is None or profile.together[place] < 0:
        return [place]
    return np.flatnonzero(profile.together == profile.together[place]).tolist()


def groups(profile: Profile) -> list[list[int]]:
    """Return the positions of the tags that may be stated, near-equal ones together."""
    if profile.together is None:
        apart = (POPULARITY, GENERAL)
        return [[j] for j, tag in enumerate(profile.tags) if tag not in apart]
    found: dict[int, list[int]] = {}
    for j, number in enumerate(profile.together.tolist()):
        found.setdefault(number, []).append(j)
    found.pop(-1, None)
    return list(found.values())


def _overlaps(profile: Profile, tag: Tag, liked: list[tuple[Tag, float]]) -> bool:
    """Whether a tag lies inside a liked one or around it, or has an item's name in common."""
    place = profile.tags.index(tag)
    others = [profile.tags.index(other) for other, _ in liked]
    if profile.nested is not None and any(bool(profile.nested[place, j]) for j in others):
        return True
    named = set(tag.value.split(", ")) if tag.discovered else set()
    return any(other.discovered and named & set(other.value.split(", ")) for other, _ in liked)


def _one_a_feature(pairs: list[tuple[Tag, float]]) -> list[tuple[Tag, float]]:
    """Keep the first tag of each feature."""
    first: dict[str, tuple[Tag, float]] = {}
    for tag, a in pairs:
        first.setdefault(tag.feature, (tag, a))
    return list(first.values())

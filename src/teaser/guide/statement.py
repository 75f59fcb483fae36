"""Two or three plain statements about a profile, each of which can be contradicted."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from teaser.data.tagging.tag import Tag
from teaser.errors import ParameterError
from teaser.profile import DEFAULT_STEERING, MAX_PRESSES, POPULARITY, Profile

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
        The smallest absolute affinity among the tags.
    """

    leaning: Literal[1, -1]
    tags: tuple[Tag, ...]
    strength: float


def statements(profile: Profile, *, limit: int = 3) -> list[Statement]:
    """Return at most `limit` statements that a profile supports.

    The first names what the user leans towards: the strongest tag of each of up to three
    features. Up to two more each name one tag that the user leans away from, so that each can be
    contradicted on its own. An affinity is stated only if it is at least 0.1 and at least half
    the strongest one. Popularity is never stated, nor an affinity that the user's own presses
    oppose. An empty profile has no statements.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise ParameterError(f"limit must be a whole number of at least 0, found {limit!r}.")
    size = np.abs(profile.values)
    if profile.tags[-1:] == (POPULARITY,):
        size[-1] = 0.0
    size[_contradicted(profile)] = 0.0
    bar = max(_LEAST, _SHARE * float(size.max(initial=0.0)))
    strong = sorted(
        ((profile.tags[j], float(profile.values[j])) for j in np.flatnonzero(size >= bar).tolist()),
        key=lambda p: (-abs(p[1]), p[0]),
    )
    liked = _one_a_feature([(tag, a) for tag, a in strong if a > 0])[:_TOGETHER]
    shunned = _one_a_feature([(tag, a) for tag, a in strong if a < 0])
    found = []
    if liked:
        found.append(Statement(1, tuple(tag for tag, _ in liked), min(a for _, a in liked)))
    found += [Statement(-1, (tag,), -a) for tag, a in shunned[:_APART]]
    return found[:limit]


def undo_presses(
    statement: Statement,
    learned: Profile,
    presses: Mapping[Tag, int] | None = None,
    *,
    step: float = DEFAULT_STEERING.step,
) -> dict[Tag, int]:
    """Return the presses behind "not really": as many as bring each affinity to 0 or beyond.

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
    found = {}
    for tag in statement.tags:
        a, now = statement.leaning * learned.affinities[tag], (presses or {}).get(tag, 0)
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
    *most, last = (tag.value for tag in statement.tags)
    named = f"{', '.join(most)} and {last}" if most else last
    return f"You lean {'towards' if statement.leaning > 0 else 'away from'} {named}."


def _contradicted(profile: Profile) -> list[int]:
    """Return the positions of tags whose net presses go against their affinity."""
    pressed = {tag for tag, steps in profile.presses.items() if steps}
    return [
        j
        for j, tag in enumerate(profile.tags if pressed else ())
        if tag in pressed and profile.presses[tag] * float(profile.values[j]) < 0
    ]


def _one_a_feature(pairs: list[tuple[Tag, float]]) -> list[tuple[Tag, float]]:
    """Keep the first tag of each feature."""
    first: dict[str, tuple[Tag, float]] = {}
    for tag, a in pairs:
        first.setdefault(tag.feature, (tag, a))
    return list(first.values())

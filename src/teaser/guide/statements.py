"""Two or three plain statements about a person's taste, each open to disagreement."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from teaser.data.tags import Tag
from teaser.errors import ParameterError
from teaser.profile import MAX_PRESSES, POPULARITY, Profile

# Of the strongest affinity with a tag, so that weak leanings are not spoken of beside strong ones.
_SHARE = 0.5
# Below half a press nothing is said, however weak the rest.
_LEAST = 0.1
_TOGETHER, _APART = 3, 2


@dataclass(frozen=True)
class Statement:
    """What a person leans towards (+1) or away from (-1).

    Attributes
    ----------
    tags
        Of different features, strongest affinity first; every one has the sign of `leaning`.
    strength
        The smallest absolute affinity among them: what holds for all.
    """

    leaning: Literal[1, -1]
    tags: tuple[Tag, ...]
    strength: float


def statements(profile: Profile, *, limit: int = 3) -> list[Statement]:
    """Return at most `limit` statements that the numbers of a profile support.

    The first says what the person leans towards: the strongest tag of each of up to three
    features. Up to two others each name one tag that the person leans away from, so that each can
    be denied by itself. Spoken of is only an affinity of at least half the strongest one, and of
    at least 0.1; popularity never is. A profile of which nothing is known has no statements.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise ParameterError(f"limit must be a whole number of at least 0, found {limit!r}.")
    size = np.abs(profile.values)
    if profile.tags[-1:] == (POPULARITY,):
        size[-1] = 0.0
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


def undo_presses(statement: Statement, presses: Mapping[Tag, int] | None = None) -> dict[Tag, int]:
    """Return the presses that "not really" means: one step against the leaning on each tag.

    They come on top of `presses`, those there are; a tag at its last press in that direction is
    left out. A tag that earlier presses drove beyond its bound moves once those are taken back.
    """
    net = presses or {}
    step = -statement.leaning
    return {tag: step for tag in statement.tags if abs(net.get(tag, 0) + step) <= MAX_PRESSES}


def say(statement: Statement) -> str:
    """Say a statement in English.

    Examples
    --------
    >>> say(Statement(1, (Tag("type", "Concert"), Tag("town", "Ghent")), 0.7))
    'You lean towards Concert and Ghent.'
    """
    *most, last = (tag.value for tag in statement.tags)
    named = f"{', '.join(most)} and {last}" if most else last
    return f"You lean {'towards' if statement.leaning > 0 else 'away from'} {named}."


def _one_a_feature(pairs: list[tuple[Tag, float]]) -> list[tuple[Tag, float]]:
    """Keep the first tag of each feature."""
    first: dict[str, tuple[Tag, float]] = {}
    for tag, a in pairs:
        first.setdefault(tag.feature, (tag, a))
    return list(first.values())

"""Two or three plain statements about a person's taste, each open to disagreement."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from teaser.data.tagging.tag import Tag
from teaser.errors import ParameterError
from teaser.profile import DEFAULT_STEERING, MAX_PRESSES, POPULARITY, Profile

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
    at least 0.1; popularity never is, nor a leaning that the person's own presses on the tag
    speak against. A profile of which nothing is known has no statements.
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
    learnt: Profile,
    presses: Mapping[Tag, int] | None = None,
    *,
    step: float = DEFAULT_STEERING.step,
) -> dict[Tag, int]:
    """Return the presses that "not really" means: as many as bring each affinity to 0 or beyond.

    Where the last possible press does not reach 0, it is that one: `statements` leaves a tag that
    was pressed against unsaid in any case. A tag at its last press is left out.

    Parameters
    ----------
    statement
        What is denied.
    learnt
        The profile of the same person without any press.
    presses
        The presses there are, on top of which these come.
    step
        How far one press moves an affinity.
    """
    found = {}
    for tag in statement.tags:
        a, now = statement.leaning * learnt.affinities[tag], (presses or {}).get(tag, 0)
        # As a little more than n presses may be a slip of the last digit, it is n.
        wanted = max(1, math.ceil(a / step - 1e-9))
        steps = -statement.leaning * min(MAX_PRESSES, wanted) - now
        if steps * statement.leaning < 0:
            found[tag] = steps
    return found


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

"""What was read from a request: its wishes, what was not understood, what contradicts."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from typing import Self

from teaser.words.period import Period
from teaser.words.wish import Wish

# Kinds of which one wish says all.
_ALONE = frozenset({"variety", "when"})
# The most wishes of one reading: as many as a visitor can look through before they apply.
MOST_WISHES = 20
# The most wishes about one thing that are compared.
_MOST = 50


@dataclass(frozen=True)
class Reading:
    """What was read from a request.

    Parameters
    ----------
    wishes
        In the order of the request, each once.
    unknown
        The words that were not understood, as they were written.
    contradictions
        Pairs of wishes that cannot both hold; the visitor has to choose.
    """

    wishes: tuple[Wish, ...] = ()
    unknown: tuple[str, ...] = ()
    contradictions: tuple[tuple[Wish, Wish], ...] = ()

    @classmethod
    def of(
        cls, wishes: Iterable[Wish], unknown: Iterable[str] = (), *, today: date | None = None
    ) -> Self:
        """Return a reading with the contradictions among its wishes found; each wish once.

        A reading holds 20 wishes. What further ones were read from is not understood, all of it:
        of the four wishes of "cheaper", none stays without the others.
        """
        each = tuple(dict.fromkeys(wishes))
        left = each[MOST_WISHES:]
        if left:
            cut = {wish.words for wish in left if wish.words}
            left = tuple(w for w in each if w.words in cut) + tuple(w for w in left if not w.words)
            each = tuple(wish for wish in each[:MOST_WISHES] if wish.words not in cut)
            unknown = (*unknown, *(wish.words or str(wish) for wish in left))
        contradictions = find_contradictions(each, today=today)
        return cls(each, tuple(dict.fromkeys(unknown)), contradictions)

    @property
    def understood(self) -> bool:
        """Whether something was read, all of it was understood and nothing contradicts."""
        return bool(self.wishes) and not self.unknown and not self.contradictions


def find_contradictions(
    wishes: Iterable[Wish], *, today: date | None = None
) -> tuple[tuple[Wish, Wish], ...]:
    """Return the pairs of wishes that cannot both hold, in their order.

    They are: presses in both directions on one tag; a tag that is wanted and excluded; bounds
    that leave no number; two periods without a common day; two values for variety.
    """
    now, placed = today or date.today(), list(enumerate(wishes))
    # Only wishes about the same can contradict; so many pairs are never looked at.
    about: dict[str, list[tuple[int, Wish]]] = {}
    for place, wish in placed:
        about.setdefault(wish.kind if wish.kind in _ALONE else wish.name, []).append((place, wish))
    pairs = (pair for group in about.values() for pair in combinations(group[:_MOST], 2))
    found = [(i, one, other) for (i, one), (_, other) in pairs if _contradict(one, other, now)]
    return tuple((one, other) for _, one, other in sorted(found, key=lambda each: each[0]))


def _contradict(one: Wish, other: Wish, today: date) -> bool:
    kinds = {one.kind, other.kind}
    if kinds == {"variety"}:
        return one.number != other.number
    if kinds == {"when"}:
        return _apart(Period.parse(one.name), Period.parse(other.name), today)
    if one.name != other.name:
        return False
    if kinds == {"at_most", "at_least"}:
        least, most = (one, other) if one.kind == "at_least" else (other, one)
        return (least.number or 0.0) > (most.number or 0.0)
    signs = {_direction(one), _direction(other)}
    return signs == {-1, 1}


def _direction(wish: Wish) -> int:
    """Return 1 for a wish that wants a tag, -1 for one that does not, 0 for one about no tag."""
    if wish.kind == "press":
        return 1 if wish.steps > 0 else -1
    return {"only": 1, "without": -1, "never": -1}.get(wish.kind, 0)


def _apart(one: Period, other: Period, today: date) -> bool:
    """Return whether two periods share no day."""
    (first, last), (other_first, other_last) = one.days(today), other.days(today)
    before = last is not None and other_first is not None and last < other_first
    return before or (other_last is not None and first is not None and other_last < first)

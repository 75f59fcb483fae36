"""Misspelt words: the known word that is meant.

Work is bounded: a word is compared only with the few that share what is left of them when a
letter or two are taken out, which is a lookup.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product

# Words of one of these lengths may differ in one letter, and in two.
ONE_OFF, TWO_OFF, LONGEST = 4, 9, 24
# First letters that are mistaken for each other.
_ALIKE = ({"c", "k"}, {"c", "s"}, {"s", "z"}, {"f", "v"}, {"f", "p"}, {"i", "y"}, {"g", "j"})
# The most words that one misspelt word is compared with.
_MOST_COMPARED = 64


@dataclass
class Speller:
    """Known words, and the one that a misspelt word means.

    Parameters
    ----------
    weights
        The known words, and how often each is meant; it decides between equally near ones.
    base
        A speller that several share; its words are known, too.
    """

    weights: dict[str, int] = field(default_factory=dict)
    base: "Speller | None" = None
    _shortened: dict[str, list[str]] | None = field(default=None, repr=False)

    def add(self, word: str, weight: int = 1) -> None:
        """Add a known word."""
        if ONE_OFF <= len(word) <= LONGEST and word.isalpha():
            self.weights[word] = max(weight, self.weights.get(word, 0))
            self._shortened = None

    def correct(self, word: str) -> str | None:
        """Return the known word that a misspelt one means, or None.

        Words of four letters may lack a letter, have one too many, or two exchanged; words of
        five to eight letters may also have a wrong one; longer ones differ in two. The first
        letter is right, exchanged with the second, or one that sounds alike.
        """
        if not 3 <= len(word) <= LONGEST or not word.isalpha():
            return None
        best: tuple[int, int, str] | None = None
        for known in self._candidates(word):
            distance = edit_distance(word, known)
            if not _is_near(word, known, distance):
                continue
            rank = (distance, -self._weight(known), known)
            best = rank if best is None or rank < best else best
        return best[2] if best else None

    def _candidates(self, word: str) -> list[str]:
        """Return the known words that are equal to this one once letters are taken out."""
        indexes = [self._index()] + ([self.base._index()] if self.base else [])
        found: dict[str, None] = {}
        for short, index in product(_shortenings(word), indexes):
            for known in index.get(short, ()):
                found[known] = None
                if len(found) == _MOST_COMPARED:
                    return list(found)
        return list(found)

    def _index(self) -> dict[str, list[str]]:
        """Return the own words by what is left of them; made when first needed."""
        if self._shortened is None:
            index: dict[str, list[str]] = defaultdict(list)
            for known in self.weights:
                for short in _shortenings(known):
                    index[short].append(known)
            self._shortened = dict(index)
        return self._shortened

    def _weight(self, known: str) -> int:
        other = self.base._weight(known) if self.base else 0
        return max(self.weights.get(known, 0), other)


def _shortenings(word: str) -> Iterable[str]:
    """Return a word, and what is left of it without one letter, or two if it is long."""
    out = {word: None}
    once = [word[:i] + word[i + 1 :] for i in range(len(word))]
    out.update(dict.fromkeys(once))
    if len(word) >= TWO_OFF - 1:
        for each in once:
            out.update(dict.fromkeys(each[:i] + each[i + 1 :] for i in range(len(each))))
    return out


def _is_near(word: str, known: str, distance: int) -> bool:
    length = min(len(word), len(known))
    sounds_alike = {word[0], known[0]} in _ALIKE and length > ONE_OFF
    if word[0] != known[0] and word[1::-1] != known[:2] and not sounds_alike:
        return False
    if length < ONE_OFF:
        # Three letters are understood if a letter is doubled: jaz.
        return len(known) == len(word) + 1 and any(
            word[:i] + word[i - 1] + word[i:] == known for i in range(1, len(word) + 1)
        )
    if length == ONE_OFF and len(word) == len(known):
        return distance <= 1 and sorted(word) == sorted(known)
    if length < TWO_OFF - 1:
        return distance <= 1
    # Two wrong letters make another word: astrology, astronomy.
    others = sum(abs(word.count(letter) - known.count(letter)) for letter in {*word, *known})
    return distance <= 2 and others <= 3


def edit_distance(one: str, other: str) -> int:
    """Return how many letters are wrong, missing, too many or exchanged with the next.

    Examples
    --------
    >>> edit_distance("peintrue", "peinture"), edit_distance("jaz", "jazz")
    (1, 1)
    """
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, against in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]

"""The titles of items: the one that a request names, also in part or misspelt."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log

from teaser.words.phrases.speller import edit_distance
from teaser.words.phrases.tokens import keys

# The most words of a title that are compared, and the most titles.
_LONGEST = 16
_MOST_TITLES = 2_000
# The least share of a title's weight that a request has to name.
_ENOUGH = 0.6
_LETTERS = 24


@dataclass(frozen=True)
class TitleIndex:
    """The titles of a catalogue by their words; equal ones stand for the first item given."""

    ids: Sequence[str] = ()
    _words: list[tuple[str, ...]] = field(default_factory=list, repr=False)
    _exact: dict[str, int] = field(default_factory=dict, repr=False)
    _holding: dict[str, list[int]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, titles: Iterable[tuple[str, str]], skipped: frozenset[str]) -> "TitleIndex":
        """Return an index of pairs of an item id and a title, the most popular first.

        Parameters
        ----------
        skipped
            Articles, which may be left out at the start of a title.
        """
        index, holding = cls([]), defaultdict(list)
        ids = []
        for place, (item_id, title) in enumerate(titles):
            words = keys(title)[:_LONGEST]
            ids.append(item_id)
            index._words.append(words)
            if not words:
                continue
            index._exact.setdefault(" ".join(words), place)
            if len(words) > 1 and words[0] in skipped:
                index._exact.setdefault(" ".join(words[1:]), place)
            for word in dict.fromkeys(words):
                holding[word].append(place)
        return cls(ids, index._words, index._exact, dict(holding))

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._known

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.ids)

    def exact(self, words: Sequence[str]) -> tuple[str, int] | None:
        """Return the item whose whole title the first words are, and their number, at least two.

        The longest title goes first.
        """
        longest = next((i for i, word in enumerate(words[:_LONGEST]) if not word), _LONGEST)
        for length in range(min(longest, len(words)), 1, -1):
            place = self._exact.get(" ".join(words[:length]))
            if place is not None:
                return self.ids[place], length
        return None

    def find(self, words: Sequence[str]) -> tuple[str, int] | None:
        """Return the item that the first words of a text name, and how many words they are.

        The longest exact title goes first; else the title most of which is named, by the weight
        of its words: log(titles / titles with the word).
        """
        words = [word for word in words[: _LONGEST + 2] if word]
        for length in range(len(words), 0, -1):
            place = self._exact.get(" ".join(words[:length]))
            if place is not None:
                return self.ids[place], length
        return self._nearest(words)

    def _nearest(self, words: Sequence[str]) -> tuple[str, int] | None:
        n = len(self._words)
        named = [word for word in words if len(word) > 2]
        candidates: dict[int, None] = {}
        for word in sorted(named, key=lambda each: len(self._holding.get(each, ()))):
            held = self._holding.get(word, ())
            if len(candidates) + len(held) > _MOST_TITLES:
                break
            candidates.update(dict.fromkeys(held))
        best: tuple[float, int, int] | None = None
        for place in candidates:
            title = self._words[place]
            weights = [log(1 + n / len(self._holding[word])) for word in title]
            got, last = 0.0, 0
            for word, weight in zip(title, weights, strict=True):
                at = next((i for i, given in enumerate(words) if _alike(given, word)), None)
                if at is not None and at < len(title) + 2:
                    got, last = got + weight, max(last, at + 1)
            share = got / sum(weights)
            # All words up to the last have to be about the title.
            known = sum(any(_alike(given, word) for word in title) for given in words[:last])
            enough = share >= _ENOUGH and 2 * known > last
            if enough and (best is None or (share, -place) > best[:2]):
                best = share, -place, last
        return (self.ids[-best[1]], best[2]) if best else None


def _alike(given: str, word: str) -> bool:
    """Return whether two words are the same, but for a misspelling of a long one."""
    if given == word:
        return True
    if min(len(given), len(word)) < 5 or abs(len(given) - len(word)) > 1 or given[0] != word[0]:
        return False
    return max(len(given), len(word)) <= _LETTERS and edit_distance(given, word) <= 1

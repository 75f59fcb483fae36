"""An index of phrases: exact, by stems, and written as one word."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from teaser.words.phrases.stems import stem

Value = TypeVar("Value", bound=Hashable)

# Shorter words are understood only as they are: pop is no puppet.
_SHORT = 3
# How many articles may stand in a phrase beyond one for each word.
_ARTICLES = 2


@dataclass(frozen=True)
class Found(Generic[Value]):
    """What stands in an index under the words at a place of a request.

    Parameters
    ----------
    values
        What the phrase was added for, in the order of adding.
    length
        How many words of the request it takes, words that were skipped included.
    quality
        0 for the exact phrase, 1 for its stems, 2 for words written as one.
    """

    values: tuple[Value, ...]
    length: int
    quality: int


class PhraseIndex(Generic[Value]):
    """Phrases of words, and what each stands for.

    Parameters
    ----------
    skipped
        For each language that requests are written in, the words that count for nothing inside a
        phrase, such as articles. Its endings count as the same word.
    """

    def __init__(self, skipped: Mapping[str, Iterable[str]]) -> None:
        self.skipped = {language: frozenset(words) for language, words in skipped.items()}
        self.words: set[str] = set()
        self._phrases: dict[str, dict[Value, None]] = {}
        self._exact: dict[str, dict[str, dict[Value, None]]] = {each: {} for each in skipped}
        self._stemmed: dict[str, dict[str, dict[Value, None]]] = {each: {} for each in skipped}
        self._longest = 1

    def __len__(self) -> int:
        return len(self._phrases)

    def add(self, words: Sequence[str], value: Value) -> None:
        """Add a phrase."""
        if not words:
            return
        self.words.update(words)
        self._longest = max(self._longest, len(words))
        self._phrases.setdefault(" ".join(words), {})[value] = None
        for language, skipped in self.skipped.items():
            # La Louvière is one name: the first word is kept.
            kept = [words[0], *(word for word in words[1:] if word not in skipped)]
            self._exact[language].setdefault(" ".join(kept), {})[value] = None
            known = self._stemmed[language]
            known.setdefault(" ".join(stem(word, language) for word in kept), {})[value] = None
            if len(kept) > 1:
                # Written as one word: standup, sciencefiction.
                known.setdefault("=" + stem("".join(kept), language), {})[value] = None

    def items(self) -> Iterable[tuple[str, tuple[Value, ...]]]:
        """Return the phrases, and what each stands for."""
        return ((phrase, tuple(values)) for phrase, values in self._phrases.items())

    def exact(self, phrase: str) -> tuple[Value, ...]:
        """Return what a phrase stands for, without regard to endings."""
        return tuple(self._phrases.get(phrase, ()))

    def single(self, word: str, language: str) -> tuple[Value, ...]:
        """Return what one word stands for, by itself or by its stem."""
        if word in self._phrases or len(word) <= _SHORT:
            return tuple(self._phrases.get(word, ()))
        return tuple(self._stemmed[language].get(stem(word, language), ()))

    def joined(self, word: str, language: str) -> tuple[Value, ...]:
        """Return what a phrase stands for that is written as one word: standup."""
        return tuple(self._stemmed[language].get("=" + stem(word, language), ()))

    def at(self, words: Sequence[str], place: int, language: str) -> list[Found[Value]]:
        """Return what stands at a place of a request, the longest first."""
        found: list[Found[Value]] = []
        exact, stemmed = self._exact[language], self._stemmed[language]
        exact_key, stem_key, kept = "", "", 0
        for end in range(place, min(len(words), place + 2 * self._longest + _ARTICLES)):
            word = words[end]
            if not word:
                break
            if kept and word in self.skipped[language]:
                continue
            kept += 1
            if kept > self._longest:
                break
            gap = " " if exact_key else ""
            exact_key += gap + word
            stem_key += gap + stem(word, language)
            length = end - place + 1
            if exact_key in exact:
                found.append(Found(tuple(exact[exact_key]), length, 0))
            elif kept == 1 and word in self.skipped[language]:
                continue
            elif stem_key in stemmed and len(exact_key) > _SHORT:
                found.append(Found(tuple(stemmed[stem_key]), length, 1))
            elif kept == 1 and "=" + stem_key in stemmed:
                found.append(Found(tuple(stemmed["=" + stem_key]), length, 2))
        return found[::-1]

"""Words without their endings: plurals, diminutives and feminine forms, in three languages.

A stem need not be a word. It only has to be the same for all forms of a word, so that a request
and a name in the vocabulary meet in it.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

_DIMINUTIVE = re.compile(r"(?:etje|tje|pje|je)s?$")
_DOUBLED = re.compile(r"([^\W\d_])\1")
# The fewest letters that an ending leaves.
_LEAST = 3
# Letters that join the two words of a Dutch compound.
_JOINTS = ("", "s", "en", "n", "e", "er")
_LONGEST = 40


@lru_cache(maxsize=65_536)
def stem(word: str, language: str) -> str:
    """Return the stem of a word in a language; the word itself for an unknown language.

    Examples
    --------
    >>> stem("families", "en") == stem("family", "en"), stem("koren", "nl") == stem("koor", "nl")
    (True, True)
    """
    rule = _RULES.get(language)
    if rule is None or len(word) <= _LEAST or len(word) > _LONGEST or not word.isalpha():
        return word
    return rule(word)


def split_compound(word: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to cut a Dutch compound in two, without the letters that join them."""
    if not word.isalpha() or len(word) > _LONGEST:
        return
    for place in range(_LEAST, len(word) - _LEAST + 1):
        head, rest = word[:place], word[place:]
        for joint in _JOINTS:
            if head.endswith(joint) and len(head) - len(joint) >= _LEAST:
                yield head[: len(head) - len(joint)], rest


def _english(word: str) -> str:
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word.endswith("ie"):
        return word[:-1]
    return word[:-1] + "i" if word.endswith("y") and word[-2] not in "aeou" else word


def _dutch(word: str) -> str:
    small = _DIMINUTIVE.search(word)
    if small and small.start() >= _LEAST:
        # After k, p, f, s and g the ending is -je, so that the t belongs to the word: markt-je.
        keeps_t = small[0].startswith("t") and word[small.start() - 1] in "kpfsgcbd"
        word = word[: small.start()] + ("t" if keeps_t else "")
    elif word.endswith("en"):
        word = word[:-2] if len(word) > _LEAST + 1 else word
    elif word.endswith("e") or (
        word.endswith("s") and not word.endswith(("ss", "us", "is", "as", "os"))
    ):
        word = word[:-1]
    word = _DOUBLED.sub(r"\1", word)
    return word[:-1] + {"v": "f", "z": "s"}.get(word[-1], word[-1])


def _french(word: str) -> str:
    if word.endswith("aux") and len(word) > 4:
        word = word[:-3] + "al"
    elif word.endswith(("s", "x")):
        word = word[:-1]
    word = word.rstrip("e") if len(word.rstrip("e")) >= _LEAST else word
    word = _DOUBLED.sub(r"\1", word)
    return word[:-1] + "f" if word.endswith("v") else word


_RULES: dict[str, Callable[[str], str]] = {"en": _english, "nl": _dutch, "fr": _french}

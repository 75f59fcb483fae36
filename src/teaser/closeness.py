"""The known names that resemble a wrong one, found in a bounded amount of work.

A typing error leaves the beginning or the end of a name as it was. Among very many names only
those with the same beginning or end are looked at. A count of shared pairs of letters then chooses
the few that difflib compares.
"""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from heapq import nlargest
from itertools import islice

# The most names of which pairs of letters are counted, for each end of the name.
_MANY = 500
_SAMPLE = 1_000
# The most names that difflib compares; each costs up to the product of both lengths.
COMPARED = 30
# The letters that are compared.
LETTERS = 64
_CUTOFF = 0.5


def closest_names(name: str, known: Iterable[str], *, n: int = 3) -> tuple[str, ...]:
    """Return the known names that resemble `name` most, the best first.

    At most 30 names are compared, by their first 64 letters, however many and long they are.
    """
    short = name[:LETTERS]
    names = _of_like_length(len(short), known)
    if len(names) > _MANY:
        starts = [short[:length] for length in range(len(short) + 1)]
        ends = [name[len(name) - length :] for length in range(len(short) + 1)]
        found = [*_sharing(starts, names, str.startswith), *_sharing(ends, names, str.endswith)]
        names = list(dict.fromkeys(found))
    if len(names) > COMPARED:
        pairs = _pairs(short)
        names = nlargest(COMPARED, names, key=lambda each: len(pairs & _pairs(each[:LETTERS])))
    return _compare(short, names, n)


def _of_like_length(length: int, known: Iterable[str]) -> list[str]:
    """Return the names that are not so short or long that no letters could make them alike."""
    # 2 same / (a + b) is at most 2 min(a, b) / (a + b).
    factor = (2 - _CUTOFF) / _CUTOFF
    least, most = length / factor, length * factor
    return [each for each in known if least <= len(each) and (len(each) <= most or most > LETTERS)]


def _sharing(
    parts: Sequence[str], names: list[str], shares: Callable[[str, str], bool]
) -> list[str]:
    """Return names that share a beginning or an end, as long a one as leaves few of them.

    Parameters
    ----------
    parts
        Beginnings or ends of the wrong name, by their length.
    """
    # A sample tells how long it must be, so that the names are gone through once or twice.
    sample, few, length = names[:: len(names) // _SAMPLE + 1], _MANY / len(names), 0
    left = sample
    while length < len(parts) - 1 and len(left) > few * len(sample):
        length += 1
        left = [each for each in left if shares(each, parts[length])]
    for part in parts[max(1, length - 1) : length + 1][::-1]:
        found = [each for each in names if shares(each, part)]
        if found:
            return found[:_MANY]
    return []


def _pairs(name: str) -> set[str]:
    """Return the letters of a name and its pairs of neighbouring letters."""
    return {*name, *map(str.__add__, name, name[1:])}


def _compare(short: str, names: Iterable[str], n: int) -> tuple[str, ...]:
    """Return the names whose first letters difflib finds closest, the best first."""
    starts: dict[str, list[str]] = {}
    for each in names:
        starts.setdefault(each[:LETTERS], []).append(each)
    found = get_close_matches(short, list(starts), n=n, cutoff=_CUTOFF)
    return tuple(islice((each for start in found for each in starts[start]), n))

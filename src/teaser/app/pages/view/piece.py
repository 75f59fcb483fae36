"""The elements of a page that a browser may have already, so that an answer need not repeat them.

Each such element carries a version, which is a hash of its HTML, in the attribute `data-v`. The
page's script sends the versions that the page has. Where the new page has the same element, the
answer holds an empty element with `data-same`, and the script moves the one that it has there.

This needs no memory of what was sent: it holds with several workers, after a change of the model or
of the language, and on any page.
"""

from binascii import b2a_base64
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from markupsafe import Markup

_BYTES = 6
_LENGTH = 8  # letters of six bytes in base 64
# Versions that a page of 96 cards may have; a browser that sends more gets elements again.
_MOST_HELD = 4_000
# About 8 MB. The pages of 32 visitors have some 3,000 elements that differ.
_MAX_CACHED = 4_000
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class Piece(NamedTuple):
    """An element, or parts in a row that have no tag around them.

    Attributes
    ----------
    version
        A hash of all of it.
    start
        The HTML from the opening of its tag on; empty for parts in a row.
    inner
        What it holds, in order: pieces, and HTML that is always sent.
    end
        The rest, with the end of its tag.
    """

    version: str
    start: str
    inner: tuple["Piece | str", ...] = ()
    end: str = ""


Part = Piece | str


@lru_cache(maxsize=_MAX_CACHED)
def leaf(html: str) -> Piece:
    """Return one element as a piece, given its HTML."""
    return Piece(_version(html), html)


def element(start: str, inner: Iterable[Part], end: str) -> Piece:
    """Return an element with pieces inside, of which each may be known to a browser."""
    parts = tuple(inner)
    texts = [part if isinstance(part, str) else part.version for part in parts]
    return Piece(_version("".join((start, *texts, end))), start, parts, end)


def row(inner: Iterable[Part]) -> Piece:
    """Return parts that always stand in a row, so that elements around them need one hash."""
    return element("", _merged(inner), "")


class Pieces:
    """Writes the elements of one answer.

    Parameters
    ----------
    held
        The versions of the elements that the browser has, one after the other.
    is_versioned
        Whether elements carry their version; not on pages whose elements are never compared.
    """

    def __init__(self, held: str = "", *, is_versioned: bool = True) -> None:
        ends = range(_LENGTH, min(len(held), _LENGTH * _MOST_HELD) + 1, _LENGTH)
        self._held = frozenset([held[end - _LENGTH : end] for end in ends])
        self._is_versioned = is_versioned

    def html(self, parts: Iterable[Part]) -> Markup:
        """Return what is sent of pieces: only the elements that the browser has not."""
        sent: list[str] = []
        for part in parts:
            self._send(part, sent)
        return Markup("".join(sent))  # noqa: S704 - it was escaped before

    def write(self, html: str, *, is_kept: bool = True) -> Markup:
        """Return what is sent of one element; `is_kept=False` keeps no copy, of a large one."""
        return self.html([leaf(html) if is_kept else element(html, (), "")])

    def _send(self, part: Part, sent: list[str]) -> None:
        if isinstance(part, str):
            sent.append(part)
            return
        version, start, inner, end = part
        if start and self._is_versioned:
            if version in self._held:
                sent.append(f"<i data-same={version}></i>")
                return
            start = _marked(start, version)
        sent.append(start)
        for each in inner:
            self._send(each, sent)
        sent.append(end)


PLAIN = Pieces(is_versioned=False)


def _merged(inner: Iterable[Part]) -> tuple[Part, ...]:
    """Return parts with neighbouring texts joined."""
    found: list[Part] = []
    texts: list[str] = []
    for part in inner:
        if isinstance(part, str):
            texts.append(part)
            continue
        if texts:
            found.append("".join(texts))
            texts = []
        found.append(part)
    if texts:
        found.append("".join(texts))
    return tuple(found)


def _version(text: str) -> str:
    digest = blake2b(text.encode(), digest_size=_BYTES).digest()
    return b2a_base64(digest, newline=False).translate(_URL_SAFE).decode()


def _marked(html: str, version: str) -> str:
    """Return an element with its version, at the end of its first tag: texts have no bare `>`."""
    return str.replace(html, ">", f" data-v={version}>", 1)  # that of Markup would escape

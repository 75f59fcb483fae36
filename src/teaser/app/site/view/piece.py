"""The elements of a page that a browser may have already, so that an answer need not repeat them.

Each such element carries a version, which is a hash of its HTML, in the attribute `data-v`. The
page's script sends the versions that the page has. Where the new page has the same element, the
answer holds an empty element with `data-same`, and the script moves the one that it has there.

This needs no memory of what was sent: it holds with several workers, after a change of the model or
of the language, and on any page.
"""

import base64
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


class Piece(NamedTuple):
    """An element: its version, and what is sent of it."""

    version: str
    html: str


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
        self._held = frozenset(held[end - _LENGTH : end] for end in ends)
        self._is_versioned = is_versioned

    def leaf(self, html: str) -> Piece:
        """Return one element as a piece, given its HTML."""
        if not self._is_versioned:
            return Piece("", html)
        found = _versioned(html)
        return Piece(found.version, _gap(found.version)) if found.version in self._held else found

    def write(self, html: str, *, is_kept: bool = True) -> Markup:
        """Return what is sent of one element; `is_kept=False` keeps no copy, of a large one."""
        piece = self.leaf(html) if is_kept else self.element(html, (), "")
        return Markup(piece.html)  # noqa: S704 - it was escaped before

    def element(self, start: str, inner: Iterable[Piece | str], end: str) -> Piece:
        """Return an element with pieces inside: only those are sent that the browser has not.

        Parameters
        ----------
        start
            The HTML from the opening of its tag on.
        inner
            What it holds, in order: pieces, and HTML that is always sent.
        end
            The rest, with the end of its tag.
        """
        parts = list(inner)
        html = [part if isinstance(part, str) else part.html for part in parts]
        if not self._is_versioned:
            return Piece("", "".join((start, *html, end)))
        texts = [part if isinstance(part, str) else part.version for part in parts]
        version = _version("".join((start, *texts, end)))
        if version in self._held:
            return Piece(version, _gap(version))
        return Piece(version, "".join((_marked(start, version), *html, end)))


PLAIN = Pieces(is_versioned=False)


@lru_cache(maxsize=_MAX_CACHED)
def _versioned(html: str) -> Piece:
    version = _version(html)
    return Piece(version, _marked(html, version))


def _version(text: str) -> str:
    digest = blake2b(text.encode(), digest_size=_BYTES).digest()
    return base64.urlsafe_b64encode(digest).decode()


def _marked(html: str, version: str) -> str:
    """Return an element with its version, at the end of its first tag: texts have no bare `>`."""
    return str.replace(html, ">", f" data-v={version}>", 1)  # that of Markup would escape


def _gap(version: str) -> str:
    return f"<i data-same={version}></i>"

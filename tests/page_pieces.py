"""The elements of a page by their versions, to put an answer together as the script does."""

import re

_TAG = re.compile(r"<(/?)([a-z0-9]+)([^>]*)>")
_VOID = {"input", "img", "br", "link", "meta"}
_VERSION = re.compile(r" data-v=([\w-]{8})")
_GAP = re.compile(r"<i data-same=([\w-]{8})></i>")


def elements(html: str) -> dict[str, str]:
    """Return the elements of a page that have a version."""
    found: dict[str, str] = {}
    stack: list[tuple[str, int]] = []
    for tag in _TAG.finditer(html):
        end, name, rest = tag.groups()
        if end:
            version, start = stack.pop()
            found |= {version: html[start : tag.end()]} if version else {}
        elif name not in _VOID and not rest.endswith("/"):
            given = _VERSION.search(rest)
            stack.append((given[1] if given else "", tag.start()))
    return found


def filled(answer: str, page: str) -> str:
    """Return an answer with the elements that it left out, from the page before."""
    known = elements(page)
    return _GAP.sub(lambda gap: known[gap[1]], answer)


def gaps(answer: str) -> list[str]:
    """Return the versions of the elements that an answer left out."""
    return _GAP.findall(answer)

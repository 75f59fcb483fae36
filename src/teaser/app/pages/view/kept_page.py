"""A page without what most actions change: it is kept, and its holes are filled anew."""

from collections.abc import Iterable, Iterator, Mapping
from secrets import token_hex
from typing import NamedTuple

from markupsafe import Markup

from teaser.app.pages.view.piece import Part, Pieces

# This stands around the number of a piece or hole. It is drawn anew in each process, so that no
# text of the data holds it.
_MARK = token_hex()


class _Hole(NamedTuple):
    name: str


class KeptPage(NamedTuple):
    """The parts of a page in order, and the holes between them.

    `n_letters` is the length of what was written for this page alone.
    """

    parts: tuple[Part | _Hole, ...]
    n_letters: int

    def filled(self, given: Mapping[str, Iterable[Part]]) -> Iterator[Part]:
        """Yield the parts of the page, those of a hole by its name."""
        for part in self.parts:
            if isinstance(part, _Hole):
                yield from given[part.name]
            else:
                yield part


class PageWriter(Pieces):
    """Notes the pieces and holes of a page while a template writes what is around them."""

    def __init__(self) -> None:
        super().__init__()
        self._noted: list[tuple[Part | _Hole, ...]] = []
        self._n_letters = 0

    def write(self, html: str, *, is_kept: bool = True) -> Markup:
        """Note an element; return what stands for it in the text of the page."""
        self._n_letters += len(html)
        return super().write(html, is_kept=is_kept)

    def html(self, parts: Iterable[Part]) -> Markup:
        """Note pieces; return what stands for them in the text of the page."""
        return self._note(*parts)

    def hole(self, name: str) -> Markup:
        """Note a hole; return what stands for it in the text of the page."""
        return self._note(_Hole(name))

    def read(self, text: str) -> KeptPage:
        """Return the page that was written as a text."""
        texts = text.split(_MARK)
        found: list[Part | _Hole] = [texts[0]]
        for number, after in zip(texts[1::2], texts[2::2], strict=True):
            found += (*self._noted[int(number)], after)
        return KeptPage(tuple(found), self._n_letters + len(text))

    def _note(self, *parts: Part | _Hole) -> Markup:
        self._noted.append(parts)
        return Markup(f"{_MARK}{len(self._noted) - 1}{_MARK}")  # noqa: S704 - letters and digits

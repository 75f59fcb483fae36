"""A page without what most actions change: the frame is kept, and its holes are filled anew."""

from collections.abc import Iterable, Iterator, Mapping
from secrets import token_hex
from typing import NamedTuple

from markupsafe import Markup

from teaser.app.site.view.piece import Part, Pieces

# This stands around what is noted. It is drawn anew in each process, so that no text of the data
# holds it.
_MARK = token_hex()


class _Hole(NamedTuple):
    name: str


class Frame(NamedTuple):
    """The parts of a page in order, and the holes between them."""

    parts: tuple[Part | _Hole, ...]

    def filled(self, given: Mapping[str, Iterable[Part]]) -> Iterator[Part]:
        """Yield the parts of the page, those of a hole by its name."""
        for part in self.parts:
            if isinstance(part, _Hole):
                yield from given[part.name]
            else:
                yield part


class FrameWriter(Pieces):
    """Notes the pieces and holes of a page while a template writes what is around them."""

    def __init__(self) -> None:
        super().__init__()
        self._noted: list[tuple[Part | _Hole, ...]] = []

    def html(self, parts: Iterable[Part]) -> Markup:
        """Note pieces; return what stands for them in the text of the page."""
        return self._note(*parts)

    def hole(self, name: str) -> Markup:
        """Note a hole; return what stands for it in the text of the page."""
        return self._note(_Hole(name))

    def read(self, text: str) -> Frame:
        """Return the frame that was written as a text."""
        texts = text.split(_MARK)
        found: list[Part | _Hole] = [texts[0]]
        for number, after in zip(texts[1::2], texts[2::2], strict=True):
            found += (*self._noted[int(number)], after)
        return Frame(tuple(found))

    def _note(self, *parts: Part | _Hole) -> Markup:
        self._noted.append(parts)
        return Markup(f"{_MARK}{len(self._noted) - 1}{_MARK}")  # noqa: S704 - letters and digits

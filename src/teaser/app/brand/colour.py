"""Colours of a site from one accent: shades that can be read in light and in dark."""

import re
from collections.abc import Sequence
from colorsys import rgb_to_hsv
from dataclasses import dataclass
from typing import NamedTuple, Self

from teaser.errors import ParameterError

# The least contrast of text and of drawings, from WCAG 2.2 (1.4.3 and 1.4.11).
TEXT, DRAWING = 4.5, 3.0
_STEPS = 100


class Colour(NamedTuple):
    """A colour in sRGB: red, green and blue from 0 to 255."""

    red: int
    green: int
    blue: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the colour of `#rrggbb` or `#rgb`.

        Raises
        ------
        ParameterError
            If the text is no such colour.
        """
        digits = text.strip().removeprefix("#")
        if not re.fullmatch(r"[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6}", digits):
            raise ParameterError(f"{text!r} is no colour. Write it as #0b6f66.")
        if len(digits) == 3:
            digits = "".join(2 * digit for digit in digits)
        return cls(*(int(digits[i : i + 2], 16) for i in (0, 2, 4)))

    def __str__(self) -> str:
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"

    @property
    def luminance(self) -> float:
        """The relative luminance of WCAG, 0 for black and 1 for white."""
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in self._unit]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    @property
    def hue(self) -> float:
        """The hue in degrees."""
        return 360 * rgb_to_hsv(*self._unit)[0]

    @property
    def saturation(self) -> float:
        """The saturation, 0 for a grey and 1 for a pure colour."""
        return rgb_to_hsv(*self._unit)[1]

    def contrast(self, other: "Colour") -> float:
        """Return the contrast ratio of WCAG, from 1 to 21."""
        dark, light = sorted((self.luminance, other.luminance))
        return (light + 0.05) / (dark + 0.05)

    def mixed(self, other: "Colour", share: float) -> "Colour":
        """Return a mixture with a share of another colour."""
        pairs = zip(self, other, strict=True)
        return Colour(*(round((1 - share) * own + share * its) for own, its in pairs))

    def readable(self, grounds: Sequence["Colour"], least: float, towards: "Colour") -> "Colour":
        """Return the nearest mixture with `towards` that has a contrast with all grounds.

        `towards`, which is black or white, must itself have it.
        """
        mixtures = (self.mixed(towards, step / _STEPS) for step in range(_STEPS))
        fits = (m for m in mixtures if all(m.contrast(ground) >= least for ground in grounds))
        return next(fits, towards)

    @property
    def _unit(self) -> tuple[float, float, float]:
        return self.red / 255, self.green / 255, self.blue / 255


BLACK, WHITE = Colour(0, 0, 0), Colour(255, 255, 255)


@dataclass(frozen=True)
class Scheme:
    """The fixed colours of the pages in light or in dark, which an accent must go with.

    Attributes
    ----------
    grounds
        What texts and drawings stand on.
    soft
        The colour of texts that may stand on a wash of the accent.
    towards
        Where a colour moves that cannot be read.
    opposite, opposite_bar
        Text and drawings of what counts against an item, if the accent is like the usual orange.
    """

    name: str
    grounds: tuple[Colour, ...]
    soft: Colour
    towards: Colour
    opposite: Colour
    opposite_bar: Colour


# The grounds and the soft text stand in teaser.css too; a test compares them.
LIGHT = Scheme(
    "light",
    (WHITE, Colour.parse("#f5f4ef")),
    Colour.parse("#565f6d"),
    BLACK,
    Colour.parse("#37508a"),
    Colour.parse("#4a68ad"),
)
DARK = Scheme(
    "dark",
    (Colour.parse("#191f27"), Colour.parse("#0f1318"), Colour.parse("#222a34")),
    Colour.parse("#a7b1be"),
    WHITE,
    Colour.parse("#a9bdf0"),
    Colour.parse("#7f9ade"),
)


@dataclass(frozen=True)
class Shades:
    """The shades of an accent in one scheme: of text, drawings, a wash, and text on the accent."""

    text: Colour
    bar: Colour
    wash: Colour
    on_text: Colour


def shades(accent: Colour, scheme: Scheme) -> Shades:
    """Return the shades of an accent that can be read in a scheme."""
    card = scheme.grounds[0]
    # The strongest wash on which the soft text can still be read.
    washes = (card.mixed(accent, share / _STEPS) for share in range(15, 0, -1))
    wash = next((w for w in washes if w.contrast(scheme.soft) >= TEXT), card)
    text = accent.readable((*scheme.grounds, wash), TEXT, scheme.towards)
    bar = accent.readable(scheme.grounds, DRAWING, scheme.towards)
    on_text = max(WHITE, text.mixed(BLACK, 0.85), key=text.contrast)
    return Shades(text, bar, wash, on_text)

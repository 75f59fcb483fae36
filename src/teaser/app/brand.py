"""A site's own name, logo and colours: shades of one accent that can be read in light and dark."""

import hashlib
import re
from collections.abc import Sequence
from colorsys import rgb_to_hsv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

from fastapi import APIRouter, Response

from teaser.app.settings import NAME, Settings
from teaser.errors import ParameterError
from teaser.files import read_bytes

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


MAX_BYTES = 512 * 1024
# How files begin; the name of a file says nothing about what is in it.
_BEGINNINGS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.S),
    # Declarations and comments come first. Possessive, so that no file takes long.
    "image/svg+xml": re.compile(
        rb"""(?:\xef\xbb\xbf)?\s*+
        (?: <\?[^>]*+> \s*+
          | <!--(?:(?!-->).)*+--> \s*+
          | <!DOCTYPE[^>\[]*+ (?: \[[^\]]*+\] \s*+ )? > \s*+
        )*+
        <(?:\w+:)?svg[\s/>]""",
        re.S | re.X,
    ),
}


@dataclass(frozen=True)
class Logo:
    """A picture: its media type and bytes."""

    media_type: str
    content: bytes


def read_logo(path: Path) -> Logo:
    """Return the logo in a file.

    An SVG may contain scripts. It is shown as an image and sent with a policy that forbids them,
    so that none runs.

    Raises
    ------
    ParameterError
        If the file cannot be read, is too large, or is no picture of a known type.
    """
    try:
        size = path.stat().st_size
        content = read_bytes(path) if size <= MAX_BYTES else b""
    except OSError as error:
        raise ParameterError(
            f"The logo {path} cannot be read: {error.strerror}. Give the path of a picture."
        ) from None
    if size > MAX_BYTES:
        raise ParameterError(
            f"The logo {path} has {size:,} bytes, and at most {MAX_BYTES:,} are allowed. "
            "It is shown 30 pixels high, so save it smaller."
        )
    for media_type, beginning in _BEGINNINGS.items():
        if beginning.match(content):
            return Logo(media_type, content)
    raise ParameterError(
        f"The logo {path} is no picture that browsers show: it begins with {content[:12]!r}. "
        "Give a file in SVG, PNG, WebP or JPEG."
    )


_ORANGE = Colour.parse("#a3440a")
_NEAR_HUE, _LEAST_SATURATION = 25, 0.3
_CACHED = {"cache-control": "public, max-age=3600"}
# An SVG cannot run a script or load anything, whoever opens its address.
_LOGO_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


@dataclass(frozen=True)
class Brand:
    """What makes a site its owner's.

    Attributes
    ----------
    name
        The name in the header, in titles and in the description of the API.
    css
        Rules that replace the colours; empty for the usual ones.
    logo
        The picture beside the name; None for the mark of TEASER.
    notes
        What was changed of the colours so that texts can be read, in sentences.
    """

    name: str = NAME
    css: str = ""
    logo: Logo | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def version(self) -> str:
        """A text that changes with the colours and the logo, for the caches of browsers."""
        content = self.css.encode() + (self.logo.content if self.logo else b"")
        return hashlib.sha256(content).hexdigest()[:12]


def read_brand(settings: Settings) -> Brand:
    """Return the brand that the settings describe.

    Raises
    ------
    ParameterError
        If the logo cannot be used.
    """
    logo = read_logo(Path(settings.logo)) if settings.logo else None
    if not settings.accent and not settings.accent_dark:
        return Brand(settings.name, logo=logo)
    given = settings.accent or settings.accent_dark
    light = Colour.parse(given)
    dark = Colour.parse(settings.accent_dark or given)
    in_light, in_dark = shades(light, LIGHT), shades(dark, DARK)
    notes = []
    if settings.accent:
        notes += _note("accent", light, in_light, LIGHT)
    if settings.accent_dark:
        notes += _note("accent_dark", dark, in_dark, DARK)
    clashes = _clashes(light) or _clashes(dark)
    if clashes:
        notes.append(
            "The accent is like the orange of what counts against an item, so that becomes blue."
        )
    css = _css(in_light, in_dark, with_opposite=clashes)
    return Brand(settings.name, css, logo, tuple(notes))


def brand_routes(brand: Brand) -> APIRouter:
    """Return the addresses of the colours and of the logo."""
    router = APIRouter()

    @router.get("/brand.css")
    async def colours() -> Response:
        return Response(brand.css, media_type="text/css", headers=_CACHED)

    if brand.logo is not None:
        logo = brand.logo

        @router.get("/logo")
        async def show_logo() -> Response:
            headers = {**_CACHED, "content-security-policy": _LOGO_POLICY}
            return Response(logo.content, media_type=logo.media_type, headers=headers)

    return router


def _note(setting: str, given: Colour, found: Shades, scheme: Scheme) -> list[str]:
    """Return a sentence if the text in a scheme has another colour than was given."""
    if found.text == given:
        return []
    worst = min((*scheme.grounds, found.wash), key=given.contrast)
    return [
        f"{setting} {given} cannot be read on {worst} (contrast {given.contrast(worst):.1f}, at "
        f"least {TEXT} is needed), so texts in {scheme.name} colours are {found.text}."
    ]


def _clashes(accent: Colour) -> bool:
    """Return whether an accent could be taken for the orange of the other side of a bar."""
    apart = abs(accent.hue - _ORANGE.hue)
    is_near = min(apart, 360 - apart) < _NEAR_HUE
    return is_near and accent.saturation >= _LEAST_SATURATION


def _css(light: Shades, dark: Shades, *, with_opposite: bool) -> str:
    pairs: dict[str, tuple[Colour, Colour]] = {
        "teal": (light.text, dark.text),
        "teal-bar": (light.bar, dark.bar),
        "teal-wash": (light.wash, dark.wash),
        "on-teal": (light.on_text, dark.on_text),
        "mark": (light.text, light.text),
        "mark-up": (light.text.mixed(WHITE, 0.6),) * 2,
    }
    if with_opposite:
        pairs["orange"] = LIGHT.opposite, DARK.opposite
        pairs["orange-bar"] = LIGHT.opposite_bar, DARK.opposite_bar
    rules = (f"--{name}: light-dark({a}, {b});" for name, (a, b) in pairs.items())
    return f":root {{ {' '.join(rules)} }}\n"

"""A site's own name, colours and logo, as the pages use them."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fastapi import APIRouter, Response

from teaser.app.brand.colour import DARK, LIGHT, TEXT, WHITE, Colour, Scheme, Shades, shades
from teaser.app.brand.logo import Logo, read_logo
from teaser.app.settings import NAME, Settings

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

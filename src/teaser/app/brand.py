"""A site's own name, logo and colours."""

import hashlib
from colorsys import rgb_to_hsv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fastapi import APIRouter, Response

from teaser.app.settings import NAME, Settings
from teaser.errors import ParameterError
from teaser.files import read_bytes

MAX_BYTES = 512 * 1024
_TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
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
    media_type = _TYPES.get(path.suffix.lower())
    try:
        content = read_bytes(path)
    except OSError as error:
        raise ParameterError(
            f"The logo {path} cannot be read: {error.strerror}. Give the path of a picture."
        ) from None
    if media_type is None or len(content) > MAX_BYTES:
        raise ParameterError(
            f"The logo {path}, of {len(content):,} bytes, cannot be used. Give a picture in SVG, "
            f"PNG, WebP or JPEG of at most {MAX_BYTES:,} bytes; it is shown 30 pixels high."
        )
    return Logo(media_type, content)


# Shades of an accent. Browsers move its lightness to where any hue can be read on the grounds of
# teaser.css: texts have a contrast of 4.5 or more, bars of 3 or more, as WCAG 2.2 asks for.
_SHADES = """:root {{
--teal: light-dark(oklch(from {light} min(l, 0.47) c h), oklch(from {dark} max(l, 0.78) c h));
--teal-bar: light-dark(oklch(from {light} min(l, 0.58) c h), oklch(from {dark} max(l, 0.64) c h));
--teal-wash: light-dark(color-mix(in oklab, {light} 10%, #fff), color-mix(in oklab, {dark} 10%, #191f27));
--on-teal: light-dark(#fff, #101418);
--mark: oklch(from {light} min(l, 0.47) c h);
--mark-up: color-mix(in srgb, var(--mark), #fff 60%);
{more}}}
"""  # noqa: E501
# For an accent like the orange of what counts against an item, which then becomes blue.
_BLUE = "--orange: light-dark(#37508a, #a9bdf0); --orange-bar: light-dark(#4a68ad, #7f9ade);\n"
_ORANGE_HUE, _NEAR_HUE, _LEAST_SATURATION = 23 / 360, 25 / 360, 0.3
# The header of what is the same for everybody.
CACHED = {"cache-control": "public, max-age=3600"}
# An SVG cannot run a script or load anything, whoever opens its address.
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


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
    """

    name: str = NAME
    css: str = ""
    logo: Logo | None = None

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
    light, dark = map(_colour, (settings.accent, settings.accent_dark))
    light, dark = light or dark, dark or light
    more = _BLUE if _is_orange(light) or _is_orange(dark) else ""
    return Brand(settings.name, _SHADES.format(light=light, dark=dark, more=more), logo)


def brand_routes(brand: Brand) -> APIRouter:
    """Return the addresses of the colours and of the logo."""
    router = APIRouter()

    @router.get("/brand.css")
    async def colours() -> Response:
        return Response(brand.css, media_type="text/css", headers=CACHED)

    if brand.logo is not None:
        logo = brand.logo

        @router.get("/logo")
        async def show_logo() -> Response:
            return picture_response(logo.media_type, logo.content)

    return router


def picture_response(media_type: str, content: bytes) -> Response:
    """Return an answer with a picture that a site's owner or its data brought."""
    headers = {**CACHED, "content-security-policy": _PICTURE_POLICY}
    return Response(content, media_type=media_type, headers=headers)


def _colour(text: str) -> str:
    """Return a colour of the settings as CSS writes it; empty if there is none."""
    return f"#{text.removeprefix('#')}" if text else ""


def _is_orange(accent: str) -> bool:
    """Return whether an accent could be taken for the orange of the other side of a bar."""
    digits = accent.removeprefix("#")
    size = len(digits) // 3
    parts = (digits[i : i + size] for i in range(0, 3 * size, size))
    hue, saturation, _ = rgb_to_hsv(*(int(part * (3 - size), 16) / 255 for part in parts))
    return abs(hue - _ORANGE_HUE) < _NEAR_HUE and saturation >= _LEAST_SATURATION

"""The logo of a site: a file that is checked once and served from memory."""

import re
from dataclasses import dataclass
from pathlib import Path

from teaser.errors import ParameterError
from teaser.files import read_bytes

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

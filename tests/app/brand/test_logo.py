"""The logo is what its bytes say, whatever the file is called."""

from pathlib import Path

import pytest

from teaser.app.brand.logo import MAX_BYTES, read_logo
from teaser.errors import ParameterError

SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (SVG, "image/svg+xml"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a --> <!DOCTYPE svg>\n" + SVG, "image/svg+xml"),
        (
            b'<?xml version="1.0"?>\n<!-- Generator -->\n<!DOCTYPE svg PUBLIC "-//W3C" "x.dtd" [\n'
            b'  <!ENTITY ns_svg "http://www.w3.org/2000/svg">\n]>\n' + SVG,
            "image/svg+xml",
        ),
        (b"<?xml version='1.0'?><?xml-stylesheet href='a.css'?><svg/>", "image/svg+xml"),
        (b"\x89PNG\r\n\x1a\nrest", "image/png"),
        (b"RIFF\x10\x00\x0a\x00WEBPVP8 ", "image/webp"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
    ],
)
def test_pictures_are_known_by_their_bytes(tmp_path: Path, content: bytes, media_type: str) -> None:
    path = tmp_path / "logo.txt"
    path.write_bytes(content)
    found = read_logo(path)
    assert (found.media_type, found.content) == (media_type, content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html><svg></svg></html>",
        b"<svgx>",
        b"GIF89a",
        b"#!/bin/sh",
        b"RIFF",
        b"<!-- a -->" * 300,
    ],
)
def test_anything_else_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "logo.svg"
    path.write_bytes(content)
    with pytest.raises(ParameterError, match=r"logo\.svg is no picture.*SVG, PNG, WebP or JPEG"):
        read_logo(path)


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "logo.svg"
    path.write_bytes(SVG.ljust(MAX_BYTES))
    read_logo(path)
    path.write_bytes(SVG.ljust(MAX_BYTES + 1))
    with pytest.raises(ParameterError, match=r"524,289 bytes, and at most 524,288"):
        read_logo(path)


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "none.png", tmp_path):
        with pytest.raises(ParameterError, match=r"cannot be read: .* Give the path of a picture"):
            read_logo(path)

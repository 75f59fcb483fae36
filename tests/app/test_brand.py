"""A site's own name, colours and logo: escaped, readable, and without scripts."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import TestClient
from hypothesis import given
from hypothesis import strategies as st

from teaser.app.brand import DARK, LIGHT, MAX_BYTES, Brand, Colour, read_brand, read_logo, shades
from teaser.app.settings import Settings
from teaser.errors import ParameterError

SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


def brand_of(**given: Any) -> Brand:
    return read_brand(Settings(model=Path("m"), **given))


def test_the_name_is_in_the_header_in_titles_and_in_the_api(
    serve: Callable[..., TestClient],
) -> None:
    client = serve(name="Smith & <Sons>")
    page = client.get("/").text
    assert "<title>Smith &amp; &lt;Sons&gt;</title>" in page
    assert "<span>Smith &amp; &lt;Sons&gt;</span></a>" in page
    assert "TEASER" not in page
    assert "<title>Search · Smith &amp; &lt;Sons&gt;</title>" in client.get("/search").text
    missing = client.get("/nowhere", headers={"accept": "text/html"})
    assert "Smith &amp; &lt;Sons&gt;" in missing.text
    assert client.get("/openapi.json").json()["info"]["title"] == "Smith & <Sons>"


def test_a_logo_is_served_so_that_no_script_runs(
    serve: Callable[..., TestClient], tmp_path: Path
) -> None:
    path = tmp_path / "logo.svg"
    path.write_bytes(SVG)
    client = serve(logo=str(path))
    path.unlink()  # it was read at the start
    page = client.get("/").text
    (address,) = re.findall(r'<img class="logo" src="(/logo\?\w+)" alt="" height="30">', page)
    assert f'rel="icon" href="{address}" type="image/svg+xml"' in page
    answer = client.get(address)
    assert answer.content == SVG
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["x-content-type-options"] == "nosniff"
    policies = answer.headers.get_list("content-security-policy")
    assert any("default-src 'none'" in p and "sandbox" in p for p in policies)


def test_a_logo_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be read"):
        brand_of(logo=str(tmp_path / "none.png"))


COLOURS = st.builds(Colour, *[st.integers(0, 255)] * 3)


@given(COLOURS)
def test_every_shade_can_be_read(accent: Colour) -> None:
    for scheme in (LIGHT, DARK):
        found = shades(accent, scheme)
        for ground in (*scheme.grounds, found.wash):
            assert found.text.contrast(ground) >= 4.5
        for ground in scheme.grounds:
            assert found.bar.contrast(ground) >= 3
        assert found.on_text.contrast(found.text) >= 4.5
        assert scheme.soft.contrast(found.wash) >= 4.5


MARK = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (MARK, "image/svg+xml"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a --> <!DOCTYPE svg>\n" + MARK, "image/svg+xml"),
        (
            b'<?xml version="1.0"?>\n<!-- Generator -->\n<!DOCTYPE svg PUBLIC "-//W3C" "x.dtd" [\n'
            b'  <!ENTITY ns_svg "http://www.w3.org/2000/svg">\n]>\n' + MARK,
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
    path.write_bytes(MARK.ljust(MAX_BYTES))
    read_logo(path)
    path.write_bytes(MARK.ljust(MAX_BYTES + 1))
    with pytest.raises(ParameterError, match=r"524,289 bytes, and at most 524,288"):
        read_logo(path)

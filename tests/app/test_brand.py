"""A site's own name, colours and logo: escaped, readable, and without scripts."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import TestClient

from teaser.app.brand import MAX_BYTES, Brand, read_brand, read_logo
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


@pytest.mark.parametrize("accent", ["#e8590c", "f63"])
def test_an_orange_accent_makes_what_counts_against_an_item_blue(accent: str) -> None:
    assert "--orange:" in brand_of(accent=accent).css
    assert "--orange:" not in brand_of(accent="#7a1f5c").css


MARK = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


def test_what_is_no_picture_or_too_large_is_refused(tmp_path: Path) -> None:
    drawn, other = tmp_path / "logo.svg", tmp_path / "logo.gif"
    drawn.write_bytes(MARK.ljust(MAX_BYTES))
    read_logo(drawn)
    drawn.write_bytes(MARK.ljust(MAX_BYTES + 1))
    other.write_bytes(b"GIF89a")
    for path in (drawn, other):
        with pytest.raises(ParameterError, match=r"SVG, PNG, WebP or JPEG of at most 524,288"):
            read_logo(path)

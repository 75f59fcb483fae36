"""A site's own name, colours and logo are on its pages; what cannot be read is changed and said."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app.conftest import TestClient

from teaser.app.brand.brand import Brand, read_brand
from teaser.app.settings import Settings
from teaser.errors import ParameterError

SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


def brand_of(**given: Any) -> Brand:
    return read_brand(Settings(model=Path("m"), **given))


def test_nothing_is_changed_unless_asked(client: TestClient) -> None:
    assert brand_of() == Brand()
    page = client.get("/").text
    assert "<title>TEASER</title>" in page
    assert "brand.css" not in page
    assert "/static/icon.svg" in page
    assert client.get("/logo").status_code == 404
    assert client.get("/brand.css").text == ""


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


def test_the_colours_replace_those_of_the_style_sheet(serve: Callable[..., TestClient]) -> None:
    client = serve(accent="#7a1f5c", accent_dark="#f0a8d0")
    (address,) = re.findall(r'rel="stylesheet" href="(/brand\.css\?\w+)"', client.get("/").text)
    answer = client.get(address)
    assert answer.headers["content-type"].startswith("text/css")
    assert "--teal: light-dark(#7a1f5c, #f0a8d0);" in answer.text
    assert "--orange" not in answer.text
    assert brand_of(accent="#7a1f5c", accent_dark="#f0a8d0").notes == ()
    # Other colours have another address, so that no browser keeps the old ones.
    assert brand_of(accent="#123456").version not in address


def test_a_colour_that_cannot_be_read_is_replaced_and_said() -> None:
    found = brand_of(accent="#ffe000")
    (note,) = found.notes
    assert re.search(r"accent #ffe000 cannot be read on #f5f4ef \(contrast 1\.\d", note)
    (used,) = re.findall(r"light colours are (#\w{6})\.", note)
    assert f"--teal: light-dark({used}, #ffe000);" in found.css
    (note,) = brand_of(accent_dark="#102040").notes
    assert re.search(r"accent_dark #102040 .* dark colours are #", note)
    # What is derived for the other scheme is no news.
    assert brand_of(accent="#102040").notes == ()


def test_an_accent_like_the_orange_moves_the_other_side() -> None:
    found = brand_of(accent="#a3440a")
    assert "--orange: light-dark(#37508a, #a9bdf0);" in found.css
    assert "becomes blue" in found.notes[-1]
    assert "--orange" not in brand_of(accent="#555555").css


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

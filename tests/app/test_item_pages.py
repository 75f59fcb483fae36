"""Pages about one item and one tag, and pictures."""

import base64
import html
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from app.conftest import TestClient

from teaser import Category, Dataset, Teaser
from teaser.data.rules import Rules

OWN = {"origin": "http://testserver"}
MINUS = "\N{MINUS SIGN}"


@pytest.fixture
def visitor(client: TestClient) -> TestClient:
    client.headers.update(OWN)
    client.post("/act", data={"view": "i1"})
    client.post("/act", data={"press": "-1 type=film"})
    return client


def number(text: str) -> float:
    return float(text.replace(MINUS, "-"))


class TestItem:
    def test_the_steps_add_up_to_the_score(self, visitor: TestClient, model: Teaser) -> None:
        page = visitor.get("/item/i3").text
        why = model.explain("i3", ["i1"], {"type=film": -1})
        rows = re.findall(
            r'times">([^<]+) × ([^<]+)</td><td class="n number[^"]*">([^<]+)</td>.*?'
            r'<td class="n sum">([^<]+)</td>',
            page,
            re.S,
        )
        assert len(rows) == len(why.reasons)
        running = shown = 0.0
        for (affinity, weight, adds, so_far), reason in zip(rows, why.reasons, strict=True):
            assert number(adds) == pytest.approx(reason.contribution, abs=0.011)
            assert number(affinity) * number(weight) == pytest.approx(number(adds), abs=0.02)
            assert number(so_far) == pytest.approx(shown + number(adds), abs=1e-9)
            shown = number(so_far)
            running += reason.contribution
            assert number(so_far) == pytest.approx(running, abs=0.006)
        total = re.search(r"<tfoot>.*?<b>([^<]+)</b>", page, re.S)
        assert total
        assert number(total[1]) == pytest.approx(why.score, abs=0.006)

    def test_shows_what_resembles_it(self, visitor: TestClient) -> None:
        page = visitor.get("/item/i3").text
        alike = re.findall(r'class="small" data-card="([^"]+)"', page)
        assert alike
        assert "i3" not in alike
        assert "in common: " in page

    def test_seen_and_hidden_items_can_be_brought_back(self, visitor: TestClient) -> None:
        assert 'name="remove" value="i1"' in visitor.get("/item/i1").text
        visitor.post("/act", data={"hide": "i5"})
        assert 'name="unhide" value="i5"' in visitor.get("/item/i5").text

    def test_unknown(self, visitor: TestClient) -> None:
        response = visitor.get("/item/none")
        assert response.status_code == 404
        assert "Unknown item" in response.text


class TestLift:
    def test_the_presses_proposed_do_what_they_promise(
        self, visitor: TestClient, model: Teaser
    ) -> None:
        ranked = [r.item_id for r in model.recommend(["i1"], {"type=film": -1}, k=39)]
        item = ranked[-1]
        page = visitor.get(f"/lift/{item}").text
        proposed = re.search(r'name="presses" value="([^"]+)"', page)
        assert proposed
        presses = html.unescape(proposed[1])
        page = visitor.post("/act", data={"presses": presses}).text
        assert item in re.findall(r'<li class="card" data-card="([^"]+)"', page)[:10]

    def test_says_when_there_is_nothing_to_do(self, visitor: TestClient, model: Teaser) -> None:
        first = model.recommend(["i1"], {"type=film": -1}, k=1)[0].item_id
        assert "already: number 1" in visitor.get(f"/lift/{first}").text
        assert "among what you looked at" in visitor.get("/lift/i1").text


class TestTag:
    def test_origins_sum_to_what_was_learnt(self, visitor: TestClient, model: Teaser) -> None:
        visitor.post("/act", data={"view": "i2"})
        page = visitor.get("/tag", params={"tag": "type=film"}).text
        parts = re.findall(r'</svg><span class="number[^"]*">([^<]+)</span></li>', page)
        learnt = model.profile(["i1", "i2"])
        affinities = {str(tag): a for tag, a in learnt.affinities.items()}
        assert len(parts) == 2
        assert sum(map(number, parts)) == pytest.approx(affinities["type=film"], abs=0.011)
        assert "from your presses" in page
        assert re.search(rf"{MINUS}0\.20 from your presses", page)

    def test_somebody_new_has_no_origins(self, client: TestClient) -> None:
        assert "not looked at anything yet" in client.get("/tag?tag=type=film").text

    @pytest.mark.parametrize("tag", ["type=opera", "film", "="])
    def test_unknown(self, visitor: TestClient, tag: str) -> None:
        assert visitor.get("/tag", params={"tag": tag}).status_code == 404


PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


@pytest.fixture
def pictured(
    serve: Callable[..., TestClient], tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> TestClient:
    """Items with pictures of every kind, an odd id, a link, and no title."""
    interactions, items = tables
    cells = [
        "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        f"data:image/png;base64,{PIXEL}",
        "https://pictures.example/a.jpg",
        "javascript:alert(1)",
        "data:image/x-odd;base64,AAAA",
        "data:image/png;base64,%%%",
    ]
    ids = {"i0": "a/b c?d#e%f"}
    table = items.drop("title").with_columns(
        pl.col("item_id").replace(ids),
        pl.Series("picture", cells + [None] * (len(items) - len(cells))),
        pl.Series("url", ["javascript:alert(1)", "https://own.example/"] * (len(items) // 2)),
    )
    data = Dataset.from_tables(
        interactions.with_columns(pl.col("item_id").replace(ids)),
        table,
        rules=Rules((Category("type"), Category("town")), {"picture": "picture", "link": "url"}),
    )
    Teaser(l2_weights=5.0, l2_encoder=5.0).fit(data).save(tmp_path / "pictured")
    return serve(model=tmp_path / "pictured")


class TestPictures:
    def test_drawn_ones_cannot_run_anything(self, pictured: TestClient) -> None:
        response = pictured.get("/picture/a%2Fb%20c%3Fd%23e%25f")
        assert response.status_code == 200
        assert response.headers["content-type"] == "image/svg+xml"
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert "sandbox" in response.headers["content-security-policy"]

    def test_each_kind(self, pictured: TestClient) -> None:
        response = pictured.get("/picture/i1")
        assert response.headers["content-type"] == "image/png"
        assert response.content == base64.b64decode(PIXEL)
        response = pictured.get("/picture/i2", follow_redirects=False)
        assert response.headers["location"] == "https://pictures.example/a.jpg"
        for item in ("i3", "i4", "i5", "i6"):
            assert pictured.get(f"/picture/{item}").status_code == 404

    def test_items_without_title_picture_or_date(self, pictured: TestClient) -> None:
        page = pictured.get("/item/i7").text
        assert "<h1>i7</h1>" in page
        assert 'class="picture drawn' in page
        assert 'href="https://own.example/"' in page
        assert 'name="from"' not in pictured.get("/").text

    def test_odd_ids_work_everywhere(self, pictured: TestClient) -> None:
        odd = "a/b c?d#e%f"
        pictured.headers.update(OWN)
        page = pictured.post("/act", data={"view": odd}).text
        assert f'data-card="seen {odd}"' in page
        link = re.search(r'href="(/item/a[^"]+)"', page)
        assert link
        page = pictured.get(html.unescape(link[1])).text
        assert f"<h1>{odd}</h1>" in page
        assert "javascript:" not in page

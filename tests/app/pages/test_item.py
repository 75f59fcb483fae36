"""Pages about one item and one tag, pictures, and a start from an item."""

import base64
import html
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from app.conftest import MINUS, OWN, TestClient, number, state_of

from teaser import Category, Dataset, Tag, Teaser
from teaser.data.rules import Rules
from teaser.extensions import Remainder
from teaser.steer import tag_examples, vary_item


@pytest.fixture
def visitor(client: TestClient) -> TestClient:
    client.headers.update(OWN)
    client.post("/act", data={"view": "i1"})
    client.post("/act", data={"press": "-1 type=film"})
    return client


@pytest.mark.parametrize(
    ("language", "by_tags", "by_appeal"),
    [
        ("en", "new: placed by its tags", "new: placed by general appeal"),
        ("nl", "nieuw: geplaatst volgens zijn labels", "nieuw: geplaatst volgens algemene"),
        ("fr", "nouveau : placé d’après ses étiquettes", "nouveau : placé d’après l’attrait"),
    ],
)
def test_new_items_are_said_to_be_new(
    language: str,
    by_tags: str,
    by_appeal: str,
    dataset: Dataset,
    serve: Callable[..., TestClient],
    tmp_path: Path,
) -> None:
    model = Teaser(l2_weights=5.0, l2_encoder=5.0, remainder=Remainder(neighbours=5)).fit(dataset)
    model.add_items({"tagged": ["type=concert", "town=Ghent"], "blank": []}).save(tmp_path / "m")
    client = serve(model=tmp_path / "m")
    client.headers.update({**OWN, "accept-language": language})

    def plain(page: str) -> str:
        return html.unescape(page).replace("\u202f", " ").replace("\xa0", " ")

    assert by_tags in plain(client.get("/item/tagged").text)
    assert by_appeal in plain(client.get("/item/blank").text)
    assert by_tags not in plain(client.get("/item/i1").text)
    client.post("/act", data={"view": "i1"})
    home = plain(client.post("/act", data={"press": "5 town=Ghent"}).text)
    assert re.search(rf'data-card="tagged".*?{by_tags}.*?</article>', home, re.S)
    answer = client.get("/api/v1/items", params={"item_id": "tagged"}).json()
    assert answer["placed_by"] == "tags"


class TestLift:
    def test_the_presses_proposed_do_what_they_promise(
        self, visitor: TestClient, model: Teaser
    ) -> None:
        ranked = [r.item_id for r in model.recommend(["i1"], {"type=film": -1}, k=39)]
        for item in ranked[12:]:
            page = visitor.get(f"/lift/{item}").text
            proposed = re.search(r'name="presses" value="([^"]+)"', page)
            if proposed:
                break
        assert proposed
        presses = html.unescape(proposed[1])
        page = visitor.post("/act", data={"presses": presses}).text
        assert item in re.findall(r'<li class="card" data-card="([^"]+)"', page)[:10]


class TestTag:
    def test_origins_sum_to_what_was_learnt(self, visitor: TestClient, model: Teaser) -> None:
        visitor.post("/act", data={"view": "i2"})
        page = visitor.get("/tag", params={"tag": "type=film"}).text
        own = page.split("Where its own part comes from")[1]
        parts = re.findall(r'</svg><span class="number[^"]*">([^<]+)</span></li>', own)
        learnt = model.profile(["i1", "i2"])
        affinities = {str(tag): a for tag, a in learnt.affinities.items()}
        assert len(parts) == 2
        assert sum(map(number, parts)) == pytest.approx(affinities["type=film"], abs=0.011)
        pressed = model.profile(["i1", "i2"], {"type=film": -1})
        moved = pressed.affinities[Tag("type", "film")] - affinities["type=film"]
        said = re.search(rf"({MINUS}[\d.]+) from your presses", page)
        assert said
        assert number(said[1]) == pytest.approx(moved, abs=0.0051)

    def test_what_a_leaning_is_made_of_adds_up_to_it(
        self, visitor: TestClient, model: Teaser
    ) -> None:
        page = visitor.get("/tag", params={"tag": "type=film"}).text
        leaning = model.profile(["i1"], {"type=film": -1}).leanings[Tag("type", "film")]
        said = re.search(r"stand <b>([^<]+)</b> (above|below) your average item", page)
        assert said
        shown = number(said[1]) * (1 if said[2] == "above" else -1)
        assert shown == pytest.approx(leaning, abs=0.0051)
        made_of = page.split("What that is made of")[1].split("</section>")[0]
        parts = re.findall(r'</svg><span class="number[^"]*">([^<]+)</span></li>', made_of)
        assert len(parts) > 1
        assert "film itself" in made_of
        assert sum(map(number, parts)) == pytest.approx(shown, abs=1e-9)


class TestExamples:
    def test_one_press_more_does_what_it_says(self, client: TestClient, model: Teaser) -> None:
        towns = [tag for tag in model.tags_ if tag.feature == "town"]
        viewed, tag = next(
            (str(item), str(tag))
            for item in model.items_
            for tag in towns
            if tag_examples(model, tag, [item], k=5, places=12).would_bring_up
        )
        client.headers.update(OWN)
        client.post("/act", data={"view": viewed})
        page = client.get("/tag", params={"tag": tag}).text
        rising = page.split("With one press more")[1]
        said = re.findall(r'data-card="([^"]+)".*?to number (\d+)', rising, re.S)
        assert said
        client.post("/act", data={"press": f"+1 {tag}"})
        order = re.findall(r'<li class="card" data-card="([^"]+)"', client.get("/").text)
        assert [(item, order.index(item) + 1) for item, _ in said] == [
            (item, int(rank)) for item, rank in said
        ]


class TestLike:
    def test_applies_as_one_step_to_the_list_or_in_a_new_feed(
        self, visitor: TestClient, model: Teaser
    ) -> None:
        form = {"tag": ["type=film"], "to": ["type=concert"]}
        shown = visitor.get("/like/i5", params=form).text
        first = re.findall(r'class="small" data-card="([^"]+)"', shown)
        start = vary_item(model, "i5", {"type=film": "type=concert"}).start
        before = state_of(visitor)
        page = visitor.post("/like/i5", data={**form, "into": "list"}).text
        listed = re.findall(r'<li class="card" data-card="([^"]+)"', page)
        assert [item for item in listed if item != "i5"][:6] == first
        steps = start[Tag("type", "concert")]
        assert f"+{steps} on <b>concert</b>" in page
        after = state_of(visitor)
        assert after.presses == {"type=film": -1, **{str(t): n for t, n in start.items()}}
        assert after.n_events == before.n_events + 1
        visitor.post("/act", data={"undo": "1"})
        assert state_of(visitor).presses == before.presses
        page = visitor.post("/like/i5", data={**form, "into": "feed", "feed": "Mild"}).text
        assert "New feed: <b>Mild</b>" in page
        found = state_of(visitor)
        assert (found.feed, found.presses) == ("Mild", after.presses)
        assert found.feeds[""].presses == before.presses
        visitor.post("/act", data={"undo": "1"})
        assert list(state_of(visitor).feeds) == [""]

    def test_what_cannot_be_done_changes_nothing(self, visitor: TestClient) -> None:
        before = state_of(visitor)
        for form, status in (
            ({"into": "feed", "feed": " "}, 422),
            ({"into": "feed", "feed": "x" * 61}, 422),
            ({"tag": "type=film", "to": "type=opera"}, 404),
            ({"tag": "type=film"}, 422),
        ):
            assert visitor.post("/like/i5", data=form).status_code == status, form
        foreign = {"origin": "https://evil.example"}
        assert visitor.post("/like/i5", headers=foreign).status_code == 403
        every = re.findall(r'name="tag" value="([^"]+)"', visitor.get("/like/i5").text)
        own = {"tag": list(dict.fromkeys(every)), "to": [""] * len(set(every))}
        assert "This gives no presses" in visitor.get("/like/i5", params=own).text
        assert visitor.post("/like/i5", data=own).status_code == 200
        assert state_of(visitor) == before


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
        "http://pictures.example/a.jpg",
        "//pictures.example/b.jpg",
        "covers/a.jpg",
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
        response = pictured.get("/picture/i7", follow_redirects=False)
        assert response.headers["location"] == "https://pictures.example/b.jpg"
        for item in ("i3", "i4", "i5", "i6"):
            assert pictured.get(f"/picture/{item}").status_code == 404


def test_what_the_site_promotes_is_said_on_both_pages(serve: Callable[..., TestClient]) -> None:
    said = "promoted by this site"
    client = serve(boost="i9:40; town=Ghent:0.25")
    home, item = client.get("/").text, client.get("/item/i9").text
    assert home.index('data-card="i9"') < home.index(said)
    assert home.count(said) > 1  # also the items of the tag
    assert said in item
    assert 'class="boost"' in item
    plain = serve()
    assert said not in plain.get("/").text + plain.get("/item/i9").text

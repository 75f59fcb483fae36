"""Events in calendars, feeds as calendars and as RSS, and events that are over."""

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from app.conftest import OWN, TestClient, listed

from teaser import Dataset, Teaser
from teaser.testing import RULES, example_tables

IDS = [str(i) for i in example_tables()[1]["item_id"]]
TODAY = datetime.combine(date.today(), time(20))
LONG = "Brass; strings, and \\ a voice, all night long, by the water where the boats lie still"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of events: the first ended yesterday, the second lasts, the third is a week away."""
    interactions, items = example_tables()
    n = items.height
    start = [TODAY - timedelta(9), TODAY - timedelta(9), *[TODAY + timedelta(7)] * (n - 2)]
    end = [TODAY - timedelta(1), TODAY + timedelta(2), *[TODAY + timedelta(7, 7200)] * (n - 2)]
    items = items.with_columns(pl.Series("start", start), pl.Series("end", end))
    items = items.with_columns(description=pl.lit(LONG), place=pl.lit("Vooruit"))

    model = Teaser().fit(Dataset.from_tables(interactions, items, rules=RULES))
    path = tmp_path_factory.mktemp("events") / "model"
    model.save(path)
    return path


@pytest.fixture
def events(serve: Callable[..., TestClient], folder: Path) -> TestClient:
    client = serve(model=folder)
    client.headers.update(OWN)
    return client


def unfolded(text: str) -> dict[str, str]:
    """Return the lines of a calendar by name; of several events, those of the last."""
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    lines = text.replace("\r\n ", "").strip().split("\r\n")
    return {name: value for name, _, value in (line.partition(":") for line in lines)}


def recommended(client: TestClient, **asked: Any) -> list[str]:
    answer = client.post("/api/v1/recommend", json={"k": 500, **asked})
    return [entry["item_id"] for entry in answer.json()["recommendations"]]


def test_what_is_over_is_in_no_list(events: TestClient) -> None:
    over, lasting, *_ = IDS
    assert over not in recommended(events)
    assert lasting in recommended(events)
    assert over not in listed(events.get("/").text)
    assert over not in recommended(events, filters={"when": "2020-01-01.."})


def test_an_event_as_a_calendar(events: TestClient) -> None:
    third = IDS[2]
    assert f"/calendar/{third}" in events.get(f"/item/{third}").text
    answer = events.get(f"/calendar/{third}")
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    found = unfolded(answer.text)
    assert found["DTSTART"] == f"{TODAY + timedelta(7):%Y%m%dT%H%M%S}"
    assert found["DTEND"] == f"{TODAY + timedelta(7, 7200):%Y%m%dT%H%M%S}"
    assert found["LOCATION"] in (r"Vooruit\, Ghent", r"Vooruit\, Liège")
    assert found["DESCRIPTION"] == LONG.replace("\\", "\\\\").replace(";", r"\;").replace(
        ",", r"\,"
    )


def test_a_feed_as_a_calendar_and_as_rss(events: TestClient) -> None:
    events.post("/act", data={"make_feed": "Friday & friends"})
    page = events.post("/share", data={"feed": "Friday & friends"}).text
    link = re.search(r'value="http://testserver(/s/[\w-]{43})"', page)
    assert link is not None
    events.cookies.clear()
    shown = events.get(link[1]).text
    calendar, rss = (events.get(f"{link[1]}/{name}") for name in ("calendar.ics", "rss.xml"))
    assert f"{link[1]}/calendar.ics" in shown
    assert unfolded(calendar.text)["X-WR-CALNAME"] == "Friday & friends"
    channel = ElementTree.fromstring(rss.content)[0]  # noqa: S314 (our own answer)
    assert channel.findtext("title") == "Friday & friends"
    links = [entry.findtext("link") or "" for entry in channel.findall("item")]
    first = [f"http://testserver/item/{i}" for i in listed(shown)]
    assert links[: len(first)] == first
    assert calendar.text.count("BEGIN:VEVENT") == len(links)


def test_what_has_no_date_and_what_nobody_shared_is_not_found(client: TestClient) -> None:
    assert client.get("/calendar/i1").status_code == 404
    assert client.get(f"/s/{'x' * 43}/rss.xml").status_code == 404

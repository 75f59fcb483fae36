"""Events as JSON-LD, written here from the documented fields of schema.org Event and of UDB3."""

import json
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from teaser.cli.prepare import PrepareRequest, prepare_data
from teaser.data.sources import read_events
from teaser.data.sources.jsonld import holds_events, read_event_table
from teaser.errors import ParameterError, TableError

LD = {"@context": "https://schema.org"}
HALL = {
    "@type": "Place",
    "name": "Harbour Hall",
    "address": {
        "@type": "PostalAddress",
        "addressLocality": "Ghent",
        "postalCode": "9000",
        "addressCountry": "BE",
    },
}
MILL = {
    "@id": "https://udb.test/place/6f1d8f0e-1111-4c3b-9a51-0a1b2c3d4e5f",
    "@type": "Place",
    "name": {"nl": "De Molen", "fr": "Le Moulin"},
    "address": {
        "nl": {"addressLocality": "Brugge", "postalCode": "8000", "addressCountry": "BE"},
        "fr": {"addressLocality": "Bruges", "postalCode": "8000", "addressCountry": "BE"},
    },
}


def schema(n: int, **fields: Any) -> dict[str, Any]:
    """Return an event of schema.org."""
    usual = {"@type": "Event", "name": "An evening", "startDate": "2027-03-05T20:00:00+01:00"}
    return {**LD, "@id": f"https://hall.test/e/{n}", **usual, **fields}


def udb3(n: int, **fields: Any) -> dict[str, Any]:
    """Return an event of UDB3."""
    usual = {
        "@type": "Event",
        "mainLanguage": "nl",
        "name": {"nl": "Een avond"},
        "location": MILL,
        "calendarType": "single",
        "startDate": "2027-03-05T19:00:00+00:00",
        "endDate": "2027-03-05T21:30:00+00:00",
        "terms": [{"id": "0.50.4.0.0", "label": "Concert", "domain": "eventtype"}],
    }
    address = f"https://udb.test/event/{n:08d}-0000-4000-8000-000000000000"
    return {"@context": "/contexts/event", "@id": address, **usual, **fields}


EVENING = datetime(2027, 3, 5, 20)
# A document, and what its row must have.
DOCUMENTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (schema(1), {"item_id": "https://hall.test/e/1", "title": "An evening", "start": EVENING}),
    (schema(2, **{"@type": "MusicEvent"}), {"type": ["Music"]}),
    (schema(3, **{"@type": ["Event", "VisualArtsEvent"]}), {"type": ["Visual arts"]}),
    (schema(4, **{"@type": "http://schema.org/Festival"}), {"type": ["Festival"]}),
    (
        schema(5, location=HALL),
        {"place": "Harbour Hall", "city": "Ghent", "postal_code": "9000", "country": "BE"},
    ),
    (schema(6, location="The old bakery"), {"place": "The old bakery", "city": None}),
    (
        schema(7, location={"@type": "VirtualLocation", "url": "https://hall.test/live"}),
        {"attendance": "online", "place": None},
    ),
    (
        schema(8, eventAttendanceMode="https://schema.org/MixedEventAttendanceMode"),
        {"attendance": "mixed"},
    ),
    (
        schema(9, offers={"@type": "Offer", "price": "12,50", "priceCurrency": "EUR"}),
        {"price": 12.5, "currency": "EUR"},
    ),
    (
        schema(
            10,
            offers=[
                {"@type": "Offer", "price": 20, "priceCurrency": "EUR"},
                {"@type": "Offer", "price": 8, "priceCurrency": "EUR"},
            ],
        ),
        {"price": 8.0},
    ),
    (
        schema(11, offers={"@type": "AggregateOffer", "lowPrice": 15, "priceCurrency": "EUR"}),
        {"price": 15.0},
    ),
    (schema(12, isAccessibleForFree=True), {"price": 0.0}),
    (schema(13, typicalAgeRange="7-9"), {"age_from": 7.0, "age_to": 9.0}),
    (schema(14, typicalAgeRange="11-"), {"age_from": 11.0, "age_to": None}),
    (
        schema(15, audience={"@type": "PeopleAudience", "suggestedMinAge": 3, "name": "Toddlers"}),
        {"audience": "Toddlers", "age_from": 3.0},
    ),
    (
        schema(16, endDate="2027-03-07", image=["https://hall.test/a.jpg"]),
        {"end": datetime(2027, 3, 7), "picture": "https://hall.test/a.jpg"},
    ),
    (schema(17, duration="PT1H30M"), {"end": datetime(2027, 3, 5, 21, 30)}),
    (
        schema(
            18,
            subEvent=[
                {"@type": "Event", "startDate": "2027-03-05T20:00:00+01:00"},
                {"@type": "Event", "startDate": "2027-03-06T20:00:00+01:00"},
            ],
        ),
        {"end": datetime(2027, 3, 6, 20), "weekday": ["Friday", "Saturday"]},
    ),
    (
        schema(
            19,
            startDate="2027-01-04",
            eventSchedule={
                "@type": "Schedule",
                "byDay": ["https://schema.org/Monday"],
                "endDate": "2027-06-28",
            },
        ),
        {"start": datetime(2027, 1, 4), "end": datetime(2027, 6, 28), "weekday": ["Monday"]},
    ),
    (
        schema(20, keywords="jazz, brass", performer=[{"@type": "Person", "name": "Ada"}]),
        {"label": ["jazz", "brass"], "performer": ["Ada"]},
    ),
    (
        schema(21, organizer={"@type": "Organization", "name": "The Hall"}, url="https://a.test/x"),
        {"organizer": "The Hall", "link": "https://a.test/x"},
    ),
    (
        schema(22, description="<p>Brass &amp; <b>wind</b></p>"),
        {"description": "Brass & wind"},
    ),
    (schema(23, eventStatus="https://schema.org/EventCancelled"), {"status": "Cancelled"}),
    (
        {"schema:name": "By prefix", "@type": "schema:Event", "schema:startDate": "2027-03-05",
         "@id": "https://hall.test/e/24"},
        {"title": "By prefix", "start": datetime(2027, 3, 5)},
    ),
    (
        schema(25, name=[{"@value": "Soirée", "@language": "fr"}]),
        {"title": "Soirée"},
    ),
    (
        udb3(1),
        {
            "item_id": "00000001-0000-4000-8000-000000000000",
            "title": "Een avond",
            "type": ["Concert"],
            "place": "De Molen",
            "city": "Brugge",
            "calendar": "single",
            "start": EVENING,
            "end": datetime(2027, 3, 5, 22, 30),
        },
    ),
    (udb3(2, mainLanguage="fr", name={"nl": "Avond", "fr": "Soir"}), {"title": "Soir"}),
    (
        udb3(
            3,
            terms=[
                {"label": "Concert", "domain": "eventtype"},
                {"label": "Jazz en blues", "domain": "theme"},
                {"label": "Rolstoeltoegankelijk", "domain": "facility"},
            ],
        ),
        {"theme": ["Jazz en blues"], "facility": ["Rolstoeltoegankelijk"]},
    ),
    (udb3(4, labels=["zomer", "UiTPAS"]), {"label": ["zomer", "UiTPAS"]}),
    (
        udb3(
            5,
            priceInfo=[
                {"category": "tariff", "name": {"nl": "Kind"}, "price": 4, "priceCurrency": "EUR"},
                {"category": "base", "name": {"nl": "Basis"}, "price": 9, "priceCurrency": "EUR"},
            ],
        ),
        {"price": 9.0, "currency": "EUR"},
    ),
    (udb3(6, typicalAgeRange="-"), {"age_from": None, "age_to": None}),
    (udb3(7, typicalAgeRange="6-12", audience={"audienceType": "education"}),
     {"age_from": 6.0, "age_to": 12.0, "audience": "education"}),
    (
        udb3(
            8,
            calendarType="multiple",
            startDate="2027-05-01T18:00:00+00:00",
            endDate="2027-05-09T20:00:00+00:00",
            subEvent=[
                {"@type": "Event", "startDate": "2027-05-01T18:00:00+00:00",
                 "endDate": "2027-05-01T20:00:00+00:00", "status": {"type": "Available"}},
                {"@type": "Event", "startDate": "2027-05-09T18:00:00+00:00",
                 "endDate": "2027-05-09T20:00:00+00:00", "status": {"type": "Available"}},
            ],
        ),
        {
            "calendar": "multiple",
            "start": datetime(2027, 5, 1, 20),
            "end": datetime(2027, 5, 9, 22),
            "weekday": ["Saturday", "Sunday"],
        },
    ),
    (
        # Midnight in Brussels is the evening before in UTC.
        udb3(
            9,
            calendarType="periodic",
            startDate="2027-05-31T22:00:00+00:00",
            endDate="2027-08-30T22:00:00+00:00",
            openingHours=[{"opens": "10:00", "closes": "17:00", "dayOfWeek": ["tuesday"]}],
        ),
        {"start": datetime(2027, 6, 1), "end": datetime(2027, 8, 31), "weekday": ["Tuesday"]},
    ),
    (
        {k: v for k, v in udb3(10, calendarType="permanent").items() if not k.endswith("Date")},
        {"calendar": "permanent", "start": None, "end": None},
    ),
    (udb3(11, status={"type": "Unavailable"}), {"status": "Unavailable"}),
    (
        udb3(12, mediaObject=[{"@type": "schema:ImageObject", "contentUrl": "https://a.test/p.png"}]),
        {"picture": "https://a.test/p.png"},
    ),
    (udb3(13, attendanceMode="online"), {"attendance": "online"}),
    ({k: v for k, v in udb3(15).items() if k != "@type"}, {"type": ["Concert"], "start": EVENING}),
    (udb3(16, workflowStatus="DELETED"), {"end": datetime(1970, 1, 1)}),
    (schema(26, offers={"price": "1.234,50", "priceCurrency": "EUR"}), {"price": 1234.5}),
    (schema(27, offers={"price": "1,234", "priceCurrency": "EUR"}), {"price": 1234.0}),
    (
        schema(
            29,
            eventSchedule={"@type": "Schedule", "startDate": "2027-03-05", "byDay": "FR",
                           "repeatFrequency": "P1W", "repeatCount": 3},
        ),
        {"end": datetime(2027, 3, 19), "weekday": ["Friday"]},
    ),
    (schema(30, eventSchedule={"repeatFrequency": "P1D"}), {"start": EVENING, "end": None}),
    (schema(31, isAccessibleForFree="https://schema.org/True"), {"price": 0.0}),
    (
        schema(28, eventStatus={"@id": "https://schema.org/EventCancelled"}),
        {"status": "Cancelled", "end": datetime(1970, 1, 1)},
    ),
    (
        udb3(14, organizer={"@type": "Organizer", "name": {"nl": "De Kring"}}, sameAs=["https://u.test/e"]),
        {"organizer": "De Kring", "link": "https://u.test/e"},
    ),
]  # fmt: skip


def written(path: Path, *documents: Any) -> Path:
    """Write one document a file into a folder."""
    path.mkdir()
    for n, document in enumerate(documents):
        (path / f"{n:03}.jsonld").write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(("document", "expected"), DOCUMENTS)
def test_a_documented_event_is_read_without_a_question(
    document: dict[str, Any], expected: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(document))
    assert holds_events(path)
    table = read_event_table(path)
    assert not table.refused
    assert not table.notes
    (row,) = table.frame.to_dicts()
    assert {name: row[name] for name in expected} == expected


def test_folders_lists_graphs_pages_and_lines_give_the_same_events(tmp_path: Path) -> None:
    documents = [document for document, _ in DOCUMENTS]
    folder = written(tmp_path / "folder", *documents)
    forms = {
        "list.json": json.dumps(documents),
        "graph.jsonld": json.dumps({**LD, "@graph": documents}),
        "page.json": json.dumps({"itemsPerPage": 30, "member": documents}),
        "items.json": json.dumps(
            {"@type": "ItemList",
             "itemListElement": [{"@type": "ListItem", "item": d} for d in documents]}
        ),
        "lines.jsonl": "\n".join(map(json.dumps, documents)),
    }  # fmt: skip
    expected = read_events(folder)
    assert expected.height == len(documents)
    for name, text in forms.items():
        (tmp_path / name).write_text(text)
        assert read_events(tmp_path / name).equals(expected)
    assert read_events(str(folder / "*.jsonld")).equals(expected)


@pytest.mark.parametrize("name", ["event", "events", "mainEntity"])
def test_events_of_a_place_or_a_page_are_found(name: str, tmp_path: Path) -> None:
    holder = {**LD, "@type": "WebPage", "name": "Agenda", name: [schema(1), schema(2)]}
    (tmp_path / "page.json").write_text(json.dumps(holder))
    assert read_event_table(tmp_path / "page.json").frame.height == 2


def test_a_place_may_be_a_document_of_its_own(tmp_path: Path) -> None:
    place = {**HALL, "@id": "#hall"}
    graph = {**LD, "@graph": [place, schema(1, location={"@id": "#hall"})]}
    (tmp_path / "graph.json").write_text(json.dumps(graph))
    table = read_event_table(tmp_path / "graph.json")
    assert table.frame["city"].to_list() == ["Ghent"]
    assert table.notes == ("what is no event was left out: 1 Place",)


@pytest.mark.parametrize(
    ("fields", "said", "column", "left"),
    [
        ({"@type": None}, "without @type", "title", "An evening"),
        ({"@id": None}, "without @id", "item_id", "An evening 2027-03-05T20:00:00+01:00"),
        ({"name": None}, "without a name", "title", "https://hall.test/e/1"),
        ({"startDate": "2027-03-05T20:00"}, "without a zone", "start", EVENING),
        ({"startDate": "2027-03-05T20:00Z"}, "in UTC", "start", EVENING),
        ({"startDate": "next week"}, "a date that cannot be read", "start", None),
        ({"endDate": "2026-03-05"}, "before they begin", "end", EVENING),
        ({"typicalAgeRange": "kids"}, "typicalAgeRange", "age_from", None),
        ({"offers": {"price": "at the door"}}, "price that cannot be read", "price", None),
        ({"duration": "P999999999D", "@type": None}, "without @type", "start", EVENING),
        ({"offers": {"price": -5}}, "price that cannot be read", "price", None),
        ({"offers": {"price": "9" * 400}}, "price that cannot be read", "price", None),
        ({"@type": None, "name": "\ud800"}, "without @type", "title", "?"),
        ({"@type": None, "location": [None, 3, ["x"]]}, "without @type", "place", None),
        ({"hiddenLabels": ["x"]}, "hidden labels", "label", None),
    ],
)
def test_what_is_unclear_is_said_and_the_event_stays(
    fields: dict[str, Any], said: str, column: str, left: Any, tmp_path: Path
) -> None:
    document = {k: v for k, v in schema(1, **fields).items() if v is not None}
    (tmp_path / "event.json").write_text(json.dumps(document))
    table = read_event_table(tmp_path / "event.json")
    assert any(said in note for note in table.notes)
    assert table.frame[column].to_list() == [left]


def test_a_price_in_another_currency_is_missing_and_said(tmp_path: Path) -> None:
    prices = [("EUR", 5), ("EUR", 7), ("USD", 6)]
    folder = written(
        tmp_path / "folder",
        *(schema(n, offers={"price": p, "priceCurrency": c}) for n, (c, p) in enumerate(prices)),
    )
    table = read_event_table(folder)
    assert table.frame["price"].to_list() == [5, 7, None]
    assert table.frame["currency"].to_list() == ["EUR", "EUR", "USD"]
    assert "another currency than EUR" in " ".join(table.notes)


def test_a_time_zone_converts_times(tmp_path: Path) -> None:
    (tmp_path / "event.json").write_text(json.dumps(schema(1)))
    found = read_events(tmp_path / "event.json", time_zone="Asia/Tokyo")
    assert found["start"].to_list() == [datetime(2027, 3, 6, 4)]
    with pytest.raises(ParameterError, match="Europe/Brussels"):
        read_events(tmp_path / "event.json", time_zone="Nowhere")


def test_damaged_files_are_counted_and_the_others_read(tmp_path: Path) -> None:
    folder = written(tmp_path / "folder", schema(1), schema(2))
    (folder / "bad.json").write_text('{"@type": "Event",')
    (folder / "deep.json").write_text("[" * 100_000)
    table = read_event_table(folder)
    assert table.frame.height == 2
    assert {refusal.reason for refusal in table.refused} == {"no JSON"}


def test_places_of_udb3_are_no_events(tmp_path: Path) -> None:
    place = {**MILL, "@context": "/contexts/place", "calendarType": "permanent"}
    del place["@type"]
    table = read_event_table(written(tmp_path / "folder", udb3(1), place))
    assert table.frame.height == 1
    assert table.notes == ("what is no event was left out: 1 Place",)


def test_a_folder_without_events_says_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(TableError, match="Found: no JSON"):
        read_event_table(tmp_path / "deep.json")
    folder = written(tmp_path / "folder", {**LD, "@type": "Organization", "name": "The Hall"})
    with pytest.raises(TableError, match="Organization"):
        read_event_table(folder)


def test_a_table_of_json_is_no_event(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"item_id": 1, "title": "A"}')
    assert not holds_events(tmp_path / "items.jsonl")
    assert not holds_events(tmp_path)
    assert not holds_events("s3://bucket/events.json")


def test_events_and_choices_become_a_data_set(tmp_path: Path) -> None:
    events = [udb3(n, typicalAgeRange=f"{n % 12}-", labels=[f"l{n % 3}"]) for n in range(30)]
    folder = written(tmp_path / "events", *events)
    ids = read_events(folder)["item_id"].to_list()
    rows = [f"u{u},{ids[(u * 7 + i * i) % 30]}" for u in range(40) for i in range(6)]
    (tmp_path / "choices.csv").write_text("\n".join(["user_id,item_id", *rows]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset, _ = prepare_data(
            [tmp_path / "choices.csv", folder], tmp_path / "data", PrepareRequest()
        )
    assert dataset.rules.roles["title"] == "title"
    assert dataset.rules.roles["date"] == "start"
    assert {tag.feature for tag in dataset.tags} >= {"label"}


def test_events_alone_say_what_is_missing(tmp_path: Path) -> None:
    folder = written(tmp_path / "events", udb3(1), udb3(2))
    with pytest.raises(
        ParameterError, match="2 events as JSON-LD, and not who chose them"
    ) as found:
        prepare_data([folder], tmp_path / "data", PrepareRequest())
    assert "teaser prepare CHOICES" in str(found.value)
    assert "00000001-0000-4000-8000-000000000000" in str(found.value)


def test_a_zone_for_other_tables_is_refused(tmp_path: Path) -> None:
    (tmp_path / "choices.csv").write_text("user_id,item_id\n1,1\n")
    (tmp_path / "items.csv").write_text("item_id,title\n1,A\n")
    with pytest.raises(ParameterError, match="time-zone"):
        prepare_data(
            [tmp_path / "choices.csv", tmp_path / "items.csv"],
            tmp_path / "data",
            PrepareRequest(time_zone="Europe/Brussels"),
        )

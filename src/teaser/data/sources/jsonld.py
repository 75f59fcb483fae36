"""Events as JSON-LD: schema.org Event, and UDB3 of publiq. They are items; choices come apart."""

import glob
import html
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl

from teaser.data.reading import EXAMPLES, Refusal, Table, is_pattern, read_text
from teaser.data.sources.folder import LOG
from teaser.errors import ParameterError, TableError, counted
from teaser.files import open_unpacked

SUFFIXES = (".json", ".jsonld", ".jsonl", ".ndjson")
_HEAD = 2**16
_MARK = re.compile(rb'"(@context|@type|@graph|@id|calendarType)"\s*:')
_PREFIX = re.compile(r"^(https?://schema\.org/|(schema|sdo|s):)")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# Types of schema.org that are events and do not say so by their name.
_EVENTS = {"Festival", "Hackathon", "CourseInstance", "EventSeries"}
# What tells an event that has no type.
_TELLING = {"startDate", "calendarType", "subEvent", "eventSchedule"}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CANCELLED = {"EventCancelled", "Unavailable", "DELETED", "REJECTED"}
_PAST = datetime(1970, 1, 1)
_DURATION = re.compile(r"P(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_FREE = {"free", "gratis", "gratuit", "kostenlos"}
_LISTS = ("type", "theme", "facility", "label", "performer", "weekday")
_TEXTS = (
    *("title", "description", "audience", "currency", "place", "city", "postal_code", "country"),
    *("organizer", "attendance", "status", "calendar", "picture", "link", "uri"),
)
_NUMBERS = ("age_from", "age_to", "price")
_TIMES = ("start", "end")
_SCHEMA: dict[str, Any] = {
    "item_id": pl.String,
    **dict.fromkeys(_LISTS, pl.List(pl.String)),
    **dict.fromkeys(_TEXTS, pl.String),
    **dict.fromkeys(_NUMBERS, pl.Float64),
    **dict.fromkeys(_TIMES, pl.Datetime("us")),
}


def read_events(source: str | Path, *, time_zone: str | None = None) -> pl.DataFrame:
    """Read events as JSON-LD into a table of items; what was noticed is logged.

    Events are of schema.org or of publiq's UDB3. They stand alone, in lists, in `@graph` or
    `member`, or one a line.

    Parameters
    ----------
    source
        A file, a pattern of files, or a folder with .json, .jsonld, .jsonl or .ndjson files, also
        gzipped.
    time_zone
        The zone of `start` and `end`, such as `Europe/Brussels`. By default times stay as they are
        written; those of UDB3 are in `Europe/Brussels`.

    Returns
    -------
    polars.DataFrame
        A row an event. `start` and `end` are the first and the last time of its calendar; both are
        missing for what is open permanently. `price` is the base price in the usual currency.
    """
    table = read_event_table(source, time_zone=time_zone)
    for note in (*table.notes, *table.refused):
        LOG.warning("%s", note)
    return table.frame


def holds_events(source: object) -> bool:
    """Whether a path has JSON-LD, by the start of its first file."""
    if not isinstance(source, str | Path) or "://" in str(source):
        return False
    path = next(iter(_files(source)), None)
    if path is None or not path.is_file():
        return False
    try:
        with open_unpacked(path) as file:
            return bool(_MARK.search(file.read(_HEAD)))
    except (OSError, EOFError):
        return False


def read_event_table(
    source: str | Path, *, time_zone: str | None = None, encoding: str = "utf-8"
) -> Table:
    """Read events as `read_events` does, with what was noticed and refused."""
    zone = _zone(time_zone)
    refused: dict[str, list[str]] = {}
    documents = [
        document
        for path in _files(source)
        for value in _values(path, encoding, refused)
        for document in _documents(_normal(value))
    ]
    known = {d["@id"]: d for d in documents if isinstance(d.get("@id"), str) and len(d) > 1}
    found = _Found(known, zone)
    for document in documents:
        if found.is_event(document):
            found.add(document)
    if not found.rows:
        kinds = ", ".join([*found.others, *refused]) or "no JSON object at all"
        raise TableError(
            f"There are no events in {source}. Found: {kinds}. Events have the @type Event, one of "
            "its kinds such as MusicEvent, or a startDate."
        )
    frame = pl.DataFrame(found.one_currency(), schema=_SCHEMA)
    lists = [pl.when(pl.col(c).list.len() > 0).then(pl.col(c)).alias(c) for c in _LISTS]
    return Table(
        frame.with_columns(lists),
        str(source),
        found.notes(),
        tuple(Refusal(r, len(at), tuple(at[:EXAMPLES])) for r, at in refused.items()),
    )


def _files(source: str | Path) -> list[Path]:
    """Return the files of JSON at a path, by name."""
    if is_pattern(source):
        paths = [Path(path) for path in glob.glob(str(source), recursive=True)]
    else:
        path = Path(source)
        paths = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
    return sorted(p for p in paths if p.name.lower().removesuffix(".gz").endswith(SUFFIXES))


def _zone(name: str | None) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ParameterError(
            f"There is no time zone {name!r}. Give one such as Europe/Brussels."
        ) from None


def _values(path: Path, encoding: str, refused: dict[str, list[str]]) -> Iterator[Any]:
    """Yield the JSON of a file: one value, or one a line; what is none is refused."""
    text = read_text(path, encoding)[0].decode()
    try:
        yield json.loads(text)
        return
    except (ValueError, RecursionError):
        lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        try:
            yield from [json.loads(line)] if line.strip() else []
        except (ValueError, RecursionError):
            refused.setdefault("no JSON", []).append(f"line {number} of {path}")
            if number == 1:  # a document over several lines is damaged as a whole
                return


def _normal(value: Any) -> Any:
    """Return JSON with the names of schema.org without their prefix, and plain values."""
    if isinstance(value, list):
        return [_normal(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "@value" in value and "@language" not in value:
        return value["@value"]
    return {_PREFIX.sub("", name): _normal(each) for name, each in value.items()}


def _documents(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a document: of lists, graphs, pages of results and lists of items."""
    if isinstance(value, list):
        for each in value:
            yield from _documents(each)
    elif isinstance(value, dict):
        for name in ("@graph", "member", "itemListElement"):
            if name in value:
                yield from _documents(value[name])
                return
        is_listed = "ListItem" in _types(value) and isinstance(value.get("item"), dict)
        yield value["item"] if is_listed else value
        for name in ("event", "events", "mainEntity"):  # of a place, an organisation, a page
            yield from _documents(value.get(name))


def _each(value: Any) -> list[Any]:
    """Return a value as a list: JSON-LD writes one value without brackets."""
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def _objects(document: Mapping[str, Any], *names: str) -> list[Mapping[str, Any]]:
    """Return the objects under these names."""
    values = [each for name in names for each in _each(document.get(name))]
    return [each for each in values if isinstance(each, Mapping)]


def _types(document: Mapping[str, Any]) -> list[str]:
    found = _each(document.get("@type", document.get("type")))
    return [_PREFIX.sub("", kind) for kind in found if isinstance(kind, str)]


def _text(value: Any, language: str = "") -> str | None:
    """Return one text of a value: of several languages the main one, else the first."""
    for each in _each(value):
        if isinstance(each, Mapping):
            named = each.get("@value", each.get("name", each.get(language)))
            each = named if named is not None else next(iter(each.values()), None)
            each = _text(each, language)
        if isinstance(each, str | int | float) and not isinstance(each, bool):
            # JSON may have half a letter, which no table can hold.
            words = " ".join(str(each).encode(errors="replace").decode().split())
            if words:
                return words
    return None


def _texts(value: Any, language: str = "") -> list[str]:
    """Return the texts of a value, each once."""
    found = (_text(each, language) for each in _each(value))
    return list(dict.fromkeys(text for text in found if text))


def _without_markup(text: str | None) -> str | None:
    plain = html.unescape(re.sub(r"<[^<>]*>", " ", text or ""))
    return " ".join(plain.split()) or None


def _address(value: Any) -> str | None:
    """Return the first web address of a value: a text, or an object that has one."""
    for each in _each(value):
        if isinstance(each, Mapping):
            names = ("contentUrl", "url", "@id", "thumbnailUrl")
            each = next((each[name] for name in names if each.get(name)), None)
        text = _text(each)
        if text and text.startswith(("http://", "https://", "//", "data:")):
            return text
    return None


def _words(kind: str) -> str:
    """Return a type in words: `VisualArtsEvent` is Visual arts."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.removesuffix("Event")).capitalize()
    return words or kind


def _amount(value: Any) -> float | None:
    """Return a number; it may have a comma, thousands, the sign of a currency, or be free."""
    text = _text(value) or ""
    if text.casefold() in _FREE:
        return 0.0
    found = re.search(r"-?\d[\d .,]*", text)
    digits = found[0].replace(" ", "").rstrip(".,") if found else ""
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d*)?", digits):  # 1,234.50
        digits = digits.replace(",", "")
    elif re.fullmatch(r"-?\d{1,3}(\.\d{3})+,\d*", digits):  # 1.234,50
        digits = digits.replace(".", "")
    try:
        amount = float(digits.replace(",", "."))
    except ValueError:
        return None
    return amount if 0 <= amount < math.inf else None


@dataclass
class _Found:
    """The rows of events, and what was noticed of them.

    Attributes
    ----------
    known
        The documents with an id, which others may refer to.
    zone
        The zone of times; None for as they are written.
    said
        The ids of events, by what was noticed.
    others
        How many documents of other types were left out.
    """

    known: Mapping[str, Mapping[str, Any]]
    zone: ZoneInfo | None
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)
    others: Counter[str] = field(default_factory=Counter)

    def is_event(self, document: Mapping[str, Any]) -> bool:
        """Return whether a document is an event; others are counted by their types."""
        types = _types(document)
        context = _text(document.get("@context")) or ""
        if not types and "/contexts/" in context:  # UDB3 has the type in place of @type
            types = [context.rpartition("/")[2].capitalize()]
        elif not types and _TELLING & set(document):
            return True
        is_event = any(kind.endswith("Event") or kind in _EVENTS for kind in types)
        if not is_event:
            self.others[" and ".join(types) or "objects without @type"] += 1
        return is_event

    def add(self, document: Mapping[str, Any]) -> None:
        """Add the row of an event; of two with one id the later stays."""
        language = _text(document.get("mainLanguage")) or ""
        row: dict[str, Any] = {"title": _without_markup(_text(document.get("name"), language))}
        uri = next((t for n in ("@id", "identifier", "url") if (t := _text(document.get(n)))), None)
        uuid = _UUID.search(uri or "")
        start = _text(document.get("startDate")) or ""
        item_id = uuid[0].lower() if uuid else uri or f"{row['title']} {start}".strip()
        say: Callable[[str], None] = lambda what: self._say(what, item_id)  # noqa: E731
        if uri is None:
            say("without @id, identifier or url; the id is title and startDate")
        if not _types(document) and "/contexts/" not in (_text(document.get("@context")) or ""):
            say("without @type, read as events because they have dates")
        if row["title"] is None:
            say("without a name; the id is the title")
        if item_id in self.rows:
            say("there more than once; the last one counts")
        row |= {"item_id": item_id, "uri": uri, "title": row["title"] or item_id}
        row |= _about(document, language)
        row |= _ages(document, say)
        row |= self._place(document, language)
        row["price"], row["currency"] = _price(document, say)
        row |= self._calendar(document, say)
        if document.get("hiddenLabels"):
            say("with hidden labels, which are not used")
        self.rows[item_id] = row

    def _say(self, what: str, item_id: str) -> None:
        ids = self.said.setdefault(what, [])
        if item_id not in ids:
            ids.append(item_id)

    def _place(self, document: Mapping[str, Any], language: str) -> dict[str, Any]:
        """Return place, city, postal code and country; places may be documents of their own."""
        places = [
            self.known.get(str(each.get("@id")), each) if isinstance(each, Mapping) else each
            for each in _each(document.get("location"))
            if isinstance(each, Mapping | str)
        ]
        real = [p for p in places if isinstance(p, str) or "VirtualLocation" not in _types(p)]
        mode = _text(document.get("attendanceMode") or document.get("eventAttendanceMode")) or ""
        mode = _PREFIX.sub("", mode).removesuffix("EventAttendanceMode").lower()
        found: dict[str, Any] = {"attendance": mode or ("online" if places and not real else None)}
        place = next(iter(real), None)
        if not isinstance(place, Mapping):
            return found | {"place": _text(place)}
        address = place if "PostalAddress" in _types(place) else place.get("address")
        address = next(iter(_each(address)), None)
        if isinstance(address, Mapping) and all(isinstance(a, Mapping) for a in address.values()):
            address = address.get(language) or next(iter(address.values()), None)
        found["place"] = _text(place.get("name"), language)
        if isinstance(address, Mapping):
            found["city"] = _text(address.get("addressLocality"), language)
            found["postal_code"] = _text(address.get("postalCode"))
            found["country"] = _text(address.get("addressCountry"))
        else:
            found["place"] = found["place"] or _text(address)
        return found

    def _calendar(self, document: Mapping[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
        """Return first and last time, the kind of calendar, and the days of the week."""
        is_udb3 = "calendarType" in document
        zone = self.zone or (ZoneInfo("Europe/Brussels") if is_udb3 else None)
        kind = _text(document.get("calendarType"))
        dated = [self.known.get(str(d.get("@id")), d) for d in _objects(document, "subEvent")]
        dated = [each for each in dated if _status(each) not in _CANCELLED]
        schedules = _objects(document, "eventSchedule")
        starts: list[datetime] = []
        ends: list[datetime] = []
        days: list[str] = []
        is_open = False
        for each in (document, *dated, *schedules):
            start = _moment(each.get("startDate"), zone, say)
            end = _moment(each.get("endDate"), zone, say)
            if end is None:
                end = _end(start or next(iter(starts), None), each)
                is_open = is_open or (end is None and "repeatFrequency" in each)
            if start and end and end < start:
                say("ending before they begin; that end is taken as missing")
                end = None
            starts += [start] if start else []
            ends += [end] if end else []
            is_short = start and (end or start) - start < timedelta(days=2)
            if start and is_short and not schedules:
                days.append(_DAYS[start.weekday()])
            hours = _objects(each, "openingHours", "openingHoursSpecification")
            for name in (*(h.get("dayOfWeek") for h in hours), each.get("byDay")):
                named = [_PREFIX.sub("", str(text)).capitalize() for text in _each(name)]
                days += [d for d in _DAYS if d.startswith(tuple(filter(None, named)))]
        if {_status(document), document.get("workflowStatus")} & _CANCELLED:
            ends = [_PAST]
        elif is_udb3 and kind == "permanent":
            starts, ends = [], []
        elif not starts and not ends:
            say("without a date that can be read")
        last = None if is_open and not ends else max([*ends, *starts], default=None)
        return {
            "start": min(starts, default=None),
            "end": _PAST if ends == [_PAST] else last,
            "calendar": kind or ("multiple" if len({*starts}) > 1 else None),
            "weekday": [day for day in _DAYS if day in days],
        }

    def one_currency(self) -> list[dict[str, Any]]:
        """Return the rows with prices in the most common currency; others are missing."""
        rows = list(self.rows.values())
        known = Counter(row["currency"] for row in rows if row["currency"] and row["price"])
        usual = known.most_common(1)[0][0] if known else None
        for row in rows:
            if row["price"] and row["currency"] not in (None, usual):
                what = f"priced in another currency than {usual}; their price is taken as missing"
                self._say(what, row["item_id"])
                row["price"] = None
        return [{name: row.get(name) for name in _SCHEMA} for row in rows]

    def notes(self) -> tuple[str, ...]:
        """Return what was noticed, a sentence each."""
        said = [
            f"{counted(len(ids), 'event')} {what}: {', '.join(ids[:EXAMPLES])}"
            for what, ids in self.said.items()
        ]
        if self.others:
            kinds = ", ".join(f"{n:,} {kind}" for kind, n in self.others.most_common())
            said.append(f"what is no event was left out: {kinds}")
        return tuple(said)


def _status(document: Mapping[str, Any]) -> str:
    """Return the status of an event, such as EventCancelled, or nothing."""
    status = document.get("eventStatus") or document.get("status")
    if isinstance(status, Mapping):
        status = status.get("type", status.get("@id"))
    return _PREFIX.sub("", _text(status) or "")


def _about(document: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Return what an event is: its types, themes, labels, people, description, addresses."""
    by_domain: dict[str, list[str]] = {}
    for term in _objects(document, "terms"):
        label = _text(term.get("label") or term.get("id"), language)
        by_domain.setdefault(str(term.get("domain")), []).extend([label] if label else [])
    kinds = [_words(kind) for kind in _types(document) if kind != "Event"]
    keywords = [w.strip() for text in _texts(document.get("keywords")) for w in text.split(",")]
    labels = [*_texts(document.get("labels")), *keywords]
    usual, said = ("EventScheduled", "Available"), _status(document)
    picture = document.get("image") or document.get("mediaObject")
    link = _address(document.get("url")) or _address(document.get("sameAs"))
    return {
        "description": _without_markup(_text(document.get("description"), language)),
        "type": list(dict.fromkeys([*kinds, *by_domain.get("eventtype", [])])),
        "theme": by_domain.get("theme", []) + _texts(document.get("genre")),
        "facility": by_domain.get("facility", []),
        "label": list(dict.fromkeys(label for label in labels if label)),
        "performer": _texts(document.get("performer") or document.get("performers"), language),
        "organizer": _text(document.get("organizer"), language),
        "status": _words(said.removeprefix("Event")) if said and said not in usual else None,
        "picture": _address(picture),
        "link": link or _address(document.get("@id")),
    }


def _ages(document: Mapping[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """Return the audience and its ages; `6-12`, `6-` and `6+` are read, `-` is everybody."""
    audience = next(iter(_each(document.get("audience"))), None)
    found: dict[str, Any] = {"audience": _text(audience)}
    if isinstance(audience, Mapping):
        found["audience"] = _text(audience.get("audienceType") or audience.get("name"))
        found["age_from"] = _amount(audience.get("suggestedMinAge"))
        found["age_to"] = _amount(audience.get("suggestedMaxAge"))
    text = _text(document.get("typicalAgeRange"))
    ages = re.fullmatch(r"(\d{1,3})?\s*(?:[-–+]\s*(\d{1,3})?)?", text or "")
    if ages is None:
        say("with a typicalAgeRange that cannot be read, taken as missing")
    elif text:
        last = ages[2] or (ages[1] if text == ages[1] else None)
        found["age_from"] = float(ages[1]) if ages[1] else None
        found["age_to"] = float(last) if last else None
    return found


def _price(
    document: Mapping[str, Any], say: Callable[[str], None]
) -> tuple[float | None, str | None]:
    """Return the base price of UDB3, or the lowest of the offers, with its currency."""
    info = _objects(document, "priceInfo")
    offers = [p for p in info if p.get("category") == "base"] or info[:1]
    found: list[tuple[float, str | None]] = []
    for offer in offers or _objects(document, "offers"):
        for each in (offer, *_objects(offer, "priceSpecification")):
            given = [each[n] for n in ("price", "lowPrice", "minPrice") if each.get(n) is not None]
            if given and (amount := _amount(given[0])) is not None:
                currency = each.get("priceCurrency") or offer.get("priceCurrency")
                found.append((amount, _text(currency)))
            elif given:
                say("with a price that cannot be read, taken as missing")
    if _PREFIX.sub("", str(document.get("isAccessibleForFree"))).casefold() == "true":
        return 0.0, found[0][1] if found else None
    return min(found, key=lambda pair: pair[0], default=(None, None))


def _moment(value: Any, zone: ZoneInfo | None, say: Callable[[str], None]) -> datetime | None:
    """Return a time without its zone, as clocks show it in `zone` or as it is written."""
    text = _text(value)
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is None:
            if len(text) > len("2026-01-31"):
                say("with times without a zone, taken as local times")
            return found
        if zone is not None:
            found = found.astimezone(zone)
        elif not found.utcoffset():
            say("with times in UTC, kept as written; give --time-zone to convert them")
        return found.replace(tzinfo=None)
    except (ValueError, OverflowError):
        say("with a date that cannot be read, taken as missing")
        return None


def _end(start: datetime | None, document: Mapping[str, Any]) -> datetime | None:
    """Return when what has a duration, or is repeated a number of times, is over."""
    length, repeat = (_duration(document.get(name)) for name in ("duration", "repeatFrequency"))
    count = _amount(document.get("repeatCount"))
    if start is None or (repeat and not count) or not (repeat or length):
        return None
    try:
        return start + (length or timedelta()) + (repeat or timedelta()) * ((count or 1) - 1)
    except OverflowError:
        return None


def _duration(value: Any) -> timedelta | None:
    found = _DURATION.fullmatch(_text(value) or "")
    if found is None:
        return None
    months, weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    days += 31 * months + 7 * weeks
    try:
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        return None

"""Visitors of the site and programs of the API, and what they were told."""

import json
import threading
import time
import urllib.parse
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from soak.client import CROWD, Answer, Client, Record
from soak.servers import Models

Action = tuple[str, str]  # the kind, and the item or the tag
# How far ahead of its place a stored action is looked for.
_WINDOW = 20


@dataclass
class Ledger:
    """The actions of one person in the order in which they were sent.

    Attributes
    ----------
    sent
        Each action, and whether the server acknowledged it. One without an acknowledgement may
        be stored or not: the answer may have been lost after the commit.
    is_deleted
        Whether the server acknowledged that all was deleted; None if that is not known.
    """

    sent: list[tuple[Action, bool]] = field(default_factory=list)
    is_deleted: bool | None = False


# How many acknowledged actions are stored, lost, and stored without having been sent.
Comparison: TypeAlias = Counter[str]


def compare(ledger: Ledger, stored: Sequence[Action]) -> Comparison:
    """Compare what was sent with what is stored, in the way that loses fewest actions.

    `costs` has, for each number of stored actions that are accounted for, the fewest (lost,
    unexplained) so far.
    """
    acknowledged = sum(is_sure for _, is_sure in ledger.sent)
    if ledger.is_deleted is None:
        return Counter()
    if ledger.is_deleted:
        return Counter(acknowledged=acknowledged + 1, lost=int(bool(stored)))
    costs: dict[int, tuple[int, int]] = {0: (0, 0)}
    for action, is_sure in ledger.sent:
        following: dict[int, tuple[int, int]] = {}
        for place, (lost, extra) in costs.items():
            _keep(following, place, (lost + is_sure, extra))
            for found in range(place, min(len(stored), place + _WINDOW)):
                if stored[found] == action:
                    _keep(following, found + 1, (lost, extra + found - place))
                    break
        fewest = min(following.values())
        costs = {p: cost for p, cost in following.items() if cost[0] <= fewest[0] + _WINDOW}
    lost, extra = min((lost, extra + len(stored) - p) for p, (lost, extra) in costs.items())
    return Counter(acknowledged=acknowledged, lost=lost, unexplained=extra)


def _keep(costs: dict[int, tuple[int, int]], place: int, cost: tuple[int, int]) -> None:
    costs[place] = min(cost, costs.get(place, cost))


def stored_actions(export: dict[str, Any]) -> list[Action]:
    """Return the actions in an export of a person."""
    return [_action(event) for event in export.get("events", [])]


def _action(event: dict[str, Any]) -> Action:
    presses = event.get("presses") or []
    name = presses[0]["tag"] if presses else event.get("item_id") or ""
    return event["kind"], str(name)


# How often a request is sent that has to be answered.
TRIES = 40


class Actor(ABC):
    """Somebody who uses the server, and remembers what was acknowledged.

    Parameters
    ----------
    number
        Of the actor; the seed of what they do.
    port
        Of the server.
    models
        Which items and tags there are.
    record
        Where answers are counted.
    pause
        The mean seconds between two actions; there are none in the warm-up.

    Attributes
    ----------
    ledgers
        What each person did that the actor made, by what names the person: a cookie or an id.
    """

    is_visitor: bool

    def __init__(
        self, number: int, port: int, models: Models, record: Record, pause: float
    ) -> None:
        self.rng = np.random.default_rng([number, self.is_visitor])
        self.client = Client(port, record, is_visitor=self.is_visitor)
        self.models, self.record, self.pause = models, record, pause
        self.ledgers: list[tuple[str, Ledger]] = []

    @abstractmethod
    def run(self, stop: threading.Event) -> None:
        """Act until asked to stop."""

    @abstractmethod
    def compared(self) -> Comparison:
        """Compare all that was acknowledged with what the server stored."""


@contextmanager
def at_work(actors: Sequence[Actor]) -> Iterator[None]:
    """Let all of them act, each in a thread, for as long as the block runs."""
    stop = threading.Event()
    threads = [threading.Thread(target=each.run, args=(stop,)) for each in actors]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


# What a visitor does next, and how often of a hundred times.
_CHANCES = {
    "press": 50, "view": 18, "look": 14, "open": 5, "search": 3, "undo": 5, "hide": 2,
    "export": 2, "delete": 1,
}  # fmt: skip
_LIMIT = "as far as it goes"


class Visitor(Actor):
    """Somebody with a browser, from a first page on; deletes all now and then and begins anew."""

    is_visitor = True
    tags: Sequence[str] = ()
    n_presses = 0

    def run(self, stop: threading.Event) -> None:
        """Act until asked to stop."""
        names, chances = list(_CHANCES), np.array(list(_CHANCES.values())) / 100
        self._arrive(stop)
        while not stop.wait(self.record.pace(self.pause) * self.rng.random() * 2):
            name = str(self.rng.choice(names, p=chances))
            if name in ("press", "view", "hide", "undo"):
                self._act(name, stop)
            elif name == "delete":
                self._delete(stop)
            else:
                self._read(name)
        self.client.close()

    def compared(self) -> Comparison:
        """Compare all that was acknowledged with what the server stored."""
        total = Comparison()
        for cookie, ledger in self.ledgers:
            export = self._ask_until("/export", cookie)
            total += compare(ledger, stored_actions(json.loads(export.text)))
        self.client.close()
        return total

    def _arrive(self, stop: threading.Event) -> None:
        """Load the first page until it comes with a cookie, and choose tags of one's own."""
        self.tags = self.rng.choice(self.models.tags, 6, replace=False).tolist()
        while not stop.is_set():
            found = self.client.ask("GET", "/", headers=self._headers(""))
            if found.status == 200 and found.cookie:
                self.ledgers.append((found.cookie.split(";")[0], Ledger()))
                return
            stop.wait(0.2)

    def _act(self, kind: str, stop: threading.Event) -> None:
        """Send an action, and the same again until it is acknowledged."""
        if not self.ledgers:
            return
        cookie, ledger = self.ledgers[-1]
        if kind == "undo" and not (ledger.sent and ledger.sent[-1][1]):
            kind = "view"  # there may be nothing to undo
        elif kind == "undo" and ledger.sent[-1][0][0] == "undo":
            kind = "view"
        action, form = self._action(kind)
        body = urllib.parse.urlencode({**form, "back": "/"})
        for _ in range(TRIES):
            found = self.client.ask("POST", "/act", body, self._headers(cookie))
            if found.is_done:
                is_sure = kind != "press" or _LIMIT not in found.text
                ledger.sent.append((action, is_sure))
                return
            if not found.is_unsure:
                return
            ledger.sent.append((action, False))
            if kind == "undo" or stop.wait(0.2):  # what a second undo does is not known
                return

    def _action(self, kind: str) -> tuple[Action, dict[str, str]]:
        if kind == "press":
            tag = self.tags[self.n_presses % len(self.tags)]
            steps = 1 if self.n_presses // len(self.tags) % 2 == 0 else -1
            self.n_presses += 1
            return (kind, tag), {"press": f"{steps:+d} {tag}"}
        if kind == "undo":
            return (kind, ""), {"undo": "1"}
        item = str(self.rng.choice(self.models.items))
        return (kind, item), {kind: item}

    def _read(self, name: str) -> None:
        item = urllib.parse.quote(str(self.rng.choice(self.models.items)), safe="")
        only = urllib.parse.quote(str(self.rng.choice(self.models.tags)))
        paths = {
            "look": "/" if self.rng.random() < 0.7 else f"/?only={only}",
            "open": f"/item/{item}",
            "search": f"/search?q={only.partition('%3D')[2]}",
            "export": "/export",
        }
        cookie = self.ledgers[-1][0] if self.ledgers else ""
        self.client.ask("GET", paths[name], headers=self._headers(cookie, fragment=False))

    def _delete(self, stop: threading.Event) -> None:
        """Delete all, until it is acknowledged; then begin as a new visitor."""
        if not self.ledgers or not self.ledgers[-1][1].sent:
            return
        cookie, ledger = self.ledgers[-1]
        ledger.is_deleted = None
        for _ in range(TRIES):
            found = self.client.ask("POST", "/delete", "", self._headers(cookie, fragment=False))
            if found.is_done:
                ledger.is_deleted = True
                self._arrive(stop)
                return
            if stop.wait(0.2):
                return

    def _ask_until(self, path: str, cookie: str) -> Answer:
        for _ in range(TRIES):
            found = self.client.ask("GET", path, headers=self._headers(cookie, fragment=False))
            if found.status == 200:
                return found
            time.sleep(0.5)
        raise RuntimeError(f"{path} did not answer at the end: {found.status} {found.text[:200]}")

    def _headers(self, cookie: str, *, fragment: bool = True) -> dict[str, str]:
        headers = {
            "Cookie": cookie,
            "Origin": f"http://{self.client.host}",
            "Accept-Language": "en",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return {**headers, "x-teaser-script": "1"} if fragment else headers


_PEOPLE = "/api/v1/people"
_ACTIONS = 60  # of a person, before the next one


class Program(Actor):
    """A client of the API: one person after the other; every other one is deleted at the end."""

    is_visitor = False

    def run(self, stop: threading.Event) -> None:
        """Act until asked to stop."""
        while not self._rest(stop):
            made = self._ask("POST", _PEOPLE)
            if not made.is_done:
                continue
            person_id, ledger = str(json.loads(made.text)["person_id"]), Ledger()
            self.ledgers.append((person_id, ledger))
            for _ in range(_ACTIONS):
                if self._rest(stop):
                    break
                self._step(f"{_PEOPLE}/{person_id}", ledger)
            if len(self.ledgers) % 2:
                self._delete(person_id, ledger)
        self.client.close()

    def compared(self) -> Comparison:
        """Compare all that was acknowledged with what the server stored."""
        total = Comparison()
        for person_id, ledger in self.ledgers:
            if ledger.is_deleted is not None:
                total += compare(ledger, self._stored(person_id, is_gone=ledger.is_deleted))
        self.client.close()
        return total

    def _rest(self, stop: threading.Event) -> bool:
        pause = 0.0 if self.record.phase == CROWD else self.record.pace(self.pause)
        return stop.wait(pause * self.rng.random() * 2)

    def _step(self, person: str, ledger: Ledger) -> None:
        """Send one request: an action, or a question."""
        drawn = self.rng.random()
        item, tag = str(self.rng.choice(self.models.items)), str(self.rng.choice(self.models.tags))
        if drawn < 0.25:
            found = self._ask("POST", f"{person}/views", {"item_id": item})
            _note(ledger, ("view", item), found)
        elif drawn < 0.45:
            found = self._ask("POST", f"{person}/presses", {"tag": tag, "steps": 1})
            _note(ledger, ("press", tag), found)
        elif drawn < 0.75:
            self._ask("GET", f"{person}/recommendations?k=12")
        elif drawn < 0.85:
            self._ask("GET", f"{person}/profile")
        elif drawn < 0.97:
            self._ask("POST", "/api/v1/recommend", {"history": [item], "k": 12})
        else:
            self._ask("GET", f"{person}/export")

    def _delete(self, person_id: str, ledger: Ledger) -> None:
        ledger.is_deleted = None
        if self._ask("DELETE", f"{_PEOPLE}/{person_id}").status == 204:
            ledger.is_deleted = True

    def _stored(self, person_id: str, *, is_gone: bool) -> list[tuple[str, str]]:
        for _ in range(TRIES):
            if is_gone:
                # Asked beside the record: the answer 404 is the right one.
                other = Client(int(self.client.host.split(":")[1]), Record(), is_visitor=False)
                found = other.ask("GET", f"{_PEOPLE}/{person_id}/export")
                other.close()
            else:
                found = self._ask("GET", f"{_PEOPLE}/{person_id}/export")
            if found.status == 404:
                return []
            if found.is_done:
                return stored_actions(json.loads(found.text))
            time.sleep(0.5)
        raise RuntimeError(f"The export did not answer at the end: {found.status}.")

    def _ask(self, method: str, path: str, body: Any = None) -> Answer:
        text = None if body is None else json.dumps(body)
        return self.client.ask(method, path, text, {"Content-Type": "application/json"})


def _note(ledger: Ledger, action: tuple[str, str], found: Answer) -> None:
    """Write down an action; a press that moves nothing is answered with a note, and not stored."""
    if found.is_done:
        if json.loads(found.text).get("note") is None:
            ledger.sent.append((action, True))
    elif found.is_unsure:
        ledger.sent.append((action, False))

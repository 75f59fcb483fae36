"""Visitors of the site: they look, press, view, undo, export and delete, with pauses."""

import json
import threading
import time
import urllib.parse
from collections.abc import Sequence

import numpy as np

from soak.actor import TRIES, Actor
from soak.client import Answer
from soak.ledger import Action, Comparison, Ledger, compare, stored_actions

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

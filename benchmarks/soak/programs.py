"""Programs that use the API: persons with views and presses, lists, profiles, exports."""

import json
import threading
import time
from typing import Any

from soak.actor import TRIES, Actor
from soak.client import Answer, Client
from soak.ledger import Comparison, Ledger, compare, stored_actions
from soak.records import CROWD, Record

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

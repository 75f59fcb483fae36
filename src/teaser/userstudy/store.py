"""Participants of a study in the database: their places, steps, log and answers.

Each action is one transaction, in which the row of the participant is locked: two tabs, or two
servers, give what one after the other would, and what was answered is stored.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select, text, update

from teaser.app.state import Draft
from teaser.app.store import Store, events, hash_of, person
from teaser.app.store import study_answer as answers
from teaser.app.store import study_log as log
from teaser.app.store import study_participant as participants
from teaser.app.store import study_session as sessions
from teaser.errors import ParameterError, UnknownNameError
from teaser.userstudy.plan import UserStudy

Mode = Literal["real", "pilot", "simulated"]
# The most rows of one person's log. Beyond it only the end of each page is logged.
MAX_ROWS = 2_000
_LOCK = 727_002


@dataclass(frozen=True)
class Participant:
    """One person of a study, as stored.

    `state` holds what is not an answer yet: picks, and of the present step what was chosen and
    looked at, and since when it is shown. `persons` are the site's persons of the arms.
    """

    id: str
    order: int
    step: int
    state: dict[str, Any]
    persons: dict[str, str]


@dataclass
class Change:
    """What an action changes: the step, the state, rows of the log, answers."""

    step: int | None = None
    state: dict[str, Any] | None = None
    log: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    answers: Mapping[str, Any] = field(default_factory=dict)


class StudyStore:
    """The people of one study, in one mode: real, pilot or simulated ones.

    Parameters
    ----------
    store
        The store of the site, with its tables.
    study
        The study.
    mode
        Pilot and simulated people are counted and kept apart from real ones.
    clock
        Returns the time.
    """

    def __init__(
        self,
        store: Store,
        study: UserStudy,
        mode: Mode = "real",
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store = store
        self.study = study
        self.mode = mode
        self.hashes = study.hashes()
        self._database = store.database
        self._clock = clock
        self._own = (participants.c.study == study.name, participants.c.mode == mode)

    def check_frozen(self) -> None:
        """Raise `ParameterError` if the study changed since its first participant."""
        self._database.read(self._check_frozen)

    def find(self, token_id: str) -> Participant | None:
        """Return the participant of a cookie."""
        return self._find(participants.c.token_id == token_id)

    def get(self, participant_id: str) -> Participant:
        """Return a participant."""
        found = self._find(participants.c.id == participant_id)
        if found is None:
            raise UnknownNameError("person")
        return found

    def is_full(self) -> bool:
        """Return whether all places of the plan are taken."""
        return sum(self._database.read(self._counts)) >= self.study.people

    def join(self, token_id: str, *, language: str) -> Participant | None:
        """Give somebody a place in the plan, the same one if they have one; None if it is full.

        The order of arms is one that fewest people have, who finished or are still there; of
        several, the seed draws one.
        """
        participant_id, now = secrets.token_urlsafe(32), self._clock()
        # Before the transaction: the key may have to be read, which takes a second connection.
        code_hash = hash_of(self.withdrawal_code(participant_id))

        def add(connection: Connection) -> str | None:
            self._lock(connection)
            query = select(participants.c.id).where(*self._own, participants.c.token_id == token_id)
            if found := connection.execute(query).scalar_one_or_none():
                return str(found)
            counts = self._counts(connection)
            if sum(counts) >= self.study.people:
                return None
            self._check_frozen(connection)
            query = select(func.max(participants.c.place)).where(*self._own)
            place = (connection.execute(query).scalar_one() or 0) + 1
            fewest = [i for i, n in enumerate(counts) if n == min(counts)]
            order = int(np.random.default_rng([self.study.seed, place]).choice(fewest))
            consent = self.study.consent.version
            row: dict[str, Any] = {"id": participant_id, "token_id": token_id, "consent": consent}
            row |= {"code_hash": code_hash, "study": self.study.name, "mode": self.mode}
            row |= {"hashes": self.hashes, "language": language, "place": place}
            row |= {"arm_order": order, "step": 0, "version": 1, "created_at": now}
            row |= {"active_at": now, "state": {"since": now.isoformat()}}
            connection.execute(insert(participants).values(row))
            self._add_arms(connection, participant_id, order, now)
            _append(connection, participant_id, 1, now, 0, [("consent", {})])
            return participant_id

        found = self._database.write(add)
        return None if found is None else self.get(found)

    def act(
        self, found: Participant, decide: Callable[[Participant], Change | None]
    ) -> Participant:
        """Let a function decide on a participant's row, and store what it decides.

        Nothing changes if the participant is on another page meanwhile.

        Parameters
        ----------
        found
            The participant as read before.

        Raises
        ------
        UnknownNameError
            If the participant withdrew meanwhile.
        """
        now, mine = self._clock(), participants.c.id == found.id

        def change(connection: Connection) -> Participant:
            row = connection.execute(select(participants).where(mine).with_for_update()).first()
            if row is None:
                raise UnknownNameError("person")
            before = self._participant(connection, row)
            done = decide(before) if before.step == found.step else None
            if done is None:
                return before
            has_room = row.version < MAX_ROWS or done.step is not None
            rows = done.log if has_room else []
            _append(connection, found.id, row.version + 1, now, row.step, rows)
            new = {"version": row.version + len(rows), "active_at": now}
            if done.state is not None:
                new["state"] = done.state
            if done.step is not None:
                kept = {"picks": (done.state or row.state).get("picks", [])}
                new |= {"step": done.step, "state": {**kept, "since": now.isoformat()}}
                if done.step == len(self.study.steps(row.arm_order)) - 1:
                    new["finished_at"] = now
            connection.execute(update(participants).where(mine).values(new))
            given = [
                {"participant_id": found.id, "step": row.step, "question": name}
                | {"at": now, "value": value}
                for name, value in done.answers.items()
            ]
            if given:
                connection.execute(insert(answers), given)
            after = connection.execute(select(participants).where(mine)).one()
            return self._participant(connection, after)

        return self._database.write(change)

    def withdraw(self, code: str) -> bool:
        """Delete all of the person with a withdrawal code; return whether there was one."""
        digest = hash_of(plain_code(code))

        def remove(connection: Connection) -> bool:
            query = select(participants.c.id).where(participants.c.code_hash == digest)
            found = connection.execute(query).scalar_one_or_none()
            if found is None:
                return False
            own = select(sessions.c.person_id).where(sessions.c.participant_id == found)
            connection.execute(delete(person).where(person.c.id.in_(own)))
            connection.execute(delete(participants).where(participants.c.id == found))
            return True

        done = self._database.write(remove)
        if done:
            self._database.empty_log()
        return done

    def withdrawal_code(self, participant_id: str) -> str:
        """Return the code with which a participant can withdraw; only its hash is stored."""
        digest = self._keyed("withdraw", participant_id)
        return base64.b32encode(digest).decode()[:16]

    def recruit_secret(self, value: str) -> str:
        """Return the secret in the cookie of the person with an id of a recruiting service."""
        return self._keyed("cookie", f"{self.study.name} {self.mode} {value}").hex()

    def public_id(self, participant_id: str) -> str:
        """Return the name of a participant in exports; nothing in the database follows from it."""
        return self._keyed("export", participant_id).hex()[:12]

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Return all rows of the study in its mode, by table, for exports."""

        def read(connection: Connection) -> dict[str, list[dict[str, Any]]]:
            mine = select(participants.c.id).where(*self._own)
            persons = select(sessions.c.person_id).where(sessions.c.participant_id.in_(mine))
            found = {
                "participants": select(participants).where(*self._own).order_by("place"),
                "actions": select(events)
                .where(events.c.person_id.in_(persons))
                .order_by("person_id", "seq"),
            }
            tables = ("sessions", sessions, "position"), ("log", log, "seq")
            for name, table, order in (*tables, ("answers", answers, "step")):
                own = select(table).where(table.c.participant_id.in_(mine))
                found[name] = own.order_by("participant_id", order)
            return {n: [*map(dict, connection.execute(q).mappings())] for n, q in found.items()}

        return self._database.read(read)

    def _find(self, condition: Any) -> Participant | None:
        def read(connection: Connection) -> Participant | None:
            row = connection.execute(select(participants).where(*self._own, condition)).first()
            return None if row is None else self._participant(connection, row)

        return self._database.read(read)

    def _participant(self, connection: Connection, row: Any) -> Participant:
        query = select(sessions.c.arm, sessions.c.person_id)
        found = connection.execute(query.where(sessions.c.participant_id == row.id))
        persons = dict(tuple(each) for each in found)
        return Participant(row.id, row.arm_order, row.step, dict(row.state), persons)

    def _counts(self, connection: Connection) -> list[int]:
        """Return how many people have each order: those who finished, and those still there."""
        since = self._clock() - timedelta(minutes=self.study.abandon_after)
        still = participants.c.active_at >= since
        query = select(participants.c.arm_order, func.count()).where(
            *self._own, participants.c.finished_at.is_not(None) | still
        )
        found = dict(tuple(row) for row in connection.execute(query.group_by("arm_order")))
        return [found.get(order, 0) for order in range(len(self.study.orders))]

    def _add_arms(
        self, connection: Connection, participant_id: str, order: int, now: datetime
    ) -> None:
        """Add a person of the site for each arm; the API and `teaser refit` do not see them."""
        empty = {"version": 0, "bytes": 0, "state": Draft().to_json(), "is_site": False}
        for position, arm in enumerate(self.study.orders[order], 1):
            person_id = secrets.token_urlsafe(32)
            connection.execute(insert(person).values(id=person_id, created_at=now, **empty))
            row = {"participant_id": participant_id, "position": position, "arm": arm}
            connection.execute(insert(sessions).values(**row, person_id=person_id))

    def _lock(self, connection: Connection) -> None:
        """Let arrivals wait for each other; SQLite has one writer anyway."""
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))

    def _check_frozen(self, connection: Connection) -> None:
        query = select(participants.c.hashes, participants.c.created_at).where(*self._own)
        found = connection.execute(query.order_by("place").limit(1)).first()
        if self.mode != "real" or found is None or found.hashes == self.hashes:
            return
        names = {*found.hashes, *self.hashes}
        changed = sorted(n for n in names if found.hashes.get(n) != self.hashes.get(n))
        raise ParameterError(
            f"The study {self.study.name!r} is frozen since its first participant on "
            f"{found.created_at:%Y-%m-%d}, and this changed: {', '.join(changed)}. Bring it back; "
            "or take another name (name = ...) or database for a new study; or serve it with "
            "--pilot, which marks its data."
        )

    def _keyed(self, purpose: str, value: str) -> bytes:
        key = self.store.signing_key
        return hmac.new(key, f"study {purpose} {value}".encode(), hashlib.sha256).digest()


def plain_code(text: str) -> str:
    """Return a withdrawal code as it is hashed, however it was typed."""
    return "".join(letter for letter in text.upper() if letter.isalnum())


def spaced_code(code: str) -> str:
    """Return a withdrawal code in groups of four letters, as people read it."""
    return "-".join(code[i : i + 4] for i in range(0, len(code), 4))


def _append(
    connection: Connection,
    participant_id: str,
    first: int,
    now: datetime,
    step: int,
    rows: list[tuple[str, dict[str, Any]]],
) -> None:
    """Add rows to a log, numbered from `first` on."""
    common = {"participant_id": participant_id, "at": now, "step": step}
    new = [{**common, "seq": n, "kind": k, "data": x} for n, (k, x) in enumerate(rows, first)]
    if new:
        connection.execute(insert(log), new)

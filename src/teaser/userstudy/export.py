"""What a study found, as tidy tables: people, sessions, exposures, events, answers; a codebook."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from teaser.userstudy.plan import MEASURED, Step, UserStudy
from teaser.userstudy.store import StudyStore

Row = dict[str, Any]
# The columns of each table, with their type and meaning; the codebook tells them.
_WHO: dict[str, tuple[Any, str]] = {"person": (pl.String, "the person, by a name of this export")}
_WHERE: dict[str, tuple[Any, str]] = {
    **_WHO,
    "position": (pl.Int64, "the place of the arm in the person's order, from 1; 0 outside of arms"),
    "arm": (pl.String, "the arm; empty outside of arms"),
    "task": (pl.String, "the task; empty outside of tasks"),
}
_WHEN: dict[str, tuple[Any, str]] = {
    "seconds": (pl.Float64, "seconds since the person agreed to take part")
}
COLUMNS: dict[str, dict[str, tuple[Any, str]]] = {
    "people": {
        **_WHO,
        "mode": (pl.String, "real, pilot or simulated; simulated people are no people"),
        "place": (pl.Int64, "the place in the plan, in the order of arrival"),
        "order": (pl.String, "the arms in the order in which the person had them"),
        "language": (pl.String, "the language at the beginning"),
        "consent": (pl.String, "the version of the consent text"),
        "day": (pl.Date, "the day on which the person began, in UTC"),
        "is_finished": (pl.Boolean, "whether the person came to the last page"),
        "last_page": (pl.Int64, "the last page that the person came to, from 1"),
        "seconds": (pl.Float64, "seconds from consent to the last page, or to the last action"),
        "checks": (pl.Int64, "attention checks that were answered"),
        "checks_failed": (pl.Int64, "attention checks with a wrong answer"),
    },
    "sessions": {
        **_WHO,
        "position": (pl.Int64, "the place of the arm in the person's order, from 1"),
        "arm": (pl.String, "the arm"),
        "is_finished": (pl.Boolean, "whether the person did all tasks of the arm"),
        **{name: (pl.Float64, meaning) for name, meaning in MEASURED.items()},
        "lists": (pl.Int64, "lists that were shown"),
        "words": (pl.Int64, "requests in words"),
    },
    "exposures": {
        **_WHERE,
        **_WHEN,
        "list": (pl.Int64, "the number of the list among those of the person, from 1"),
        "rank": (pl.Int64, "the place of the item in the list, from 1"),
        "item": (pl.String, "the id of the item"),
        "score": (pl.Float64, "its score"),
        "match": (pl.Float64, "its match as it was shown; empty if it was not"),
        "reasons": (pl.String, "the reasons that were shown, as JSON; empty if none were"),
    },
    "events": {
        **_WHERE,
        **_WHEN,
        "kind": (pl.String, "what happened; view, press and the like are actions on the list"),
        "data": (pl.String, "what belongs to it, as JSON; of a list, its statements"),
    },
    "answers": {
        **_WHERE,
        **_WHEN,
        "question": (pl.String, "the id of the question"),
        "outcome": (pl.String, "the outcome that it counts for; empty if it counts for none"),
        "value": (pl.Float64, "the answer as a number: the point, the number of the choice"),
        "scored": (pl.Float64, "the same, counted from the other end where the question is so"),
        "text": (pl.String, "the answer to a question that asks for a text"),
    },
}


@dataclass(frozen=True)
class StudyTables:
    """The tables of a study; see the codebook for their columns.

    `n_left_out` people of a pilot are not in them: they saw another version of the study.
    """

    people: pl.DataFrame
    sessions: pl.DataFrame
    exposures: pl.DataFrame
    events: pl.DataFrame
    answers: pl.DataFrame
    n_left_out: int = 0


def read_tables(people: StudyStore, *, with_texts: bool = False) -> StudyTables:
    """Return the tables of a study.

    Parameters
    ----------
    people
        The study and which people of it: real, pilot or simulated ones.
    with_texts
        Whether what people wrote in their own words is among the answers and events. It may say
        who they are.
    """
    study, rows = people.study, people.rows()
    by_person: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for table in ("sessions", "log", "answers"):
        for row in rows[table]:
            by_person[row["participant_id"]][table].append(row)
    actions: dict[str, list[Row]] = defaultdict(list)
    for row in rows["actions"]:
        actions[row["person_id"]].append(row)
    found: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    present = [row for row in rows["participants"] if row["hashes"] == people.hashes]
    for row in present:
        reader = _Reader(study, row, people.public_id(row["id"]), with_texts)
        reader.read(by_person[row["id"]], actions, found)
    frames: dict[str, Any] = {
        name: pl.DataFrame(found[name], schema={c: kind for c, (kind, _) in columns.items()})
        for name, columns in COLUMNS.items()
    }
    return StudyTables(**frames, n_left_out=len(rows["participants"]) - len(present))


def write_tables(tables: StudyTables, study: UserStudy, folder: str | Path) -> Path:
    """Write the tables as parquet and csv, with a codebook and the file of the study."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in COLUMNS:
        frame: pl.DataFrame = getattr(tables, name)
        frame.write_parquet(folder / f"{name}.parquet")
        frame.write_csv(folder / f"{name}.csv")
    codebook(study).write_csv(folder / "codebook.csv")
    (folder / "study.toml").write_text(study.file, encoding="utf-8")
    return folder


def codebook(study: UserStudy) -> pl.DataFrame:
    """Return what each column of the tables and each question means."""
    language = study.languages[0]
    rows = [
        (table, name, meaning, str(kind))
        for table, columns in COLUMNS.items()
        for name, (kind, meaning) in columns.items()
    ]
    for question in study.all_questions:
        values = {
            "scale": " to ".join(
                f"{point} ({end})" if (end := study.words(text, language)) else f"{point}"
                for point, text in ((1, question.low), (question.points, question.high))
            ),
            "choice": "; ".join(
                f"{n} {study.words(text, language)}" for n, text in enumerate(question.choices, 1)
            ),
            "number": "a number",
            "text": "a text",
        }[question.kind]
        values += f"; attention check, {question.check} is right" if question.check else ""
        values += "; counted from the other end" if question.reversed else ""
        text = study.words(question.text, language)
        rows.append(("answers", f"question {question.id}", text, values))
    for arm in study.arms:
        parts = ("match", "profile", "statements", "presses", "words")
        shown = [name for name in parts if getattr(arm, name)]
        shown += [f"reasons: {', '.join(arm.parts)}"] if arm.parts else []
        rows.append(("sessions", f"arm {arm.name}", f"model {arm.model}", "; ".join(shown)))
    for task in study.tasks:
        rows.append(("sessions", f"task {task.id}", study.words(task.text, language), ""))
    return pl.DataFrame(rows, schema=["table", "name", "meaning", "values"], orient="row")


@dataclass(frozen=True)
class _Reader:
    """Makes the rows of one person."""

    study: UserStudy
    row: Mapping[str, Any]
    person: str
    with_texts: bool

    def read(
        self,
        own: Mapping[str, list[Row]],
        actions: Mapping[str, list[Row]],
        found: dict[str, list[Row]],
    ) -> None:
        """Add the person's rows to the tables."""
        log, steps = own["log"], self.study.steps(self.row["arm_order"])
        found["people"].append(self._person_row(log, len(steps)))
        found["answers"] += [
            self._at(steps[row["step"]], row["at"]) | self._answer(row, steps[row["step"]])
            for row in own["answers"]
        ]
        n_lists = 0
        for row in log:
            at = self._at(steps[row["step"]], row["at"])
            found["events"].append(at | {"kind": row["kind"], "data": _json(self._event(row))})
            if row["kind"] == "shown":
                n_lists += 1
                found["exposures"] += [
                    {**at, "list": n_lists, "rank": rank, "item": str(item["item"])}
                    | {"score": item["score"], "match": item.get("match")}
                    | {"reasons": _json(item["reasons"]) if "reasons" in item else None}
                    for rank, item in enumerate(row["data"]["items"], 1)
                ]
        for session in own["sessions"]:
            acted = actions[session["person_id"]]
            arm = Step("task", session["position"], session["arm"])
            found["events"] += [
                self._at(arm, row["at"]) | {"kind": row["kind"], "data": _json(row["data"])}
                for row in acted
            ]
            found["sessions"].append(self._session(session, log, steps, acted))

    def _person_row(self, log: list[Row], n_steps: int) -> Row:
        row = self.row
        checks = [ok for each in log for ok in each["data"].get("checks", {}).values()]
        last = row["finished_at"] or max((each["at"] for each in log), default=row["created_at"])
        return {
            **{name: row[name] for name in ("mode", "place", "language", "consent")},
            "person": self.person,
            "order": " > ".join(self.study.orders[row["arm_order"]]),
            "day": row["created_at"].date(),
            "is_finished": row["finished_at"] is not None,
            "last_page": min(row["step"] + 1, n_steps),
            "checks": len(checks),
            "checks_failed": checks.count(False),
            "seconds": self._seconds(last),
        }

    def _session(self, session: Row, log: list[Row], steps: list[Step], acted: list[Row]) -> Row:
        """Return one arm of the person: how long it took, what was done in it."""
        places = (n for n, s in enumerate(steps) if s.position == session["position"])
        tasks = [n for n in places if steps[n].kind == "task"]
        own = [row for row in log if row["step"] in tasks]
        kinds = Counter(row["kind"] for row in own)
        is_finished = kinds["done"] == len(tasks)
        return {
            "person": self.person,
            "position": session["position"],
            "arm": session["arm"],
            "is_finished": is_finished,
            "seconds": self._task_seconds(log, tasks) if is_finished else None,
            "looks": float(kinds["look"]),
            "presses": float(sum(_presses(row["kind"], row["data"]) for row in acted)),
            "chosen_rank": _chosen_rank(own),
            "lists": kinds["shown"],
            "words": kinds["words"],
        }

    def _task_seconds(self, log: list[Row], tasks: list[int]) -> float:
        """Return the time between coming to each task and going on from it."""
        left = {row["step"]: row["at"] for row in log if row["kind"] == "done"}
        picked = [row["at"] for row in log if row["kind"] == "pick"]
        began = max(picked, default=self.row["created_at"])
        spans = [(left[n] - left.get(n - 1, began)).total_seconds() for n in tasks]
        return round(float(sum(spans)), 3)

    def _event(self, row: Row) -> Row:
        """Return what belongs to an event, without lists, hashes, and texts unless asked for."""
        kept = {"shown": ("statements",), "consent": ()}.get(row["kind"], tuple(row["data"]))
        hidden = () if self.with_texts else ("text",)
        return {k: v for k, v in row["data"].items() if k in kept and k not in hidden}

    def _answer(self, row: Row, step: Step) -> Row:
        question = next(q for q in self.study.asked_at(step) if q.id == row["question"])
        is_text = question.kind == "text"
        value = None if is_text or row["value"] is None else float(row["value"])
        scored = question.points + 1 - value if question.reversed and value else value
        return {
            "question": question.id,
            "outcome": question.outcome,
            "value": value,
            "scored": scored,
            "text": row["value"] if is_text and self.with_texts else None,
        }

    def _at(self, step: Step, at: datetime) -> Row:
        """Return where and when something was."""
        where = {"position": step.position, "arm": step.arm, "task": step.task}
        return {"person": self.person, **where, "seconds": self._seconds(at)}

    def _seconds(self, at: datetime) -> float:
        """Return seconds since consent: clock times could be matched with other logs."""
        return round(float((at - self.row["created_at"]).total_seconds()), 3)


def _presses(kind: str, data: Mapping[str, Any]) -> int:
    """Return how many presses an action has."""
    if kind == "several":
        return sum(_presses(inner, own) for inner, own in data["actions"])
    return sum(map(abs, data["presses"].values())) if kind == "press" else 0


def _chosen_rank(own: list[Row]) -> float | None:
    """Return the mean rank of what was chosen, in the list that was seen last before it."""
    ranks: dict[Any, int] = {}
    chosen: dict[Any, int] = {}
    for row in own:
        if row["kind"] == "shown":
            items = [item["item"] for item in row["data"]["items"]]
            ranks = {item: rank for rank, item in enumerate(items, 1)}
        elif row["kind"] == "choose" and row["data"]["item"] in ranks:
            chosen[row["data"]["item"]] = ranks[row["data"]["item"]]
        elif row["kind"] == "unchoose":
            chosen.pop(row["data"]["item"], None)
    return sum(chosen.values()) / len(chosen) if chosen else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

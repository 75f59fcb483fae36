"""What a study found, as tidy tables: people, sessions, exposures, events, answers; a codebook."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from teaser.userstudy.plan import MEASURED, Question, Step, UserStudy
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
        name, own = people.public_id(row["id"]), by_person[row["id"]]
        _add_person(found, study, name, row, own, actions, with_texts=with_texts)
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


def _add_person(
    found: Mapping[str, list[Row]],
    study: UserStudy,
    name: str,
    person: Row,
    own: Mapping[str, list[Row]],
    actions: Mapping[str, list[Row]],
    *,
    with_texts: bool,
) -> None:
    """Add the rows of one person to the tables."""
    log, steps, began = own["log"], study.steps(person["arm_order"]), person["created_at"]

    def seconds(at: datetime) -> float:
        """Return seconds since consent: clock times could be matched with other logs."""
        return round(float((at - began).total_seconds()), 3)

    def at(row: Row, step: Step) -> Row:
        where = {"position": step.position, "arm": step.arm, "task": step.task}
        return {"person": name, **where, "seconds": seconds(row["at"])}

    checks = list[bool]()
    for row in own["answers"]:
        step = steps[row["step"]]
        question = next(q for q in study.asked_at(step) if q.id == row["question"])
        found["answers"].append(at(row, step) | _answer(question, row["value"], with_texts))
        checks += [] if question.check is None else [row["value"] == question.check]
    last = person["finished_at"] or max((row["at"] for row in log), default=began)
    found["people"].append(
        {
            **{key: person[key] for key in ("mode", "place", "language", "consent")},
            "person": name,
            "order": " > ".join(study.orders[person["arm_order"]]),
            "day": began.date(),
            "is_finished": person["finished_at"] is not None,
            "last_page": person["step"] + 1,
            "checks": len(checks),
            "checks_failed": checks.count(False),
            "seconds": seconds(last),
        }
    )
    lists = count(1)
    for row in log:
        here = at(row, steps[row["step"]])
        kept = ("statements",) if row["kind"] == "shown" else tuple(row["data"])
        told = {key: x for key, x in row["data"].items() if key in kept}
        if not with_texts:
            told.pop("text", None)
        found["events"].append({**here, "kind": row["kind"], "data": _json(told)})
        if row["kind"] == "shown":
            here["list"] = next(lists)
            found["exposures"] += [
                {**here, "rank": rank, "item": str(item["item"]), "score": item["score"]}
                | {"match": item.get("match")}
                | {"reasons": _json(item["reasons"]) if "reasons" in item else None}
                for rank, item in enumerate(row["data"]["items"], 1)
            ]
    picked = max((row["at"] for row in log if row["kind"] == "pick"), default=began)
    left = {row["step"]: row["at"] for row in log if row["kind"] == "done"}
    for session in own["sessions"]:
        acted, place = actions[session["person_id"]], session["position"]
        arm = Step("task", place, session["arm"])
        found["events"] += [
            at(row, arm) | {"kind": row["kind"], "data": _json(row["data"])} for row in acted
        ]
        tasks = [n for n, s in enumerate(steps) if s.position == place and s.kind == "task"]
        mine = [row for row in log if row["step"] in tasks]
        kinds = Counter(row["kind"] for row in mine)
        is_finished = kinds["done"] == len(tasks)
        # Between coming to each task and going on from it.
        spans = (left[n] - left.get(n - 1, picked) for n in tasks if is_finished)
        found["sessions"].append(
            {
                "person": name,
                "position": place,
                "arm": session["arm"],
                "is_finished": is_finished,
                "seconds": round(sum(span.total_seconds() for span in spans), 3)
                if is_finished
                else None,
                "looks": float(kinds["look"]),
                "presses": float(sum(_presses(row["kind"], row["data"]) for row in acted)),
                "chosen_rank": _chosen_rank(mine),
                "lists": kinds["shown"],
                "words": kinds["words"],
            }
        )


def _answer(question: Question, given: Any, with_texts: bool) -> Row:
    is_text = question.kind == "text"
    value = None if is_text or given is None else float(given)
    scored = question.points + 1 - value if question.reversed and value else value
    return {
        "question": question.id,
        "outcome": question.outcome,
        "value": value,
        "scored": scored,
        "text": given if is_text and with_texts else None,
    }


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

"""The file of a user study: arms, design, tasks, questions; what each person goes through."""

import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from teaser import artifact
from teaser.app.i18n.texts import LANGUAGES
from teaser.app.pages.cards import REASON_PARTS
from teaser.app.settings import Settings
from teaser.errors import ParameterError, closest
from teaser.evaluate.study.plan import Strict, named_tables, plan_file, validate

# A text in one language, or in each language of the study: { en = "...", nl = "..." }.
Words = str | Mapping[str, str]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")]
Count = Annotated[int, Field(ge=0)]
# Numbers in answers are from -LARGEST to LARGEST where a question says nothing else.
LARGEST = 1e9
Share = Annotated[float, Field(ge=0, le=1)]
# Settings of the site that change one arm's list; all others are the same for the whole study.
ARM_SETTINGS = ("boost", "time_zone", "interpreter", "synonyms")
# Settings that the command line gives, or that another part of the study decides.
_OWN_SETTINGS = ("model", "database_url", "host", "port", "learn", "mcp", *ARM_SETTINGS)
# What is measured without asking: outcomes beside the answers.
MEASURED = {
    "seconds": "seconds in the tasks of the arm",
    "looks": "items that were opened",
    "presses": "presses on tags",
    "chosen_rank": "mean place in the list of what was chosen",
}


@dataclass(frozen=True)
class Arm(Strict):
    """One version of the list: a model, and what is shown around it.

    Attributes
    ----------
    model
        The folder of a fitted model, beside the study's file.
    reasons
        Whether cards say why; or the parts that they tell: tags, viewed, general, site.
    match, profile, statements, presses, words
        Whether people see the match, their tags and what was learned in sentences, and whether
        they can press tags and say what they want in words.
    length, variety, balance
        The number of items, and the settings of the list at the beginning.
    settings
        Settings of the site that change this list: boost, time_zone, interpreter, synonyms.
    """

    name: Name
    model: str
    reasons: bool | tuple[str, ...] = True
    match: bool = True
    profile: bool = True
    statements: bool = True
    presses: bool = True
    words: bool = False
    length: Annotated[int, Field(ge=1, le=60)] = 12
    variety: Share = 0.0
    balance: Share | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of reasons that are shown."""
        if isinstance(self.reasons, bool):
            return REASON_PARTS if self.reasons else ()
        return self.reasons


@dataclass(frozen=True)
class Question(Strict):
    """A question: a scale of 5 or 7 points, a choice, a number or a text.

    `scale` names the outcome that it belongs to, of which the answers are averaged; a `reversed`
    one counts from the other end. `check` is the answer that shows attention.
    """

    id: Name
    text: Words
    kind: Literal["scale", "choice", "number", "text"] = "scale"
    points: Literal[5, 7] = 7
    low: Words = ""
    high: Words = ""
    choices: tuple[Words, ...] = ()
    least: float = -LARGEST
    most: float = LARGEST
    required: bool = True
    check: int | None = None
    scale: str = ""
    reversed: bool = False

    @property
    def outcome(self) -> str:
        """The outcome that the answer counts for; empty for a choice, a text, a check."""
        is_measure = self.kind in ("scale", "number") and self.check is None
        return (self.scale or self.id) if is_measure else ""


@dataclass(frozen=True)
class Questions(Strict):
    """Questions after each task, after each arm and at the end; `sets` go after each arm."""

    sets: tuple[str, ...] = ()
    task: tuple[Question, ...] = ()
    arm: tuple[Question, ...] = ()
    end: tuple[Question, ...] = ()


@dataclass(frozen=True)
class Task(Strict):
    """What people do with a list: choose some items, look at some, stay for some seconds."""

    id: Name
    text: Words
    choose: Count = 0
    min_seconds: Annotated[float, Field(ge=0, le=3_600)] = 0
    min_looks: Count = 0


@dataclass(frozen=True)
class Consent(Strict):
    """What people agree to; the version is stored with each of them."""

    version: Annotated[str, Field(min_length=1, max_length=40)]
    text: Words


@dataclass(frozen=True)
class Finish(Strict):
    """The last page: a text, and the code and link that a recruiting service asks for."""

    text: Words = ""
    code: str = ""
    link: Annotated[str, Field(pattern="^(https://.*)?$")] = ""


@dataclass(frozen=True)
class Analysis(Strict):
    """What was planned: the primary outcomes, the arm that others are compared with, alpha."""

    primary: tuple[str, ...] = ()
    compare: str = ""
    alpha: Annotated[float, Field(ge=0.0001, le=0.5)] = 0.05


@dataclass(frozen=True)
class Step:
    """One page of a person's way; `position` counts arms from 1 and is 0 outside of them."""

    kind: Literal["instructions", "start", "task", "questions", "thanks"]
    position: int = 0
    arm: str = ""
    task: str = ""


@dataclass(frozen=True)
class UserStudy(Strict):
    """A study with people; `teaser study new` writes a commented file.

    Attributes
    ----------
    design
        `"between"`: each person sees one arm. `"within"`: each sees all, in an order of a
        balanced Latin square, in which each arm follows each other one equally often.
    people
        The number of people of the plan.
    picks
        How many items a person picks first, from which all arms know them.
    abandon_after
        Minutes without a sign after which a person's place is given to the next one.
    ends
        The last day on which people can begin, as 2027-01-31.
    recruited
        Whether only people with the parameters of a recruiting service can begin.
    settings
        Settings of the site: name, accent, logo, rate and so on.
    """

    name: Name
    title: Words
    arms: Annotated[tuple[Arm, ...], Field(min_length=1)]
    tasks: Annotated[tuple[Task, ...], Field(min_length=1)]
    consent: Consent
    people: Annotated[int, Field(ge=1, le=1_000_000)]
    instructions: Words = ""
    design: Literal["between", "within"] = "within"
    languages: Annotated[tuple[str, ...], Field(min_length=1)] = ("en",)
    questions: Questions = Questions()
    finish: Finish = Finish()
    analysis: Analysis = Analysis()
    seed: Count = 0
    picks: Annotated[int, Field(ge=0, le=20)] = 3
    abandon_after: Annotated[float, Field(ge=1)] = 60.0
    ends: date | None = None
    recruited: bool = False
    contact: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    folder: str = "."
    file: str = ""

    @classmethod
    def read(cls, path: str | Path) -> "UserStudy":
        """Read and check a file; the models are not looked at.

        Raises
        ------
        ParameterError
            With the first thing that is wrong.
        """
        path = Path(path)
        with plan_file(path) as (given, text):
            for name in given.keys() & {"folder", "file"}:
                raise ParameterError(f"It has no entry {name!r}. Leave it out.")
            own = {"name": path.stem, "title": path.stem, "folder": str(path.parent), "file": text}
            study = validate(cls, {**own, **given, "arms": named_tables(given, "arms")})
            _check(study)
        return study

    @cached_property
    def by_arm(self) -> dict[str, Arm]:
        """The arms by name."""
        return {arm.name: arm for arm in self.arms}

    @cached_property
    def by_task(self) -> dict[str, Task]:
        """The tasks by id."""
        return {task.id: task for task in self.tasks}

    @property
    def baseline(self) -> str:
        """The arm that others are compared with."""
        return self.analysis.compare or self.arms[0].name

    @cached_property
    def arm_questions(self) -> tuple[Question, ...]:
        """The questions after each arm, those of our own sets first."""
        sets = [q for name in self.questions.sets for q in question_sets()[name]]
        return (*sets, *self.questions.arm)

    @cached_property
    def orders(self) -> list[tuple[str, ...]]:
        """The orders of arms that people are spread over evenly."""
        names = [arm.name for arm in self.arms]
        if self.design == "between":
            return [(name,) for name in names]
        return [tuple(names[i] for i in row) for row in latin_square(len(names))]

    def steps(self, order: int) -> list[Step]:
        """Return the pages of a person with this order, after consent."""
        found = [Step("instructions"), *([Step("start")] if self.picks else [])]
        for position, arm in enumerate(self.orders[order], 1):
            for task in self.tasks:
                found.append(Step("task", position, arm, task.id))
                if self.questions.task:
                    found.append(Step("questions", position, arm, task.id))
            if self.arm_questions:
                found.append(Step("questions", position, arm))
        if self.questions.end:
            found.append(Step("questions"))
        return [*found, Step("thanks")]

    def asked_at(self, step: Step) -> tuple[Question, ...]:
        """Return the questions of a page."""
        if step.kind != "questions":
            return ()
        if step.task:
            return self.questions.task
        return self.arm_questions if step.arm else self.questions.end

    @property
    def all_questions(self) -> tuple[Question, ...]:
        """Every question, in the order of the pages."""
        return (*self.questions.task, *self.arm_questions, *self.questions.end)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """What each arm is measured by: answers and scales, then what needs no question."""
        asked = [q.outcome for q in (*self.questions.task, *self.arm_questions) if q.outcome]
        return tuple(dict.fromkeys((*asked, *MEASURED)))

    @property
    def outcomes(self) -> tuple[str, ...]:
        """All outcomes: those named as primary first, then the other ones."""
        return tuple(dict.fromkeys((*self.analysis.primary, *self.measures)))

    def words(self, text: Words, language: str) -> str:
        """Return a text of the study in a language."""
        return text if isinstance(text, str) else text[language]

    def model_folder(self, arm: Arm) -> Path:
        """Return the folder of an arm's model."""
        return Path(self.folder) / arm.model

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of the file and of each arm's model.

        The manifest of a model has the checksums of all its files.

        Raises
        ------
        ArtifactError
            If a folder has no model.
        """
        found = {"file": _hash(self.file.encode())}
        for arm in self.arms:
            folder = self.model_folder(arm)
            artifact.read_manifest(folder)
            found[f"model of arm {arm.name}"] = _hash((folder / artifact.MANIFEST).read_bytes())
        return found

    def has_ended(self, today: date) -> bool:
        """Return whether nobody can begin any more."""
        return self.ends is not None and today > self.ends

    def site_settings(self, **given: Any) -> Settings:
        """Return the settings of the site that serves the study."""
        return Settings.from_environment(
            **{
                "model": self.model_folder(self.arms[0]),
                "mcp": False,
                "store_timeout": 10.0,  # to turn a person away costs more than to let them wait
                **self.settings,
                **given,
            }
        )

    def arm_settings(self, arm: Arm) -> Settings:
        """Return the settings of the site with which an arm's list is made."""
        return Settings(model=self.model_folder(arm), **arm.settings)


def new_study() -> str:
    """Return the commented study that `teaser study new` writes."""
    return (resources.files("teaser.userstudy") / "study.toml").read_text(encoding="utf-8")


def question_sets() -> dict[str, tuple[Question, ...]]:
    """Return our own questions by set, each a scale of 7 points."""
    text = (resources.files("teaser.userstudy") / "questions.toml").read_text(encoding="utf-8")
    given = tomllib.loads(text)
    ends = given.pop("ends")

    def question(name: str, number: int, each: dict[str, Any]) -> Question:
        text, is_reversed = {code: each[code] for code in LANGUAGES}, each.get("reversed", False)
        return Question(f"{name}_{number}", text, **ends, scale=name, reversed=is_reversed)

    return {
        name: tuple(question(name, n, each) for n, each in enumerate(found, 1))
        for name, found in given.items()
    }


def latin_square(n: int) -> list[tuple[int, ...]]:
    """Return the rows of a balanced Latin square, after Williams (1949).

    Each number stands in each place equally often, and follows each other number equally often.
    There are n rows, or 2n where n is odd.
    """
    first = [0]
    for i in range(1, n):
        first.append((i + 1) // 2 if i % 2 else n - i // 2)
    rows = [tuple((x + i) % n for x in first) for i in range(n)]
    return rows if n % 2 == 0 else rows + [row[::-1] for row in rows] if n > 1 else rows


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _check(study: UserStudy) -> None:
    """Check what the types cannot say."""
    known = [name for name in Settings.model_fields if name not in _OWN_SETTINGS]
    _known("[settings]", study.settings, known)
    _known("languages", study.languages, LANGUAGES)
    _known("[questions] sets", study.questions.sets, question_sets())
    _known("[analysis] primary", study.analysis.primary, study.measures)
    _known("[analysis] compare", [study.baseline], study.by_arm)
    for arm in study.arms:
        _known(f"[arms.{arm.name}] settings", arm.settings, ARM_SETTINGS)
        _known(f"[arms.{arm.name}] reasons", arm.parts, REASON_PARTS)
        if arm.presses and not ("tags" in arm.parts or arm.profile or arm.statements):
            raise ParameterError(
                f"[arms.{arm.name}] has presses and shows no tags to press. Show reasons, profile "
                "or statements, or write presses = false."
            )
    shortest = min(arm.length for arm in study.arms)
    for task in study.tasks:
        if max(task.choose, task.min_looks) > shortest:
            raise ParameterError(
                f"[tasks] {task.id} asks for {max(task.choose, task.min_looks)} items, and the "
                f"shortest list has {shortest}."
            )
    for what, each in (("task", study.tasks), ("question", study.all_questions)):
        for name, n in Counter(one.id for one in each).items():
            if n > 1:
                raise ParameterError(f"Two {what}s have the id {name!r}. Give each its own.")
    _check_texts(study)
    for question in study.all_questions:
        _check_question(question)


def _check_texts(study: UserStudy) -> None:
    """Every text must be there in each language of the study."""
    for where, text in texts_of(study):
        if isinstance(text, str):
            if not text.strip():
                raise ParameterError(f"{where} is empty. Write what people read there.")
            if len(study.languages) > 1:
                raise ParameterError(
                    f"{where} is in one language, and the study has {len(study.languages)}. Write "
                    f"a text for each: {{ {', '.join(f'{c} = ...' for c in study.languages)} }}."
                )
            continue
        missing = [code for code in study.languages if not text.get(code)]
        if missing:
            raise ParameterError(f"{where} lacks a text in {', '.join(missing)}.")


def texts_of(value: Any, where: str = "") -> Iterator[tuple[str, Words]]:
    """Yield every text that people read, with the place where it stands in the file.

    Texts that may be left out, and are, are not among them.
    """
    for each in fields(value):
        found, place = getattr(value, each.name), f"{where} {each.name}".strip()
        if each.type == Words and found != each.default:
            yield place, found
        elif each.name == "choices":
            yield from ((place, choice) for choice in found)
        elif isinstance(found, tuple) and each.name in ("tasks", "task", "arm", "end"):
            for inner in found:
                yield from texts_of(inner, f"{place} {inner.id}")
        elif each.name in ("consent", "questions", "finish"):
            yield from texts_of(found, f"[{place}]")


def _check_question(question: Question) -> None:
    where = f"The question {question.id!r}"
    if (question.kind == "choice") != (len(question.choices) > 1):
        raise ParameterError(f"{where} needs two choices or more if and only if it is a choice.")
    if question.outcome in MEASURED:
        raise ParameterError(
            f"{where} counts for {question.outcome!r}, which is measured without asking. Take "
            f"another name than {', '.join(MEASURED)}."
        )
    low, high = question.least, question.most
    if low > high:
        raise ParameterError(f"{where} has least = {low:g} above most = {high:g}.")
    n_answers = {"scale": question.points, "choice": len(question.choices)}.get(question.kind, 0)
    if question.check is not None and not 1 <= question.check <= n_answers:
        raise ParameterError(
            f"{where} is an attention check: it must be a scale or a choice, and check the number "
            f"of its right answer; found {question.check} of {n_answers}."
        )


def _known(where: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raise `ParameterError` unless all names are known."""
    allowed = list(known)
    for name in names:
        if name not in allowed:
            raise ParameterError(
                f"{where} names {name!r}, which is not known. Known: {', '.join(allowed)}."
                f"{closest(name, allowed)}"
            )

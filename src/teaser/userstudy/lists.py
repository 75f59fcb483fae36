"""The list of an arm: what a person sees of it, what the log keeps of that, and its replay."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.i18n.texts import Texts, texts_in
from teaser.app.models import ModelHolder
from teaser.app.pages.cards import CardView, ReasonRow, card_views, narrowed, reason_rows
from teaser.app.pages.describe import FilterChip, filter_chips
from teaser.app.pages.profile import ProfileView, TagRow, brief, profile_view
from teaser.app.state import Event, state_of
from teaser.data.matrix import ItemId
from teaser.errors import ParameterError
from teaser.explain import Reason, ViewedReason
from teaser.profile import GENERAL, NOT_STATED
from teaser.recommend import Recommendation
from teaser.steer import Statement
from teaser.userstudy.plan import Arm, UserStudy
from teaser.userstudy.store import StudyStore

# Numbers of another machine may differ in the last digits.
_CLOSE = {"rel_tol": 1e-6, "abs_tol": 1e-9}


class StudyCatalogue(Catalogue):
    """A catalogue whose day can be set, so that a list of an earlier day can be made again."""

    day: date | None = None

    @property
    def today(self) -> date:
        """The day that was set, or the present one."""
        return self.day or super().today


def open_catalogues(study: UserStudy) -> dict[str, StudyCatalogue]:
    """Load the models of all arms; arms of one folder share its model.

    Raises
    ------
    ParameterError
        If people pick items first, and a model does not have the same items as another one.
    """
    found: dict[str, StudyCatalogue] = {}
    models: dict[Any, Any] = {}
    for arm in study.arms:
        settings = study.arm_settings(arm)
        folder = settings.model.resolve()
        if folder not in models:
            models[folder] = ModelHolder(settings).current.model
        found[arm.name] = StudyCatalogue(models[folder], settings.boosts, zone=settings.zone)
        first = study.arms[0].name
        n = len(set(found[first].model.items_) ^ set(found[arm.name].model.items_))
        if n and study.picks:
            raise ParameterError(
                f"The models of the arms {first!r} and {arm.name!r} do not have the same items "
                f"({n:,} in one alone), and all arms must know what people pick first. Fit them on "
                "the same items, or write picks = 0."
            )
    return found


def untranslated(study: UserStudy, catalogues: Mapping[str, Catalogue], texts: Texts) -> list[str]:
    """Return a sentence for each arm whose model has no names of tags in a language."""
    said, english = [], texts_in("en")
    for name, catalogue in catalogues.items():
        declared = (tag for tags in catalogue.features.values() for tag in tags)
        tags = [tag for tag in declared if not tag.discovered and tag.value != NOT_STATED]
        if tags and all(texts.tag(tag) == english.tag(tag) for tag in tags):
            said.append(
                f"The model of the arm {name!r} has no names of tags in {texts.language!r}: people "
                "who read the study in this language see them as they stand in the data."
            )
    return said


def first_event(arm: Arm, picks: list[ItemId]) -> Event | None:
    """Return what an arm begins with: the picked items, and the settings of its list."""
    actions: list[list[Any]] = [["view", {"item": item}] for item in picks]
    actions += [["vary", {"variety": arm.variety}]] if arm.variety else []
    actions += [] if arm.balance is None else [["balance", {"balance": arm.balance}]]
    return Event("several", {"actions": actions}) if actions else None


@dataclass(frozen=True)
class ShownList:
    """The list of an arm for a person's state."""

    arm: Arm
    personal: PersonalModel

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The positions of the items."""
        return self.personal.rank(k=self.arm.length)

    @cached_property
    def whole(self) -> list[Recommendation]:
        """The items with all their reasons."""
        return list(self.personal.entries(self.places))

    @cached_property
    def entries(self) -> list[Recommendation]:
        """The items with the reasons that the arm shows."""
        return [narrowed(entry, self.arm.parts) for entry in self.whole]

    @cached_property
    def statements(self) -> list[Statement]:
        """What is said of the person beside the list."""
        found = brief(self.personal.statements) if self.arm.statements else []
        return [] if self.personal.is_new else found

    def record(self) -> dict[str, Any]:
        """Return what is shown, as the log keeps it: items, scores, reasons, statements."""
        state, catalogue = self.personal.state, self.personal.catalogue
        found: dict[str, Any] = {
            "arm": self.arm.name,
            "n_events": state.n_events,
            "today": catalogue.today.isoformat(),
            "items": [self._item(n, entry) for n, entry in enumerate(self.entries)],
        }
        if self.arm.statements:
            found["statements"] = [
                {"kind": s.kind, "leaning": s.leaning, "tags": [str(tag) for tag in s.tags]}
                for s in self.statements
            ]
        return found

    def _item(self, n: int, entry: Recommendation) -> dict[str, Any]:
        found: dict[str, Any] = {"item": entry.item_id, "score": float(entry.score)}
        if self.arm.match:
            found["match"] = float(entry.match)
        if self.arm.parts and not self.personal.is_new:
            found["reasons"] = [_reason(reason) for reason in entry.reasons]
            if "general" in self.arm.parts:
                found["general"] = float(entry.general_share)
        if "site" in self.arm.parts:
            place = int(self.places[n])
            boosts = self.personal.catalogue.placed.boosts_of(place)
            found |= {"site": [[str(name), float(x)] for name, x in boosts]} if boosts else {}
        return found

    def cards(self, texts: Texts, moves: Mapping[ItemId, int | str] | None) -> list[CardView]:
        """Return the cards of the page."""
        return card_views(self.personal, self.places, texts, moves, parts=self.arm.parts)

    def reasons(self, texts: Texts) -> dict[ItemId, list[ReasonRow]]:
        """Return the reasons of each item as rows with shares, where the arm shows reasons."""
        if not self.arm.parts or self.personal.is_new:
            return {}
        return {
            entry.item_id: [
                row
                for row in reason_rows(entry, self.personal, texts)
                if _part(row) in self.arm.parts
            ]
            for entry in self.whole
        }

    def chips(self, texts: Texts) -> list[FilterChip]:
        """Return the filters that were asked for in words, each of which can be taken off."""
        catalogue = self.personal.catalogue
        return filter_chips(self.personal.state.filters, catalogue, texts)

    def profile(self, texts: Texts) -> ProfileView | None:
        """Return what stands beside the list; None if the arm shows nothing there."""
        if not (self.arm.profile or self.arm.statements):
            return None
        found = profile_view(self.personal, texts, is_brief=True)
        said = found.statements if self.arm.statements else []
        return replace(
            found,
            # Without presses to take a statement back there is no button for it.
            statements=said if self.arm.presses else [replace(each, denial={}) for each in said],
            strongest=found.strongest if self.arm.profile else [],
        )


def replay(people: StudyStore) -> tuple[int, list[str]]:
    """Make every shown list of a study again, and compare items, scores, reasons, statements.

    Returns
    -------
    n_lists, differences
        How many lists were made again, and each way in which one differs from what was shown.

    Raises
    ------
    ParameterError
        If somebody saw another version of the file or of a model than the present one.
    """
    study, rows = people.study, people.rows()
    n_lists, found = 0, list[str]()
    catalogues = open_catalogues(study)
    persons = {(row["participant_id"], row["arm"]): row["person_id"] for row in rows["sessions"]}
    actions: dict[str, list[Event]] = defaultdict(list)
    for row in rows["actions"]:
        actions[row["person_id"]].append(Event(row["kind"], row["data"]))
    for row in rows["participants"]:
        if row["hashes"] != people.hashes:
            raise ParameterError(
                f"The person {people.public_id(row['id'])} saw another version of the study or of "
                "a model than the present one, so the lists cannot be made again. Bring that one "
                "back."
            )
    for row in rows["log"]:
        if row["kind"] != "shown":
            continue
        shown = row["data"]
        arm, catalogue = study.by_arm[shown["arm"]], catalogues[shown["arm"]]
        catalogue.day = date.fromisoformat(shown["today"])
        done = actions[persons[row["participant_id"], arm.name]][: shown["n_events"]]
        made = ShownList(arm, PersonalModel(catalogue, state_of(done, row["at"]))).record()
        n_lists += 1
        where = f"{people.public_id(row['participant_id'])}, page {row['step'] + 1}"
        found += [f"{where}: {each}" for each in differences(shown, made)]
    return n_lists, found


def differences(shown: Any, made: Any, path: str = "list") -> list[str]:
    """Return in what two records of a list differ; numbers count as equal to six digits."""
    if isinstance(shown, Mapping) and isinstance(made, Mapping):
        names = dict.fromkeys((*shown, *made))
        return [x for n in names for x in differences(shown.get(n), made.get(n), f"{path}.{n}")]
    if isinstance(shown, list) and isinstance(made, list) and len(shown) == len(made):
        pairs = enumerate(zip(shown, made, strict=True), 1)
        return [x for n, pair in pairs for x in differences(*pair, f"{path}[{n}]")]
    if isinstance(shown, float) and isinstance(made, float | int):
        is_same = math.isclose(shown, made, **_CLOSE)
    else:
        is_same = shown == made
    return [] if is_same else [f"{path}: {shown!r} was shown, {made!r} is found"]


def _part(row: ReasonRow) -> str:
    """Return the part of reasons that a row belongs to."""
    if isinstance(row.row, TagRow):
        return "general" if row.row.tag == GENERAL else "tags"
    return "site" if row.row.kind == "boost" else "viewed"


def _reason(reason: Any) -> dict[str, Any]:
    name: dict[str, Any] = {"tag": str(reason.tag)} if isinstance(reason, Reason) else {}
    name |= {"item": reason.item_id} if isinstance(reason, ViewedReason) else {}
    numbers = {"contribution": float(reason.contribution), "share": float(reason.share)}
    return {"kind": reason.kind, **name, **numbers}

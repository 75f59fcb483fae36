"""Every list that was shown, made again from the model and the person's actions, and compared."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date

from teaser.app.catalogue import PersonalModel
from teaser.app.state import Event, state_of
from teaser.errors import ParameterError
from teaser.userstudy.lists import ShownList, differences, open_catalogues
from teaser.userstudy.store import StudyStore


@dataclass
class Replay:
    """How many lists were made again, and each way in which one differs from what was shown."""

    n_lists: int = 0
    differences: list[str] = field(default_factory=list)


def replay(people: StudyStore) -> Replay:
    """Make every shown list of a study again, and compare items, scores, reasons, statements.

    Raises
    ------
    ParameterError
        If somebody saw another version of the file or of a model than the present one.
    """
    study, rows, found = people.study, people.rows(), Replay()
    catalogues = open_catalogues(study)
    persons = {(row["participant_id"], row["arm"]): row["person_id"] for row in rows["sessions"]}
    actions: dict[str, list[Event]] = defaultdict(list)
    for row in rows["actions"]:
        actions[row["person_id"]].append(Event(row["kind"], row["data"]))
    names = {row["id"]: people.public_id(row["id"]) for row in rows["participants"]}
    for row in rows["participants"]:
        if row["hashes"] != people.hashes:
            raise ParameterError(
                f"The person {names[row['id']]} saw another version of the study or of a model "
                "than the present one, so the lists cannot be made again. Bring that one back."
            )
    for row in rows["log"]:
        if row["kind"] != "shown":
            continue
        shown = {name: value for name, value in row["data"].items() if name != "language"}
        arm, catalogue = study.by_arm[shown["arm"]], catalogues[shown["arm"]]
        catalogue.day = date.fromisoformat(shown["today"])
        done = actions[persons[row["participant_id"], arm.name]][: shown["n_events"]]
        made = ShownList(arm, PersonalModel(catalogue, state_of(done, row["at"]))).record()
        found.n_lists += 1
        where = f"{names[row['participant_id']]}, page {row['step'] + 1}"
        found.differences += [f"{where}: {each}" for each in differences(shown, made)]
    return found

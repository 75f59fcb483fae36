"""What tools use: the served catalogue, and persons in a store where there is one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio.to_thread

from teaser.app.api.model_input import ModelInput
from teaser.app.database.threads import StoreThreads
from teaser.app.mcp.arguments import ME, Whose
from teaser.app.people.state import State
from teaser.app.people.store import Store
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.personal_model import PersonalModel
from teaser.app.settings import Settings
from teaser.errors import ParameterError

T = TypeVar("T")


@dataclass(frozen=True)
class People:
    """Persons in a store.

    Attributes
    ----------
    store
        Where their events are. Those whom the site knows by a cookie are never reached by an id.
    threads
        The threads for work that uses the store.
    own_id
        The person that `me` stands for; None on a server of many persons.
    """

    store: Store
    threads: StoreThreads
    own_id: str | None = None

    def find(self, name: str) -> tuple[Store, str]:
        """Return a person's store and id.

        Raises
        ------
        ParameterError
            If the name is `me` and this server has no person of its own.
        """
        if name != ME:
            return self.store.without_site, name
        if self.own_id is None:
            raise ParameterError(
                f"This server has no person {ME!r}: it serves many. Make a person with new_person, "
                "and give the person_id that it returns."
            )
        return self.store, self.own_id


@dataclass(frozen=True)
class Source:
    """What the tools of one server use.

    Attributes
    ----------
    catalogue
        Returns the catalogue being served; a call uses one until it ends.
    settings
        How requests in words are read, and whether the site learns from its visitors.
    people
        The persons; None where nothing is stored.
    """

    catalogue: Callable[[], Catalogue]
    settings: Settings
    people: People | None = None

    async def run(self, work: Callable[[], T], *, uses_store: bool) -> T:
        """Return what the work returns, done in a thread: the store's own for what uses it."""
        if uses_store and self.people is not None:
            return await self.people.threads.run(work)
        return await anyio.to_thread.run_sync(work)

    def find(self, name: str) -> tuple[Store, str]:
        """Return a person's store and id, or raise `ParameterError` where nothing is stored."""
        if self.people is None:
            raise ParameterError(
                "This server stores nothing. Leave person_id out, and give history and presses."
            )
        return self.people.find(name)

    def model_input(self, asked: Whose) -> ModelInput:
        """Return the input of the model: the state of a person, or what the caller keeps."""
        catalogue = self.catalogue()
        if asked.person_id is None:
            return ModelInput.of_request(catalogue, asked.taste())
        return input_of(self.state(asked, catalogue), catalogue)

    def state(self, asked: Whose, catalogue: Catalogue) -> State:
        """Return the state of a person, or what the caller keeps as one.

        Raises
        ------
        UnknownNameError
            If the catalogue does not have a name that the caller gave.
        """
        if asked.person_id is not None:
            store, person_id = self.find(asked.person_id)
            return store.state(person_id)
        # The profile refuses names that the model does not have; a state would keep them.
        ModelInput.of_request(catalogue, asked.taste()).profile()
        given = asked.history
        history = given if isinstance(given, dict) else dict.fromkeys(given, 1.0)
        return State(
            history=tuple(item for item, x in history.items() if x != 0),
            strengths={item: float(x) for item, x in history.items() if x not in (0, 1)},
            presses={str(tag): steps for tag, steps in asked.taste().net_presses().items()},
            about=tuple(asked.about),
        )


def input_of(state: State, catalogue: Catalogue) -> ModelInput:
    """Return the input of the model for a state."""
    return ModelInput.of_person(PersonalModel(catalogue, state), "robust")

"""Sources: whose state is used, and where work runs."""

import threading
from dataclasses import replace

import anyio
import pytest
from app.conftest import append

from teaser.app.mcp.arguments import ME, Whose
from teaser.app.mcp.source import People, Source
from teaser.app.people.events import Event
from teaser.errors import ParameterError, UnknownPersonError


def test_a_person_is_found_by_id(source: Source, people: People, person_id: str) -> None:
    append(people.store, person_id, Event("view", {"item": "i3"}))
    assert source.model_input(Whose(person_id=person_id)).history == ["i3"]


def test_a_visitor_of_the_site_is_never_found(source: Source, people: People) -> None:
    visitor, _ = people.store.create_person(with_token=True)
    with pytest.raises(UnknownPersonError):
        source.model_input(Whose(person_id=visitor))


def test_me_is_the_one_at_this_computer_if_there_is_one(source: Source, people: People) -> None:
    with pytest.raises(ParameterError, match="new_person"):
        source.find(ME)
    visitor, _ = people.store.create_person(with_token=True)
    own = replace(source, people=replace(people, own_id=visitor))
    assert own.find(ME) == (people.store, visitor)


def test_where_nothing_is_stored_there_are_no_persons(source: Source) -> None:
    with pytest.raises(ParameterError, match="stores nothing"):
        replace(source, people=None).find("a" * 43)


def test_what_the_caller_keeps_is_used_as_it_is(source: Source) -> None:
    given = source.model_input(Whose(history=["i0", "i2"]))
    assert (given.history, given.personal) == (["i0", "i2"], None)


def test_work_runs_in_a_thread_with_and_without_the_store(source: Source) -> None:
    here = threading.get_ident()
    for chosen in (source, replace(source, people=None)):
        for uses_store in (True, False):
            there = anyio.run(lambda: chosen.run(threading.get_ident, uses_store=uses_store))  # noqa: B023
            assert there != here

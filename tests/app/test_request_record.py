"""Parts of a request are measured once, also in threads and generators; outside, nothing is."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context

import pytest

from teaser.app.monitoring import (
    RequestRecord,
    begin_request,
    current_request,
    measured,
    measuring,
)


@measured("model")
def compute(depth: int = 0) -> int:
    return compute(depth - 1) + 1 if depth else 0


@measuring("store_read")
@contextmanager
def reading(word: str) -> Iterator[str]:
    yield word


def parts_of(record: RequestRecord) -> list[str]:
    return [part for part, _ in record.times]


def test_a_part_within_itself_is_measured_once() -> None:
    record = RequestRecord("a")

    def handle() -> None:
        begin_request(record)
        assert compute(3) == 3
        with reading("word") as found:
            assert found == "word"
            compute()

    copy_context().run(handle)
    assert parts_of(record) == ["model", "model", "store_read"]
    assert record.seconds("model", "store_read") == sum(seconds for _, seconds in record.times)
    assert record.seconds("store_write") == 0
    assert record.running == set()


def test_what_fails_is_measured_too() -> None:
    record = RequestRecord("a")

    def handle() -> None:
        begin_request(record)
        with pytest.raises(ZeroDivisionError), reading("word"):
            raise ZeroDivisionError

    copy_context().run(handle)
    assert parts_of(record) == ["store_read"]


def test_outside_of_a_request_nothing_happens() -> None:
    assert current_request() is None
    assert compute(2) == 2


def test_requests_at_once_are_told_apart_in_their_threads() -> None:
    records = [RequestRecord(str(number)) for number in range(8)]

    async def handle(record: RequestRecord) -> None:
        begin_request(record)
        await asyncio.gather(*(asyncio.to_thread(compute) for _ in range(3)))

    async def handle_all() -> None:
        await asyncio.gather(*(handle(record) for record in records))

    asyncio.run(handle_all())
    # Parts that run at once within one request count as one.
    assert all(1 <= len(record.times) <= 3 for record in records)


def test_a_part_may_end_in_another_context_than_it_began() -> None:
    record = RequestRecord("a")

    def rows() -> Iterator[int]:
        with reading("word"):
            yield from range(3)

    def begin() -> Iterator[int]:
        begin_request(record)
        return rows()

    context = copy_context()
    stream = context.run(begin)
    # A streamed answer asks for each piece in a new copy of the context.
    assert [context.copy().run(next, stream, None) for _ in range(4)] == [0, 1, 2, None]
    assert parts_of(record) == ["store_read"]

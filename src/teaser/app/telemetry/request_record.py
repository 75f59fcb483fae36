"""What is known of a request while it is handled: its id, the times of its parts, its span."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Literal, ParamSpec, TypeVar

from teaser.app.telemetry.traces import Span, Traces

Part = Literal["store_read", "store_write", "model"]
P = ParamSpec("P")
T = TypeVar("T")
PARTS: tuple[Part, ...] = ("store_read", "store_write", "model")


@dataclass
class RequestRecord:
    """One request, from its first byte to its answer.

    Attributes
    ----------
    request_id
        A random name of the request; it says nothing about who sent it.
    traces, span
        Where its spans go, and its own span; None where traces are off.
    times
        The parts that were measured, and their seconds.
    running
        The parts that are being measured now.
    late
        Takes the parts that end after the answer: a request does not wait for a store that hangs.
    """

    request_id: str
    traces: Traces | None = None
    span: Span | None = None
    times: list[tuple[Part, float]] = field(default_factory=list)
    running: set[Part] = field(default_factory=set)
    late: Callable[[Part, float], object] | None = None

    def seconds(self, *parts: Part) -> float:
        """Return the time that some parts took together."""
        return sum(seconds for part, seconds in self.times if part in parts)


_current: ContextVar[RequestRecord | None] = ContextVar("teaser_request", default=None)


def begin_request(record: RequestRecord) -> None:
    """Make a record the current one, for this task and the threads that it starts."""
    # It is not taken back: each request has a task of its own, and the server logs at its end.
    _current.set(record)


def current_request() -> RequestRecord | None:
    """Return the record of the request that is being handled; None outside of one."""
    return _current.get()


def measured(part: Part) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function: measure its calls as a part of the current request.

    A part within the same part is not measured again. Outside of a request nothing happens.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            record = _current.get()
            if record is None or part in record.running:
                return function(*args, **kwargs)
            measure = _begin_part(record, part)
            try:
                return function(*args, **kwargs)
            finally:
                _end_part(record, part, *measure)

        return call

    return decorate


@contextmanager
def _measuring(record: RequestRecord, part: Part) -> Iterator[None]:
    measure = _begin_part(record, part)
    try:
        yield
    finally:
        _end_part(record, part, *measure)


def _begin_part(record: RequestRecord, part: Part) -> tuple[Span | None, float]:
    """Return the span of a part, and when it begins."""
    record.running.add(part)
    traces, span = record.traces, record.span
    child = traces.begin_part(span, part) if traces is not None and span is not None else None
    return child, time.perf_counter()


def _end_part(record: RequestRecord, part: Part, child: Span | None, start: float) -> None:
    seconds = time.perf_counter() - start
    record.running.discard(part)
    if record.late is None:
        record.times.append((part, seconds))
    else:
        record.late(part, seconds)
    if child is not None:
        child.end()


def measuring(
    part: Part,
) -> Callable[[Callable[P, AbstractContextManager[T]]], Callable[P, AbstractContextManager[T]]]:
    """Decorate a function that opens a context: measure it from its opening to its close."""

    def decorate(
        function: Callable[P, AbstractContextManager[T]],
    ) -> Callable[P, AbstractContextManager[T]]:
        @wraps(function)
        @contextmanager
        def opened(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
            record = _current.get()
            if record is None or part in record.running:
                measures: AbstractContextManager[None] = nullcontext()
            else:
                measures = _measuring(record, part)
            with measures, function(*args, **kwargs) as found:
                yield found

        return opened

    return decorate

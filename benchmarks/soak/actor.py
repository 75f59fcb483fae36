"""What visitors and programs have in common: who they are, and what they were told."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from soak.client import Client
from soak.ledger import Comparison, Ledger
from soak.models import Models
from soak.records import Record

# How often a request is sent that has to be answered.
TRIES = 40


class Actor(ABC):
    """Somebody who uses the server, and remembers what was acknowledged.

    Parameters
    ----------
    number
        Of the actor; the seed of what they do.
    port
        Of the server.
    models
        Which items and tags there are.
    record
        Where answers are counted.
    pause
        The mean seconds between two actions; there are none in the warm-up.

    Attributes
    ----------
    ledgers
        What each person did that the actor made, by what names the person: a cookie or an id.
    """

    is_visitor: bool

    def __init__(
        self, number: int, port: int, models: Models, record: Record, pause: float
    ) -> None:
        self.rng = np.random.default_rng([number, self.is_visitor])
        self.client = Client(port, record, is_visitor=self.is_visitor)
        self.models, self.record, self.pause = models, record, pause
        self.ledgers: list[tuple[str, Ledger]] = []

    @abstractmethod
    def run(self, stop: threading.Event) -> None:
        """Act until asked to stop."""

    @abstractmethod
    def compared(self) -> Comparison:
        """Compare all that was acknowledged with what the server stored."""


@contextmanager
def at_work(actors: Sequence[Actor]) -> Iterator[None]:
    """Let all of them act, each in a thread, for as long as the block runs."""
    stop = threading.Event()
    threads = [threading.Thread(target=each.run, args=(stop,)) for each in actors]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()

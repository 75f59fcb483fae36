"""While a database hangs, one transaction at a time tries it, and the rest fail at once."""

import time
from pathlib import Path

import pytest

from teaser.app.database.breaker import Breaker
from teaser.app.database.database import Database
from teaser.app.database.deadline import StoreUse, seconds_left, using
from teaser.errors import ParameterError, StoreTimeoutError


def wait_long(breaker: Breaker) -> None:
    with breaker.limiting(1.0) as wait:
        wait.begin()
        time.sleep(0.02)
        raise StoreTimeoutError


def read_often(database: Database) -> None:
    for _ in range(5):  # each is answered at once
        with database.reading():
            time.sleep(0.1)


@pytest.fixture
def late() -> Breaker:
    """A breaker after a transaction that was late."""
    breaker = Breaker("reading", 0.01)
    assert not breaker.is_open
    with pytest.raises(StoreTimeoutError):
        wait_long(breaker)
    assert breaker.is_open
    return breaker


def test_one_at_a_time_tries_and_the_first_answer_closes_it(late: Breaker) -> None:
    with late.limiting(1.0):
        for _ in range(2):
            with pytest.raises(StoreTimeoutError, match="does not answer"), late.limiting(1.0):
                raise AssertionError("let through")
        assert late.is_open
        assert late.is_refusing
    assert not late.is_open
    assert not late.is_refusing
    with late.limiting(1.0), late.limiting(1.0):
        pass


def test_a_trial_that_is_late_leaves_it_open_for_the_next(late: Breaker) -> None:
    for _ in range(2):
        with pytest.raises(StoreTimeoutError), late.limiting(1.0):
            raise StoreTimeoutError
        assert late.is_open
        assert not late.is_refusing  # the next one tries
    with late.limiting(1.0):
        pass
    assert not late.is_open


def test_any_other_error_is_an_answer(late: Breaker) -> None:
    with pytest.raises(ParameterError), late.limiting(1.0):
        raise ParameterError
    assert not late.is_open


def test_who_waited_already_tries_for_a_short_time_only(late: Breaker) -> None:
    use = StoreUse(30.0)
    use._asked -= 20
    with using(use), late.limiting(30.0):
        assert 5 < seconds_left() <= 10
    with using(use), late.limiting(30.0):  # now it is closed, but the limit was spent on waiting
        assert seconds_left() <= 10


def test_a_request_whose_time_is_used_up_says_nothing_about_the_database(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'people.db'}", timeout=60)
    database.make()
    with using(StoreUse(0.2)), pytest.raises(StoreTimeoutError):
        read_often(database)
    assert not database.is_hanging
    with using(StoreUse(0.0)), pytest.raises(StoreTimeoutError), database.writing():
        pass
    assert not database.is_hanging
    database.close()


def test_a_wait_for_others_of_this_process_says_nothing_about_the_database(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'people.db'}", timeout=0.1)
    database.make()
    with database._turn, pytest.raises(StoreTimeoutError), database.writing():
        raise AssertionError("let through")
    assert not database.is_hanging
    database.close()


def test_one_that_had_no_time_left_is_no_answer(late: Breaker) -> None:
    with using(StoreUse(0.0)), pytest.raises(StoreTimeoutError), late.limiting(1.0):
        raise StoreTimeoutError
    assert late.is_open

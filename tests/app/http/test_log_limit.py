"""The log's limit: a few lines of one kind, a count of the others, and all other kinds."""

import logging
import logging.config
import sys

from teaser.app.http.log_limit import LogLimit, limit_logs


def written(limit: LogLimit, at: float, text: str, *values: object, **place: object) -> str | None:
    """Return the text of a line that is logged at some second; None if it is left out."""
    record = logging.makeLogRecord(
        {"msg": text, "args": values, "created": at, "levelno": logging.ERROR, **place}
    )
    return record.getMessage() if limit.filter(record) else None


def test_lines_of_one_kind_are_few_and_the_others_are_counted() -> None:
    limit = LogLimit(lines=2, seconds=60)
    lines = [written(limit, i / 10, "no socket for %d", i, lineno=1) for i in range(100)]
    assert lines == ["no socket for 0", "no socket for 1", *[None] * 98]
    assert written(limit, 20, "something else", lineno=2) == "something else"
    later = [written(limit, 61 + i, "no socket for %d", i, lineno=1) for i in range(3)]
    assert later == [
        "no socket for 0 (lines like this left out: 98)",
        "no socket for 1",
        None,
    ]
    assert written(limit, -90, "set back", lineno=1) == "set back (lines like this left out: 1)"


def test_a_line_that_tells_of_others_has_their_number() -> None:
    limit = LogLimit(lines=1, seconds=60)
    for at in (0, 1, 2):
        written(limit, at, "failed")
    record = logging.makeLogRecord({"msg": "failed", "levelno": logging.ERROR, "created": 70})
    assert limit.filter(record)
    assert vars(record)["left_out"] == 2


def test_kinds_differ_by_level_and_exception() -> None:
    limit = LogLimit(lines=1, seconds=60)
    kinds: list[dict[str, object]] = [{}, {"levelno": logging.WARNING}]
    for error in (OSError("one"), ValueError("two")):
        try:
            raise error
        except Exception:
            kinds.append({"exc_info": sys.exc_info()})
    lines = [[written(limit, at, "failed", **kind) for kind in kinds] for at in (0, 1)]
    assert lines == [["failed"] * 4, [None] * 4]


def test_the_loggers_of_a_server_have_one_limit_each_that_a_configuration_leaves() -> None:
    names = ("asyncio", "uvicorn.error", "teaser", "teaser.refused")
    loggers = [logging.getLogger(name) for name in names]
    before = [list(logger.filters) for logger in loggers]
    try:
        limit_logs()
        limit_logs()
        logging.config.dictConfig(
            {"version": 1, "disable_existing_loggers": False, "loggers": {"uvicorn.error": {}}}
        )
        for logger in loggers:
            assert sum(isinstance(each, LogLimit) for each in logger.filters) == 1
    finally:
        for logger, filters in zip(loggers, before, strict=True):
            logger.filters[:] = filters

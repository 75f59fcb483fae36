"""Log lines as text and JSON: facts of the request, no messages of exceptions, one line each."""

import json
import logging
import re
from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from teaser.app.monitoring import (
    RequestRecord,
    begin_request,
    configure_logs,
)
from teaser.app.settings import Settings
from teaser.console import visible_line

PRIVATE = "tom@example.org"
HOSTILE = "a\n\tb\r\x1b[31m\x9b\u2028c\u202ed"


@pytest.fixture
def handler_of(own_logs: None) -> Callable[..., logging.Handler]:
    """Configure the logs of this process."""

    def configure(**settings: str) -> logging.Handler:
        configure_logs(Settings(model=Path(), **settings))
        configure_logs(Settings(model=Path(), **settings))
        (found,) = [h for h in logging.getLogger().handlers if h.get_name() == "teaser"]
        return found

    return configure


def fail() -> None:
    try:
        dict[str, int]()[PRIVATE]
    except KeyError as error:
        raise ValueError(f"{PRIVATE} is not there") from error


def log_failure(request_id: str = "0123456789abcdef") -> None:
    begin_request(RequestRecord(request_id))
    try:
        fail()
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")


class TestJson:
    def test_an_exception_has_its_type_and_stack_and_no_message(
        self, handler_of: Any, capsys: Any
    ) -> None:
        handler_of(log_format="json")
        copy_context().run(log_failure)
        written = capsys.readouterr().err
        assert PRIVATE not in written
        said = json.loads(written)
        assert (said["level"], said["logger"]) == ("error", "uvicorn.error")
        assert (said["error"], said["request_id"]) == ("ValueError", "0123456789abcdef")
        assert re.search(r"test_logs.py:\d+ fail: .*\nKeyError\n(.*\n)+ValueError", said["stack"])


class TestText:
    def test_a_value_cannot_write_lines_of_its_own(self, handler_of: Any, capsys: Any) -> None:
        handler_of()
        logging.getLogger("teaser").warning("%s", HOSTILE)
        written = capsys.readouterr().err
        assert len(written.splitlines()) == 1
        assert written.endswith(r"teaser: a\x0a\x09b\x0d\x1b[31m\x9b\u2028c\u202ed" + "\n")

    def test_nor_do_lines_of_json_hold_control_characters(
        self, handler_of: Any, capsys: Any
    ) -> None:
        handler_of(log_format="json")
        logging.getLogger("teaser").warning("%s", HOSTILE)
        written = capsys.readouterr().err
        assert json.loads(written)["message"] == HOSTILE
        assert visible_line(written.rstrip("\n")) == written.rstrip("\n")


def test_what_asyncio_shows_of_objects_is_left_out(handler_of: Any, capsys: Any) -> None:
    handler_of()
    text = f"Task exception was never retrieved\nfuture: <Task exception=ValueError('{PRIVATE}')>"
    logging.getLogger("asyncio").error(text)
    written = capsys.readouterr().err
    assert PRIVATE not in written
    assert "Task exception was never retrieved" in written

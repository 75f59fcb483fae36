"""Log lines of the server process as text or JSON, without addresses and ids of persons."""

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from teaser.app.settings import Settings
from teaser.app.telemetry.request_record import RequestRecord, current_request
from teaser.app.telemetry.traces import trace_id_of
from teaser.console import visible_json, visible_line

access_log = logging.getLogger("teaser.access")
# Lines of requests that were refused for their rate or host, of which there may be a flood.
refused_log = logging.getLogger("teaser.refused")
_REFUSED = (421, 429)
_FACTS = "teaser_facts"


def configure_logs(settings: Settings) -> None:
    """Write all log lines of this process to standard error; only the server process calls it.

    Lines of this package are written from `log_level` on. Of other packages only warnings and
    errors are, because lines of lower levels may hold addresses and the values of queries.
    """
    level = getattr(logging, settings.log_level.upper())
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h, ServerHandler)]:
        root.removeHandler(handler)
    root.addHandler(ServerHandler(settings))
    root.setLevel(max(level, logging.WARNING))
    logging.getLogger("teaser").setLevel(level)
    # Warnings of the SDK for assistants hold what a client sent, and come as often as it likes.
    logging.getLogger("mcp").setLevel(logging.ERROR)


def log_request(record: RequestRecord, answer: dict[str, Any], *, level: int) -> None:
    """Write the line of one request: the facts of its answer, and the times of its parts."""
    log = refused_log if answer["status"] in _REFUSED else access_log
    if not log.isEnabledFor(level):
        return
    facts = dict(answer)
    if store := record.seconds("store_read", "store_write"):
        facts["store_ms"] = round(store * 1e3, 1)
    if model := record.seconds("model"):
        facts["model_ms"] = round(model * 1e3, 1)
    # Not by `log.log`, which walks the stack for the caller of every line.
    given = (log.name, level, __file__, 0, "request", (), None, None, {_FACTS: facts})
    log.handle(log.makeRecord(*given))


class ServerHandler(logging.Handler):
    """Writes lines to standard error, in the format that the settings name."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        form = _JsonFormatter if settings.log_format == "json" else _TextFormatter
        self.setFormatter(form(with_messages=settings.log_level == "debug"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


class _Formatter(logging.Formatter):
    """The facts of a line: time, level, logger, message, request, error.

    Parameters
    ----------
    with_messages
        Whether messages of exceptions are written. They may hold ids, so they are not as a rule.
    """

    def __init__(self, *, with_messages: bool) -> None:
        super().__init__()
        self.with_messages = with_messages

    def facts(self, record: logging.LogRecord) -> dict[str, Any]:
        """Return what a line tells, by name."""
        at = datetime.fromtimestamp(record.created, UTC)
        message = record.getMessage().strip()
        if record.name == "asyncio" and not self.with_messages:
            message = message.partition("\n")[0]  # further lines show the objects involved
        facts: dict[str, Any] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message,
            **getattr(record, _FACTS, {}),
        }
        if hasattr(record, "left_out"):  # see teaser.app.http.log_limit
            facts["left_out"] = record.left_out
        if (request := current_request()) is not None:
            facts["request_id"] = request.request_id
            if request.span is not None:
                facts["trace_id"] = trace_id_of(request.span)
        return facts

    def error_lines(self, record: logging.LogRecord) -> list[str]:
        """Return the type and the stack of a line's exception, after those of its causes."""
        error = record.exc_info[1] if record.exc_info else None
        chain: list[BaseException] = []
        while error is not None and error not in chain:
            chain.insert(0, error)
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return [line for error in chain for line in self._lines_of(error)]

    def _lines_of(self, error: BaseException) -> Iterator[str]:
        for inner in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
            yield from self._lines_of(inner)
        for frame in traceback.extract_tb(error.__traceback__):
            yield f"  {frame.filename}:{frame.lineno} {frame.name}: {frame.line}"
        kind = type(error)
        is_builtin = kind.__module__ == "builtins"
        name = kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}"
        yield f"{name}: {error}" if self.with_messages else name


class _TextFormatter(_Formatter):
    """A line for people: time, level, logger, message, and further facts as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and below it the stack of an exception."""
        facts = self.facts(record)
        start = f"{facts.pop('time')} {facts.pop('level').upper()} {facts.pop('logger')}: "
        line = " ".join([facts.pop("message"), *(f"{k}={v}" for k, v in facts.items())])
        # Without line feeds what is logged cannot write lines of its own.
        return "\n".join(map(visible_line, [start + line, *self.error_lines(record)]))


class _JsonFormatter(_Formatter):
    """A line for programs: one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object in one line."""
        facts = self.facts(record)
        if lines := self.error_lines(record):
            facts |= {"error": lines[-1], "stack": "\n".join(lines)}
        return visible_json(json.dumps(facts, ensure_ascii=False, default=str))

"""One connection to a server that notes every answer, also those that never come."""

import http.client
import time
from collections.abc import Mapping
from dataclasses import dataclass

from soak.records import FAILED, RESET, UNANSWERED, Record, kind_of
from soak.servers import HOST

_TIMEOUT = 30.0
_UNREACHED = 0


@dataclass(frozen=True)
class Answer:
    """An answer; its status is 0 if none came."""

    status: int
    text: str = ""
    cookie: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether the server did what it was asked."""
        return 200 <= self.status < 400

    @property
    def is_unsure(self) -> bool:
        """Whether the server may have done it, although it did not say so."""
        return self.status == _UNREACHED or self.status >= 500


class Client:
    """A browser or program: keeps its connection while it works, and opens another if not.

    Parameters
    ----------
    port
        Of the server.
    record
        Where answers are counted.
    is_visitor
        Whether the times are those of a person who waits.
    """

    def __init__(self, port: int, record: Record, *, is_visitor: bool) -> None:
        self.host = f"{HOST}:{port}"
        self.record, self.is_visitor = record, is_visitor
        self._connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT)
        self._is_used = False

    def ask(
        self, method: str, path: str, body: str | None = None, headers: Mapping[str, str] = {}
    ) -> Answer:
        """Send a request and note its answer.

        As browsers do, a request on a kept connection that the server closed meanwhile is sent
        again on a new one, if it changes nothing.
        """
        phase, begun = self.record.phase, time.perf_counter()
        was_used = self._is_used
        try:
            answer = self._send(method, path, body, headers)
        except TimeoutError:
            self.close()
            self.record.add(UNANSWERED, phase)
            return Answer(_UNREACHED)
        except (OSError, http.client.HTTPException):
            self.close()
            if was_used and method == "GET":
                return self.ask(method, path, body, headers)
            self.record.add(RESET, phase)
            return Answer(_UNREACHED)
        seconds = time.perf_counter() - begun if self.is_visitor else None
        kind = kind_of(answer.status)
        if kind == FAILED or answer.status >= 400:
            said = f"{method} {path}: {answer.status} {answer.text[:200]}"
            self.record.add(kind, phase, seconds, said)
        else:
            self.record.add(kind, phase, seconds)
        return answer

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        self._connection.close()
        self._is_used = False

    def _send(self, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> Answer:
        self._connection.request(method, path, body, dict(headers))
        found = self._connection.getresponse()
        text = found.read().decode()
        self._is_used = True
        values = found.headers.get_all("Set-Cookie") or []
        return Answer(found.status, text, next(iter(values), None))

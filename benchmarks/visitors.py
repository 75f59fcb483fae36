"""Visitors of a served site: a browser each; and the processor time of the server."""

import http.client
import os
import time
import urllib.parse
from pathlib import Path


class Person:
    """Somebody with a browser: one connection, one cookie, presses a button and sees the page."""

    def __init__(self, port: int) -> None:
        self.host = f"127.0.0.1:{port}"
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.cookie = ""

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, str, str]:
        headers = {"Cookie": self.cookie, "Origin": f"http://{self.host}", "x-teaser-fragment": "1"}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        for value in answer.headers.get_all("Set-Cookie") or []:
            if value.startswith("teaser="):
                self.cookie = value.split(";")[0]
        return answer.status, text, answer.headers.get("Location") or "/"

    def press(self, tag: str, steps: int) -> float:
        """Press and load the page that follows; return the seconds of both."""
        return self.act(press=f"{steps:+d} {tag}")

    def act(self, **action: object) -> float:
        """Do something and load the page that follows; return the seconds of both."""
        body = urllib.parse.urlencode({**action, "back": "/"})
        start = time.perf_counter()
        status, text, where = self.ask("POST", "/act", body)
        if status == 303:
            status, text, _ = self.ask("GET", where)
        if status != 200:
            raise RuntimeError(f"{status}: {text[:200]}")
        return time.perf_counter() - start


def processor_time(pid: int) -> float:
    """Return the seconds that a process has run; nan where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(port: int) -> None:
    for _ in range(1200):
        try:
            Person(port).ask("GET", "/readyz")
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not start")

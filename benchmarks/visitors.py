"""Visitors of a served site: a browser each; and the processor time of the server."""

import http.client
import os
import re
import time
import urllib.parse
from contextlib import suppress
from pathlib import Path


class Elements:
    """The elements with a version on a page, as the page's script knows them."""

    _TAG = re.compile(r"<(/?)([a-z0-9]+)([^>]*)>")
    _VERSION = re.compile(r" data-(v|same)=([\w-]{8})")
    _VOID = frozenset({"input", "img", "br", "link", "meta"})

    def __init__(self) -> None:
        self.inside: dict[str, list[str]] = {}
        self.held: list[str] = []

    def read(self, html: str) -> None:
        """Take over a page, of which some elements stay as they were."""
        inside: dict[str, list[str]] = {}
        found: list[str] = []
        stack: list[tuple[str, int]] = []

        def keep(version: str) -> None:
            found.append(version)
            inside[version] = self.inside[version]
            for each in self.inside[version]:
                inside[each] = self.inside[each]
            found.extend(self.inside[version])

        for end, name, rest in self._TAG.findall(html):
            if end:
                version, start = stack.pop()
                if version:
                    inside[version] = found[start:]
                continue
            given = self._VERSION.search(rest)
            if given and given[1] == "same":
                keep(given[2])
            elif given:
                found.append(given[2])
            if name not in self._VOID and not rest.endswith("/"):
                is_own = given is not None and given[1] == "v"
                stack.append((given[2] if given and is_own else "", len(found)))
        self.inside, self.held = inside, found


class Person:
    """Somebody with a browser: one connection, one cookie, presses a button and sees the page."""

    def __init__(self, port: int) -> None:
        self.host = f"127.0.0.1:{port}"
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.cookie = ""
        self.page = Elements()
        self.sent = self.received = 0  # bytes of the bodies of the last action

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, str, str]:
        headers = {"Cookie": self.cookie, "Origin": f"http://{self.host}", "x-teaser-script": "1"}
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
        held = "".join(self.page.held)
        body = urllib.parse.urlencode({**action, "back": "/", "held": held})
        start = time.perf_counter()
        status, text, where = self.ask("POST", "/act", body)
        if status == 303:
            status, text, _ = self.ask("GET", where)
        if status != 200:
            raise RuntimeError(f"{status}: {text[:200]}")
        took = time.perf_counter() - start
        self.page.read(text)
        self.sent, self.received = len(body), len(text.encode())
        return took


def processor_time(pid: int) -> float:
    """Return the seconds that a process and its children have run; nan if the system tells none."""
    used, parents = dict[int, float](), dict[int, int]()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = file.read_text().rpartition(")")[2].split()
            own = int(file.parent.name)
            parents[own] = int(fields[1])
            used[own] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    if pid not in used:
        return float("nan")
    return used[pid] + sum(used[own] for own, parent in parents.items() if parent == pid)


def wait_for(port: int) -> None:
    for _ in range(1200):
        try:
            Person(port).ask("GET", "/readyz")
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not start")

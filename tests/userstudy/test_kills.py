"""A server of a study that is killed: what was confirmed is there, and people go on."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
from served import free_port

from teaser.app.store import Store
from teaser.userstudy.lists import replay
from teaser.userstudy.plan import UserStudy
from teaser.userstudy.store import StudyStore


class Served:
    """`teaser study serve` in a process group of its own."""

    def __init__(self, path: Path, port: int) -> None:
        command = [sys.executable, "-m", "teaser", "study", "serve", str(path)]
        self.process = subprocess.Popen(
            [*command, "--port", str(port), "--log-level", "error"],
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http"), self.url

    def kill(self) -> None:
        """Kill the server and its workers, without a warning."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


def test_nothing_that_was_confirmed_is_lost_by_kills(write: Callable[..., Path]) -> None:
    path, port = write(), free_port()
    served = Served(path, port)
    headers = {"origin": served.url.rstrip("/"), "accept": "text/html"}
    try:
        with httpx.Client(
            base_url=served.url, headers=headers, timeout=60, follow_redirects=True
        ) as browser:
            browser.get("/")
            browser.post("/consent", data={"agree": "1"})
            browser.post("/next", data={"step": "0"})
            picks = re.findall(r'name="pick" value="([^"]+)"', browser.get("/").text)
            page = browser.post("/act", data={"step": "1", "pick": picks[:3]}).text
            items = re.findall(r'name="choose" value="([^"]+)"', page)
            browser.post("/act", data={"step": "2", "choose": items[:2]})
            served.kill()
            served = Served(path, port)
            page = browser.get("/").text
            assert "2 of 3 chosen" in page
            assert re.findall(r'data-card="([^"]+)"', page) == items
            browser.post("/act", data={"step": "2", "choose": items[2]})
            asked = browser.post("/next", data={"step": "2"}).text
            names = dict.fromkeys(re.findall(r'name="(q-\w+)"', asked))
            browser.post("/next", data={"step": "3", **dict.fromkeys(names, "2")})
            served.kill()
    finally:
        served.kill() if served.process.poll() is None else None
    store = Store(f"sqlite:///{path.with_suffix('.people.db')}")
    people = StudyStore(store, UserStudy.read(path))
    rows = people.rows()
    (row,) = rows["participants"]
    assert row["step"] == 4
    assert {answer["question"] for answer in rows["answers"]} == {n[2:] for n in names}
    chosen = [r["data"]["item"] for r in rows["log"] if r["kind"] == "choose"]
    assert chosen == items[:3]
    assert replay(people)[1] == []
    store.close()

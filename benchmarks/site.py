"""Measure a press on the site, with its page: one person, 32 people with a pause, and a full load.

    python benchmarks/site.py                         2,400 items x 400 tags, one worker, SQLite
    python benchmarks/site.py --large                 20,000 items x 3,500 tags
    python benchmarks/site.py --workers 2 --postgres  presses a second under full load

Server time is that of the log line of a request; the clients share the processors with the server.
"""

import argparse
import http.client
import json
import tempfile
import threading
import time
import urllib.parse
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from generated import generated
from report import report
from soak.postgres import Postgres
from soak.servers import HOST, Server

from teaser import Teaser
from teaser.data import demo

PEOPLE = 32


def main() -> None:
    """Serve a generated model and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--seconds", type=float, default=20.0)
    chosen = parser.parse_args()
    dataset = demo.dataset()
    if chosen.large:
        size = {"n_items": 20_000, "n_tags": 3_500, "n_users": 40_000, "n_interactions": 2_000_000}
        dataset = generated(**size)
    model = Teaser(tol=1e-2).fit(dataset)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model.save(folder / "model")
        database = f"sqlite:///{folder / 'people.db'}"
        if chosen.postgres:
            database = stack.enter_context(Postgres()).url
        server = Server(
            folder / "model", database, folder / "server", workers=chosen.workers, log_format="json"
        )
        stack.enter_context(server)
        tags = [str(tag) for tag in model.tags_[:64]]
        found = {"items": len(model.items_), "tags": len(model.tags_), "workers": chosen.workers}
        drive(server, tags, people=1, pause=0.05, seconds=3.0)  # caches
        for name, people, pause in (("one", 1, 0.2), ("32 with a pause", PEOPLE, 1.0)):
            begin = server.log.stat().st_size
            drive(server, tags, people=people, pause=pause, seconds=chosen.seconds)
            times = server_times(server.log, begin)
            found |= {
                f"{name}: p50 ms": round(float(np.percentile(times, 50)), 1),
                f"{name}: p99 ms": round(float(np.percentile(times, 99)), 1),
            }
        pressed = drive(server, tags, people=PEOPLE, pause=0.0, seconds=chosen.seconds)
        found["presses a second"] = round(pressed / chosen.seconds, 1)
    report("site", [found])


def drive(server: Server, tags: list[str], *, people: int, pause: float, seconds: float) -> int:
    """Let people press tags with a mean pause; return the number of presses answered."""
    end, done = time.monotonic() + seconds, [0] * people

    def person(number: int) -> None:
        rng = np.random.default_rng(number)
        time.sleep(pause * 2 * rng.random())  # people do not come all at once
        connection = http.client.HTTPConnection(HOST, server.port, timeout=60)
        connection.request("GET", "/")
        answer = connection.getresponse()
        answer.read()
        headers = {
            "Cookie": str(answer.getheader("set-cookie")).partition(";")[0],
            "Origin": f"http://{HOST}:{server.port}",
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Teaser-Script": "1",
            "Accept-Encoding": "gzip",
        }
        while time.monotonic() < end:
            steps = 1 if done[number] % 2 == 0 else -1
            tag = tags[(number + done[number] // 2) % len(tags)]
            body = urllib.parse.urlencode({"press": f"{steps:+d} {tag}", "back": "/"})
            connection.request("POST", "/act", body, headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                done[number] += 1
            elif answer.status != 503:  # a full queue is refused, and not counted
                raise RuntimeError(f"a press was answered with {answer.status}")
            time.sleep(pause * 2 * rng.random())

    threads = [threading.Thread(target=person, args=(n,)) for n in range(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done)


def server_times(log: Path, begin: int) -> list[float]:
    """Return the milliseconds of the presses in a log, from a byte on."""
    with log.open("rb") as file:
        file.seek(begin)
        lines = [json.loads(line) for line in file if line.startswith(b"{")]
    return [line["ms"] for line in lines if line.get("route") == "/act"]


if __name__ == "__main__":
    main()

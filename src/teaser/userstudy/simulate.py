"""Simulated people: through the real pages of a real server.

Answers follow one model. An outcome of a person in an arm is, in standard deviations,
z = sqrt(1/2) u + sqrt(1/2) e + effect, where u is the person's and e is drawn anew in each arm; the
effect is that of all arms but the one that others are compared with, in the primary outcomes.
So two answers of a person correlate by 1/2. A point of a scale is its middle plus z, rounded.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from html import unescape
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, ProxyHandler, Request, build_opener

import numpy as np
import uvicorn
from numpy.typing import NDArray

from teaser.app.run import bind
from teaser.app.store import id_of
from teaser.errors import ResourceError
from teaser.userstudy.plan import LARGEST, Question, Step, UserStudy
from teaser.userstudy.server import create_study_app
from teaser.userstudy.store import StudyStore

# A point of a scale for each standard deviation, by the number of points.
_POINTS = {5: 0.95, 7: 1.3}
_ITEM_NOISE = 0.3
_INATTENTIVE = 0.03
_AT_ONCE = 8


def simulate_people(
    path: str | Path,
    *,
    people: int,
    effect: float = 0.0,
    database: str,
    seed: int = 0,
    progress: Callable[[int], object] = lambda n: None,
) -> None:
    """Let simulated people do a study by its real pages, over http on loopback.

    They take the place of those of the last run.

    Parameters
    ----------
    path
        The file of the study.
    people
        How many.
    effect
        The planted difference, in standard deviations.
    database
        The address of a database for them; they are marked there.
    seed
        Of the answers and choices.
    progress
        Called with how many have finished.
    """
    study = UserStudy.read(path)
    loopback = {"host": "127.0.0.1", "port": 0, "rate": 0, "secure_cookies": False}
    settings = study.site_settings(database_url=database, **loopback)
    app = create_study_app(settings, path=path, mode="simulated", people=people)
    found: StudyStore = app.state.study.people
    for row in found.rows()["participants"]:  # of the last run, which may have another effect
        found.withdraw(found.withdrawal_code(row["id"]))
    drawn = draw_answers(study, people, effect, np.random.default_rng(seed))
    done = 0
    with served(app) as port, ThreadPoolExecutor(_AT_ONCE) as threads:
        browsers = (
            _SimulatedPerson(study, found, port, drawn[n], np.random.default_rng([seed, 1, n]))
            for n in range(people)
        )
        for _ in threads.map(lambda browser: browser.run(), browsers):
            done += 1
            progress(done)


def draw_answers(
    study: UserStudy, people: int, effect: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return answers as points, of shape (people, arms, questions after an arm)."""
    asked, arms = study.arm_questions, study.arms
    outcomes = list(dict.fromkeys(q.outcome or q.id for q in asked))
    place = np.array([outcomes.index(q.outcome or q.id) for q in asked], dtype=np.int64)
    own = rng.standard_normal((people, 1, len(outcomes)))
    z = np.sqrt(0.5) * (own + rng.standard_normal((people, len(arms), len(outcomes))))
    treated = np.array([arm.name != study.baseline for arm in arms])
    primary = np.array([name in study.analysis.primary for name in outcomes])
    z += effect * treated[None, :, None] * primary[None, None, :]
    items = z[:, :, place] + _ITEM_NOISE * rng.standard_normal((people, len(arms), len(asked)))
    points = np.array([_most(q) for q in asked])
    scale = np.array([_POINTS.get(_most(q), _most(q) / 5) for q in asked])
    found = np.clip(np.rint((points + 1) / 2 + scale * items), 1, points)
    flip = np.array([q.reversed for q in asked], dtype=bool)
    found = np.where(flip, points + 1 - found, found)
    for n, question in enumerate(asked):
        if question.check is not None:
            wrong = rng.random((people, len(arms))) < _INATTENTIVE
            found[:, :, n] = np.where(wrong, question.check % points[n] + 1, question.check)
    result: NDArray[np.float64] = found
    return result


def _most(question: Question) -> int:
    """Return the highest answer to a question that a simulated person gives."""
    if question.kind == "choice":
        return len(question.choices)
    if question.kind == "scale":
        return question.points
    return round(question.most) if question.most < LARGEST else 7


@contextmanager
def served(app: Any) -> Iterator[int]:
    """Serve an application on a free port of loopback, and give the port."""
    listener = bind("127.0.0.1", 0)
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise ResourceError("The server of the simulated people could not start.")
            time.sleep(0.01)
        yield int(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


class _SimulatedPerson:
    """Somebody who reads the pages and sends their forms."""

    def __init__(
        self,
        study: UserStudy,
        people: StudyStore,
        port: int,
        answers: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> None:
        self.study, self.people, self.answers, self.rng = study, people, answers, rng
        self.site = f"http://127.0.0.1:{port}"
        self.cookies = CookieJar()
        # No proxy of the environment: the server is on loopback.
        self.browser = build_opener(ProxyHandler({}), HTTPCookieProcessor(self.cookies))

    def run(self) -> None:
        """Go through the whole study."""
        self._get("/")
        page = self._post(
            "/consent", agree="1", PROLIFIC_PID=f"simulated {self.rng.bytes(8).hex()}"
        )
        found = self.people.find(id_of(next(iter(self.cookies)).value or ""))
        if found is None:
            raise ResourceError("A simulated person got no place in the plan.")
        places = {arm.name: n for n, arm in enumerate(self.study.arms)}
        for n, step in enumerate(self.study.steps(found.order)):
            if step.kind == "start":
                page = self._pick(n, page)
            elif step.kind == "task":
                page = self._do_task(n, step, page)
            elif step.kind == "questions":
                own = self.answers[places[step.arm]] if step.arm and not step.task else None
                page = self._answer(n, self.study.asked_at(step), own)
            elif step.kind == "instructions":
                page = self._post("/next", step=str(n))

    def _pick(self, n: int, page: str) -> str:
        """Pick as many as are asked for, page by page; return the page after it."""
        left = self.study.picks
        while left > 0:
            picks = self._some(page, "pick", left)
            page = self._post("/act", step=str(n), pick=picks)
            left -= len(picks)
        return page

    def _do_task(self, n: int, step: Step, page: str) -> str:
        task = self.study.by_task[step.task]
        if self.study.by_arm[step.arm].presses and (presses := self._some(page, "press", 1)):
            page = self._post("/act", step=str(n), press=presses)
        for path in list(dict.fromkeys(re.findall(r'"(/look\?id=[^"]*)"', page)))[: task.min_looks]:
            self._get(unescape(path))
        if task.choose:
            self._post("/act", step=str(n), choose=self._some(page, "choose", task.choose))
        return self._post("/next", step=str(n))

    def _answer(self, n: int, asked: tuple[Question, ...], own: NDArray[np.float64] | None) -> str:
        """Answer with the points that were drawn; other questions with any answer."""
        fields: dict[str, str] = {}
        for place, question in enumerate(asked):
            if question.kind == "text":
                fields |= {f"q-{question.id}": "simulated"} if question.required else {}
                continue
            if own is not None:
                value = own[place]
            elif question.check is not None:
                value = question.check
            else:
                least = max(1, int(question.least))
                value = self.rng.integers(least, max(least, _most(question)) + 1)
            if question.kind == "number":
                value = np.clip(value, question.least, question.most)
            fields[f"q-{question.id}"] = f"{value:g}"
        return self._post("/next", step=str(n), **fields)

    def _some(self, page: str, field: str, n: int) -> list[str]:
        """Return the values of some buttons of a page."""
        found = [unescape(v) for v in re.findall(rf'name="{field}" value="([^"]*)"', page)]
        found = list(dict.fromkeys(found))
        chosen = self.rng.permutation(len(found))[:n]
        return [found[i] for i in sorted(chosen.tolist())]

    def _get(self, path: str) -> str:
        return self._send(path, None)

    def _post(self, path: str, **fields: str | list[str]) -> str:
        return self._send(path, urlencode(fields, doseq=True).encode())

    def _send(self, path: str, body: bytes | None) -> str:
        """Send a form, or ask for a page; return the page that answers."""
        headers = {"Origin": self.site, "Accept": "text/html"}
        request = Request(f"{self.site}{path}", body, headers)  # noqa: S310, on loopback
        with self.browser.open(request, timeout=60) as answer:
            place, text = str(answer.url), answer.read().decode()
        if "note=" in place:
            raise ResourceError(f"A simulated person was refused: {path} led to {place}.")
        return str(text)

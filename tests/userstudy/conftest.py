"""The example study on a small model of the built-in events, and browsers that take part in it."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from app.conftest import OWN, TestClient, text_of
from app.conftest import database_url as database_url
from app.conftest import new_postgres as new_postgres
from app.conftest import postgres as postgres
from app.conftest import store as store

from teaser import Teaser
from teaser.data import demo
from teaser.userstudy.plan import UserStudy, new_study
from teaser.userstudy.server import StudyServices, create_study_app
from teaser.userstudy.store import Mode

MINIMUM = "min_seconds = 20"


@pytest.fixture(scope="session")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small model of the built-in events."""
    folder = tmp_path_factory.mktemp("study") / "events"
    Teaser().fit(demo.dataset(n_events=150, n_users=500, start=date(2026, 1, 1))).save(folder)
    return folder


@pytest.fixture
def write(tmp_path: Path, events: Path) -> Callable[..., Path]:
    """Write the example study with some of its lines replaced; nobody has to wait in it."""

    def write(*changes: tuple[str, str], name: str = "study") -> Path:
        text = new_study()
        for old, new in ((MINIMUM, "min_seconds = 0"), *changes):
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        if not (tmp_path / "events").exists():
            (tmp_path / "events").symlink_to(events)
        return path

    return write


class Browser(TestClient):
    """A browser of one person, who goes through a study."""

    def page(self) -> str:
        """Return the page where the person is."""
        return str(self.get("/").text)

    @property
    def own(self) -> StudyServices:
        app: Any = self.app
        found: StudyServices = app.state.study
        return found

    @property
    def step(self) -> int:
        """The number of the page where the person is, as its form says."""
        return int(re.findall(r'name="step" value="(\d+)"', self.page())[0])

    def agree(self, **recruiting: str) -> str:
        self.get("/", params=recruiting)
        return self.submit("/consent", agree="1", **recruiting)

    def submit(self, path: str, **fields: Any) -> str:
        """Send a form, and return what the page that answers says."""
        return text_of(self.post(path, data=fields).text)

    def begin(self, **recruiting: str) -> str:
        """Agree, read the instructions and pick, up to the first task."""
        self.agree(**recruiting)
        self.submit("/next", step=0)
        for _ in range(3):
            self.submit("/act", step=1, pick=self.values("pick")[0])
        return self.page()

    def values(self, field: str) -> list[str]:
        """Return the values of the buttons of a name on the page."""
        return re.findall(rf'name="{field}" value="([^"]*)"', self.page())

    def do_task(self) -> str:
        step, n_chosen = self.step, len(set(self.values("unchoose")))
        self.submit("/act", step=step, choose=self.values("choose")[: 3 - n_chosen])
        return self.submit("/next", step=step)

    def answer(self, **answers: Any) -> str:
        """Answer all questions of the page, with 2 where nothing else is given."""
        page = self.page()
        names = dict.fromkeys(re.findall(r'name="q-(\w+)"', page))
        asked = {f"q-{name}": answers.get(name, 2) for name in names if name != "age"}
        return self.submit("/next", step=self.step, **asked)


@pytest.fixture
def open_study(tmp_path: Path) -> Iterator[Callable[..., Callable[[], Browser]]]:
    """Serve a study, and return a function that opens a new browser on it."""
    with ExitStack() as stack:

        def serve(path: Path, mode: Mode = "real", **given: Any) -> Callable[[], Browser]:
            url = given.pop("database_url", f"sqlite:///{tmp_path / 'people.db'}")
            settings = UserStudy.read(path).site_settings(
                database_url=url, hosts="testserver", rate=0, store_timeout=30.0, **given
            )
            app = create_study_app(settings, path=path, mode=mode)
            stack.callback(app.state.services.store.close)

            def come() -> Browser:
                return Browser(app, headers={**OWN, "accept-language": "en"})

            return come

        yield serve

"""A served model, both databases, and what pages say."""

import html
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest
from conftest import ROOT, RULES
from served import Running
from sqlalchemy import Connection, create_engine, text

from teaser import Category, Dataset, Tag, Teaser
from teaser.app.catalogue import Catalogue
from teaser.app.http import Services
from teaser.app.models import ModelHolder, manifest_stamp
from teaser.app.server import create_app
from teaser.app.settings import Settings
from teaser.app.state import Event, State
from teaser.app.store import Store
from teaser.data import demo
from teaser.extensions import DiscoveredTags

# Only for this import: some benchmarks have the names of rooms of the tests.
sys.path.append(str(ROOT / "benchmarks"))
from soak.postgres import Postgres as Server

sys.path.remove(str(ROOT / "benchmarks"))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have the successor of httpx
    from fastapi.testclient import TestClient as TestClient

API = "/api/v1"
OWN = {"origin": "http://testserver"}
MINUS = "\N{MINUS SIGN}"
VIEW = Event("view", {"item": "i1"})
PLUS = Event("press", {"presses": {"town=Ghent": 1}})
DISCOVERED = DiscoveredTags(grains=(10,), factors=32)
_numbers = count()


def services_of(client: TestClient) -> Services:
    """Return the services of the application that a client talks to."""
    app: Any = client.app
    services: Services = app.state.services
    return services


def new_person(client: TestClient) -> str:
    """Add a person by the API, and return its address."""
    answer = client.post(f"{API}/people")
    assert answer.status_code == 201
    return f"{API}/people/{answer.json()['person_id']}"


def new_key(client: TestClient) -> str:
    """Add a key of the API, and return it."""
    return services_of(client).store.create_key(f"site {next(_numbers)}")


def error_of(answer: Any, status: int) -> Any:
    """Return the error in a response of the API, which has the one shape there is."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    assert set(answer.json()["error"]) == {"code", "message"}
    return answer.json()["error"]


def check_same(found: Any, wanted: Any) -> None:
    """Hold an answer against an object of the library: all that both have is the same."""
    if isinstance(wanted, Mapping) and isinstance(found, list):
        wanted = [{"tag": tag, "steps": steps} for tag, steps in wanted.items()]
    if isinstance(found, dict) and isinstance(wanted, Mapping):
        named = {str(name): value for name, value in wanted.items()}
        for name in named:
            check_same(found[name], named[name])
    elif isinstance(found, dict):
        check_same(found, {name: getattr(wanted, name) for name in found if hasattr(wanted, name)})
    elif isinstance(found, list):
        for one, other in zip(found, wanted, strict=True):
            check_same(one, other)
    elif isinstance(found, float):
        assert found == pytest.approx(wanted, abs=1e-12)
    else:
        assert found == (str(wanted) if isinstance(wanted, Tag) else wanted)


def break_path(client: TestClient, path: str) -> None:
    """Add a route that raises an error of no known class."""

    def broken() -> None:
        raise ZeroDivisionError("a secret of ours")

    app: Any = client.app
    app.get(path)(broken)


def state_of(client: TestClient) -> State:
    """Return the state of the visitor whose cookie a client has."""
    store = services_of(client).store
    return store.state(store.find_person(str(client.cookies["teaser"])) or "")


def do(client: TestClient, **fields: str | list[str]) -> str:
    """Send a form of the site, and return the page that answers."""
    answer = client.post("/act", data=fields)
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def listed(page: str) -> list[str]:
    """Return the items of the list, in order."""
    return re.findall(r'<li class="card" data-card="([^"]+)"', page)


def history(page: str) -> list[str]:
    """Return the items that a page says were viewed, the latest first."""
    return re.findall(r'data-card="seen ([^"]+)"', page)


def text_of(page: str) -> str:
    """Return what a page says, without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def notice(page: str) -> str:
    """Return what a page says of the last action."""
    found = re.search(r"data-notice>\s*<p>(.*?)</p>", page, re.S)
    return text_of(found[1]) if found else ""


def number(text: str) -> float:
    """Return a number as a page writes it."""
    return float(re.sub(r"[^\d.-]", "", text.replace(MINUS, "-")))


def append(store: Store, person_id: str, event: Event) -> State:
    """Append an event as it is, and return the state after it."""
    return store.decide(person_id, lambda _: event).after


@contextmanager
def connected(store: Store) -> Iterator[Connection]:
    """Open another connection to the database of a store."""
    engine = create_engine(store.url)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def people_with_events(store: Store) -> list[str]:
    """Return whose events are in the database."""
    with connected(store) as connection:
        return list(connection.execute(text("SELECT person_id FROM event")).scalars())


class Postgres(Server):
    """A PostgreSQL server whose database can be emptied."""

    def emptied(self) -> str:
        """Return the address of the database, with nothing in it."""
        with psycopg.connect(host=str(self.folder), user="postgres") as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        return self.url


@pytest.fixture(scope="session")
def new_postgres() -> Iterator[Callable[[], Postgres]]:
    """Start a further server; it is stopped at the end."""
    with ExitStack() as stack:

        def start() -> Postgres:
            server = Postgres("-c fsync=off")
            stack.enter_context(server)
            return server

        yield start


@pytest.fixture(scope="session")
def postgres(new_postgres: Callable[[], Postgres]) -> Postgres:
    return new_postgres()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'people.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.emptied()


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """A store whose tables are made."""
    opened = Store(database_url)
    opened.migrate()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def model_folder(model: Teaser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small model of tests/conftest.py on disk; tests that change a folder copy it."""
    folder = tmp_path_factory.mktemp("model") / "small"
    model.save(folder)
    return folder


@pytest.fixture(scope="session")
def events_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model of the built-in events, of which the examples in the API's document speak."""
    folder = tmp_path_factory.mktemp("model") / "events"
    dataset = demo.dataset(n_events=200, n_users=600, start=date(2026, 1, 1))
    Teaser(discovered=DISCOVERED).fit(dataset).save(folder)
    return folder


@pytest.fixture(scope="session")
def remainder_folder(remainder_model: Teaser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model with a remainder on disk."""
    folder = tmp_path_factory.mktemp("model") / "remainder"
    remainder_model.save(folder)
    return folder


@pytest.fixture(scope="session")
def people_model(tables: tuple[pl.DataFrame, pl.DataFrame]) -> Teaser:
    """A small model that learned from user features: whoever likes films is mostly young."""
    interactions, items = tables
    likes = interactions.group_by("user_id", maintain_order=True).agg(
        film=(pl.col("item_id").str.slice(1).cast(pl.Int64) % 2).mean() > 0.5
    )
    users = likes.select(
        "user_id",
        age=pl.when("film").then(pl.lit("young")).otherwise(pl.lit("old")),
        sex=pl.Series(["F", "M"] * (len(likes) // 2) + ["F"] * (len(likes) % 2)),
    )
    dataset = Dataset.from_tables(
        interactions, items, rules=RULES, users=users, user_rules=[Category("age"), Category("sex")]
    )
    return Teaser(l2_weights=5.0, l2_encoder=5.0, tol=1e-5).fit(dataset)


@pytest.fixture(scope="session")
def people_folder(people_model: Teaser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model with facts about people on disk."""
    folder = tmp_path_factory.mktemp("model") / "people"
    people_model.save(folder)
    return folder


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of SQLite with all tables, to be copied: to make them takes most of a small test."""
    path = tmp_path_factory.mktemp("database") / "people.db"
    store = Store(f"sqlite:///{path}")
    store.migrate()
    store.close()
    return path


@pytest.fixture(scope="session")
def held() -> Callable[[Settings], ModelHolder]:
    """Load a model, or take the one that another test loaded, with its caches."""
    loaded: dict[Hashable, Catalogue] = {}

    def hold(settings: Settings) -> ModelHolder:
        added = (settings.boost, settings.time_zone)
        key = (settings.model, manifest_stamp(settings.model), added)
        if key not in loaded:
            loaded[key] = ModelHolder(settings).current
        holder = ModelHolder(settings, loaded[key].model)
        holder.current = loaded[key]
        return holder

    return hold


@pytest.fixture(scope="session")
def shared_apps() -> Iterator[dict[Hashable, TestClient]]:
    """Applications that have started, by their settings: the first request of one is slow."""
    started: dict[Hashable, TestClient] = {}
    yield started
    for each in started.values():
        each.__exit__()


@pytest.fixture
def serve(
    model_folder: Path,
    empty_database: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    held: Callable[[Settings], ModelHolder],
    shared_apps: dict[Hashable, TestClient],
) -> Iterator[Callable[..., TestClient]]:
    """Make a client of an application; settings can be given.

    Tests share applications of the same settings. Each client has cookies and an address of its
    own, so that no test meets the people or the limits of another. With `alone` the application
    and its database are new; with `is_new` it is not started yet either, and its model was loaded
    for it alone.
    """
    with ExitStack() as stack:

        def start(*, is_new: bool = False, alone: bool = False, **given: Any) -> TestClient:
            number = next(_numbers)
            own_files = {"database_url", "logo"} & set(given) or (
                given.get("model", model_folder).is_relative_to(tmp_path)
            )
            alone = alone or is_new or bool(own_files)
            address = (f"10.0.{number // 256}.{number % 256}", 50_000)
            key = repr(sorted(given.items(), key=str))
            if not alone and key in shared_apps:
                return beside(shared_apps[key], address)
            folder = tmp_path if alone else tmp_path_factory.mktemp("served")
            database = shutil.copyfile(empty_database, folder / f"api{number}.db")
            usual: dict[str, Any] = {
                "model": model_folder,
                "database_url": f"sqlite:///{database}",
                "hosts": "testserver",
            }
            # A busy machine is no reason for a test to fail: the store has time.
            usual |= {"rate": 0, "monitoring": "all", "store_timeout": 30}
            settings = Settings(**{**usual, **given})
            app = create_app(settings, holder=None if is_new else held(settings))
            client = TestClient(app, raise_server_exceptions=False, client=address)
            if not alone:
                shared_apps[key] = client.__enter__()
                return beside(client, address)
            stack.callback(app.state.services.store.close)
            return client if is_new else stack.enter_context(client)

        yield start


def beside(running: TestClient, address: tuple[str, int]) -> TestClient:
    """Return a further client of an application that has started."""
    client = TestClient(running.app, raise_server_exceptions=False, client=address)
    client.portal = running.portal
    return client


@pytest.fixture
def client(serve: Callable[..., TestClient]) -> TestClient:
    """A client of the small model on loopback: no keys, no limit of rate."""
    return serve()


@pytest.fixture
def visitor(client: TestClient) -> TestClient:
    """A browser that sends forms from our own pages."""
    client.headers.update(OWN)
    return client


@pytest.fixture
def own_client(serve: Callable[..., TestClient]) -> TestClient:
    """A client of an application and a database that no other test uses."""
    return serve(alone=True)


@pytest.fixture
def run(model_folder: Path, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start(*options: str, **environment: Any) -> Running:
        folder = tmp_path / "served"
        if not folder.exists():
            shutil.copytree(model_folder, folder)
        started.append(Running(folder, *options, **environment))
        return started[-1]

    yield start
    for server in started:
        server.stop()

"""A served model, and both databases: a file of SQLite and a PostgreSQL server of our own."""

import shutil
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator
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

from teaser import Category, Dataset, Teaser
from teaser.app.catalogue import Catalogue
from teaser.app.http import Services
from teaser.app.models import ModelHolder, folder_stamp
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
    return services_of(client).store.create_key("site")


def error_of(answer: Any, status: int) -> Any:
    """Return the error in a response of the API, which has the one shape there is."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    assert set(answer.json()["error"]) == {"code", "message"}
    return answer.json()["error"]


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
        interactions,
        items,
        rules=RULES,
        users=users,
        user_rules=[Category("age"), Category("sex")],
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
        key = (settings.model, folder_stamp(settings.model), added)
        if key not in loaded:
            loaded[key] = ModelHolder(settings).current
        holder = ModelHolder(settings, loaded[key].model)
        holder.current = loaded[key]
        return holder

    return hold


@pytest.fixture
def serve(
    model_folder: Path,
    empty_database: Path,
    tmp_path: Path,
    held: Callable[[Settings], ModelHolder],
) -> Iterator[Callable[..., TestClient]]:
    """Make a client of a new application; settings can be given.

    With `is_new` the application is not started yet, and its model was loaded for it alone.
    """
    with ExitStack() as stack:

        def start(*, is_new: bool = False, **given: Any) -> TestClient:
            database = shutil.copyfile(empty_database, tmp_path / f"api{next(_numbers)}.db")
            usual: dict[str, Any] = {
                "model": model_folder,
                "database_url": f"sqlite:///{database}",
                "hosts": "testserver",
            }
            # A busy machine is no reason for a test to fail: the store has time.
            usual |= {"rate": 0, "monitoring": "all", "store_timeout": 30}
            settings = Settings(**{**usual, **given})
            app = create_app(settings, holder=None if is_new else held(settings))
            stack.callback(app.state.services.store.close)
            client = TestClient(app, raise_server_exceptions=False)
            return client if is_new else stack.enter_context(client)

        yield start


@pytest.fixture
def client(serve: Callable[..., TestClient]) -> TestClient:
    """A client of the small model on loopback: no keys, no limit of rate."""
    return serve()


@pytest.fixture
def run(model_folder: Path, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start(*options: str, **environment: str) -> Running:
        folder = tmp_path / "served"
        if not folder.exists():
            shutil.copytree(model_folder, folder)
        started.append(Running(folder, *options, **environment))
        return started[-1]

    yield start
    for server in started:
        server.stop()

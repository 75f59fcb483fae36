"""Every command in every document is run as written, or parsed by the real command line."""

import re
import shlex
import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import polars as pl
import pytest
from documents import (
    OTHERS,
    PAGES,
    ROOT,
    Command,
    UsageError,
    check_install,
    check_target,
    commands_of,
    mentions,
    parse,
    parse_script,
)
from typer.testing import CliRunner

from teaser import Dataset, Teaser, load
from teaser.app.server import create_app
from teaser.app.settings import Settings
from teaser.cli.main import app
from teaser.data import demo
from teaser.evaluate.study.propose import open_study
from teaser.extensions import DiscoveredTags
from teaser.testing import example_dataset

# Commands of blocks that are parsed and not run, by how they begin, and why.
ONLY_PARSED = {
    "teaser serve": "it serves until it is stopped; tests/cli/test_serve.py runs it",
    "teaser mcp": "it serves until its side closes; tests/app/mcp/test_stdio.py runs it",
    "teaser demo": "it serves until it is stopped; tests/cli/test_demo.py runs it",
    "teaser fit films --out model --scheduler": "it needs a cluster; tests/clusters.py has one",
    "teaser evaluate experiments/events.toml": "a minute; test_experiment.py has a small study",
    "teaser tune experiments/events.toml": "minutes; test_experiment.py has a small one",
    "teaser evaluate books": "minutes; the commands of studies.md are the same, and run",
    "teaser tune rated": "half a minute; the commands of studies.md are the same, and run",
    "teaser evaluate rated": "minutes; the commands of studies.md are the same, and run",
    "teaser evaluate experiments/ml-1m.toml": "it needs MovieLens 1M, and many minutes",
    "teaser simulate experiments/ml-1m.toml": "it needs MovieLens 1M, and many minutes",
}
# Words that stand for a table, whose name would have a suffix, and for an item of DATA.
STANDS_FOR = {
    "INTERACTIONS": "interactions.parquet",
    "ITEMS": "items.parquet",
    "ITEM": "e0001",
}
# Programs that are not ours: not run at all.
FOREIGN = ("dask", "podman", "podman-compose", "docker", "sudo", "export", "caddy")

EVERY = [command for page in (*PAGES, *OTHERS) for command in commands_of(page)]
# `sh` blocks of pages with Python are run by test_docs.py, whose Python needs what they make.
WITH_PYTHON = [page for page in PAGES if "```python" in page.read_text()]
RUN_HERE = {
    page: [c for c in EVERY if c.page == page and c.block and (c.block != "sh" or page in OTHERS)]
    for page in dict.fromkeys(command.page for command in EVERY)
}
RUN_HERE |= {
    page: [c for c in EVERY if c.page == page and c.block]
    for page in RUN_HERE
    if page not in WITH_PYTHON
}


def is_only_parsed(command: Command) -> bool:
    return any(command.text.startswith(begin) for begin in ONLY_PARSED)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the documents' commands begin with, small: tables, a data set, a model, studies."""
    folder = tmp_path_factory.mktemp("documents")
    rng = np.random.default_rng(0)
    films = [1, 318, 1193, *range(2000, 2057)]
    genres = ["Comedy", "Drama", "Comedy|Drama", "Action", "Action|Comedy"]
    titles = [f"Film {i} ({1980 + i % 30})" for i in films]
    movies = pl.DataFrame(
        {"movieId": films, "title": titles, "genres": [genres[i % 5] for i in films]}
    )
    rows = [
        (user, film, float(rng.integers(1, 11)) / 2, 1_000_000_000 + 86_400 * day)
        for user in range(1, 241)
        for day, film in enumerate(rng.permutation(films)[: rng.integers(6, 16)])
    ]
    ratings = pl.DataFrame(rows, schema=["userId", "movieId", "rating", "timestamp"], orient="row")
    ratings.write_csv(folder / "ratings.csv")
    movies.write_csv(folder / "movies.csv")
    small = demo.dataset(n_events=200, n_users=600, start=date(2026, 1, 1))
    model = Teaser(discovered=DiscoveredTags(grains=(10,), factors=32)).fit(small)
    for name in ("events", "DATA"):
        small.save(folder / name)
        small.rules.write(folder / name / "rules.toml")
    for name in ("model", "MODEL"):
        model.dataset_path_ = str(folder / "DATA")
        model.save(folder / name)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plain_names(folder: Path) -> None:
    """Tables whose columns have the names that are taken where none is given."""
    named = {"userId": "user_id", "movieId": "item_id"}
    pl.read_csv("ratings.csv").rename(named).write_csv("ratings.csv")
    pl.read_csv("movies.csv").rename({"movieId": "item_id"}).write_csv("films.csv")
    shutil.rmtree("DATA")


def books(folder: Path) -> None:
    """Tables as strangers have them: tabs, one after the last field; no header; long form."""
    rng = np.random.default_rng(0)
    rows = [f"{u}\t{i}\t1\n" for u in range(1, 41) for i in rng.permutation(30)[:8] + 1]
    Path("book_history.dat").write_text("user\titem\taccessed\n" + "".join(rows))
    header = "Book_ID\tISBN\tBook-Title\tBook-Author\tPublisher\t\n"
    made = [f"{i}\t00{i}\tBook {i}\tAuthor {i % 5}\tSmith &amp; Co\t\n" for i in range(1, 31)]
    Path("items_info.dat").write_text(header + "".join(made))
    for name in ("ratings", "movies"):
        table = pl.read_csv(f"{name}.csv")
        lines = ("::".join(map(str, row)) + "\n" for row in table.iter_rows())
        Path(f"{name}.dat").write_text("".join(lines))
    films = pl.read_csv("movies.csv")
    tags = films.select("movieId", tag=pl.col("genres").str.to_lowercase())
    tags.write_csv("tags.csv")
    plays = pl.read_csv("ratings.csv").select(user="userId", item="movieId")
    plays.write_csv("plays.csv")
    facts = films.select(item="movieId", property=pl.lit("genre"), value="genres")
    facts.write_csv("facts.csv")


def bookshop(folder: Path) -> None:
    """The tables of the ten tasks, small, and a new book."""
    rng = np.random.default_rng(0)
    ids = range(140, 180)
    rows = [f"{u}\t{i}\t1\n" for u in range(1, 61) for i in rng.permutation(ids)[:8]]
    Path("book_history.dat").write_text("user\titem\taccessed\n" + "".join(rows))
    columns = ("Book_ID", "Book-Title", "Book-Author", "Year-Of-Publication", "Publisher")
    authors, publishers = ("Toni Morrison", "Carl Sagan"), ("Penguin Books", "Plume", "Smith")
    books = [
        (i, f"Book {i}", authors[i % 2], 1992 + i % 12, publishers[i % 3]) for i in (*ids, 200)
    ]
    head, *lines = ("\t".join(map(str, row)) + "\n" for row in (columns, *books))
    Path("items_info.dat").write_text(head + "".join(lines[:-1]))
    Path("new_books.tsv").write_text(head + lines[-1])


def example(folder: Path) -> None:
    """The data set that the page's Python begins with, a model of it, and a table it writes."""
    data = example_dataset()
    data.save("data")
    Teaser().fit(data).save("model")
    table = pl.DataFrame({"user_id": ["ann", "bert"], "item_id": ["i1", "i2"]})
    table.write_parquet("histories.parquet")


def repository_files(folder: Path) -> None:
    shutil.copytree(ROOT / "experiments", "experiments")


def own_tables(folder: Path) -> None:
    """The tables that DATA is made of."""
    generated = demo.generate(n_events=200, n_users=600, start=date(2026, 1, 1))
    generated.interactions.write_parquet(STANDS_FOR["INTERACTIONS"])
    generated.items.write_parquet(STANDS_FOR["ITEMS"])


def short_studies(folder: Path) -> None:
    """Studies of two models each: a study that is there is run as it stands."""
    ratings = pl.read_csv("ratings.csv")
    data = Dataset.from_tables(
        ratings, pl.read_csv("movies.csv"), user="userId", item="movieId", time="timestamp"
    )
    data.save("films")
    for kind in ("users", "last", "time"):
        study = open_study(Path("films"), kind=kind)
        path = Path(f"{study.name}.toml")
        left_out = ("ItemKNN", "EASE", "WMF", '"TEASER"]', "+ discovered")
        blocks = path.read_text().split("\n\n")
        kept = [b for b in blocks if not any(name in b.splitlines()[0] for name in left_out)]
        path.write_text("\n\n".join(kept).replace('"TEASER", ', ""))
    shutil.rmtree("films")


# What a page needs beside the tables, DATA and MODEL.
BEFORE: dict[str, Any] = {
    "docs/users/rules.md": plain_names,
    "docs/users/histories.md": plain_names,
    "docs/users/tables.md": books,
    "docs/users/tasks.md": bookshop,
    "docs/users/popularity.md": own_tables,
    "docs/users/lists.md": example,
    "docs/users/control.md": example,
    "docs/users/studies.md": short_studies,
    "experiments/README.md": repository_files,
}


def run(command: Command) -> None:
    """Run a command of teaser, or one that copies a file, as a shell would."""
    program, *words = command.words
    expanded = [
        name
        for word in words
        for name in (
            sorted(map(str, Path().glob(word))) if "*" in word else [STANDS_FOR.get(word, word)]
        )
    ]
    if program == "cp":
        shutil.copy(*expanded)
        return
    assert program == "teaser", command
    done = CliRunner().invoke(app, expanded)
    assert done.exit_code == 0, f"{command}\n{done.output}\n{done.exception!r}"


PAGES_TO_RUN = {
    page.relative_to(ROOT).as_posix(): found
    for page, commands in RUN_HERE.items()
    if (found := [c for c in commands if c.words[0] in ("teaser", "cp") and not is_only_parsed(c)])
}


@pytest.mark.parametrize("page", PAGES_TO_RUN)
def test_the_commands_of_a_page_run_as_written(page: str, folder: Path) -> None:
    BEFORE.get(page, lambda _: None)(folder)
    for command in PAGES_TO_RUN[page]:
        run(command)


def test_every_command_is_taken_by_the_real_command_line() -> None:
    assert len(EVERY) > 150
    for command in EVERY:
        program, *words = command.words
        if program == "teaser" and command.block:
            parse(words)
        elif program == "teaser":
            bare = [word.strip("[]").removesuffix("...") for word in words]
            try:
                parse(bare)
            except (UsageError, AssertionError):
                mentions(bare)
        elif program == "python":
            if words[:2] != ["-m", "teaser"]:
                parse_script(words)
        elif program == "make":
            check_target(words)
        elif program == "pip":
            check_install(words)
        else:
            known = (*FOREIGN, "curl", "cp")
            assert program in known or "=" in program, f"not checked: {command}"


def test_a_wrong_command_is_found() -> None:
    with pytest.raises(AssertionError, match="no command 'fitt'"):
        parse(["fitt", "DATA"])
    for wrong in (["fit", "DATA", "--out", "M", "--l3", "1"], ["fit", "DATA"], ["info"]):
        with pytest.raises(UsageError):
            parse(wrong)
    with pytest.raises(AssertionError, match="--ouut"):
        mentions(["fit", "--ouut"])
    with pytest.raises(AssertionError):
        check_target(["coffee"])
    with pytest.raises(AssertionError):
        check_install(["install", ".[coffee]"])
    with pytest.raises(SystemExit):
        parse_script(["benchmarks/site.py", "--coffee"])


def test_what_is_only_parsed_is_in_a_document() -> None:
    for begin in ONLY_PARSED:
        assert any(c.text.startswith(begin) and c.block for c in EVERY), begin


@pytest.fixture
def client(made: Path, tmp_path: Path) -> Iterator[Any]:
    from app.conftest import TestClient

    settings = Settings(
        model=str(made / "model"), database_url=f"sqlite:///{tmp_path / 'people.db'}"
    )
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as opened:
        yield opened


def curl(client: Any, words: list[str]) -> Any:
    """Send the request of a curl command: its method, headers, body and parameters."""
    options: dict[str, list[str]] = {"-H": [], "-d": [], "--data-urlencode": [], "-X": []}
    flags, urls, rest = set(), [], iter(words)
    for word in rest:
        if word in options:
            options[word].append(next(rest))
        elif word.startswith("-"):
            flags.add(word)
        else:
            urls.append(word)
    assert flags <= {"-s", "-G"}
    (url,) = urls
    parts = urlsplit(url)
    assert parts.netloc in ("127.0.0.1:8000", "example.org"), url
    body = "".join(options["-d"]) or None
    method = (options["-X"] or ["POST" if body else "GET"])[0]
    pairs = [tuple(given.split("=", 1)) for given in options["--data-urlencode"]]
    return client.request(
        method,
        parts.path,
        params=[*parse_qsl(parts.query), *pairs],
        content=body,
        headers=dict(line.split(": ", 1) for line in options["-H"]),
    )


def test_the_requests_of_the_api_page_are_answered(client: Any, made: Path) -> None:
    """A stored person's address and a group's name differ here: they are put in."""
    groups = load(made / "model", Teaser).groups_
    assert groups is not None
    group = groups.groups[0].tag
    variables: dict[str, str] = {}
    person = ""
    requests = [c for c in EVERY if c.page.name == "api.md" and c.words[0] not in ("teaser",)]
    assert len(requests) >= 10
    for command in requests:
        text = command.text
        if named := re.fullmatch(r"(\w+)=(\S+)", text):
            variables[named[1]] = re.sub(r"(?<=/people/)[\w-]+", person, named[2])
            continue
        for name, value in variables.items():
            text = text.replace(f"${name}", value)
        text = re.sub(r"discovered=[^']+", f"discovered={group.value}", text)
        program, *words = shlex.split(text)
        assert program == "curl"
        if "tk_" in text:
            key = client.app.state.services.store.create_key("website")
            words = [word.replace("tk_...", key) for word in words]
        answer = curl(client, words)
        assert answer.status_code < 300, f"{command}\n{answer.text}"
        if text.endswith("/people"):
            person = answer.json()["person_id"]

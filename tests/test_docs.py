"""Documentation is run: its Python, its commands, its rules; and it names what there is."""

import argparse
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

import teaser
from teaser import Teaser
from teaser.app.server import create_app
from teaser.app.settings import Settings
from teaser.cli.main import app
from teaser.data import demo
from teaser.evaluate.study.plan import Study
from teaser.evaluate.study.run import check_models
from teaser.extensions import DiscoveredTags
from teaser.words.interpreter import GROUP
from teaser.words.vocabulary import read_synonyms

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [
    ROOT / name
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md", "experiments/README.md")
]
# What the command line raises for wrong arguments; typer has its own copy of click's class.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
PROGRAMS = ("teaser", "python", "make", "pip", "curl", "dask", "cp")
# Programs that are not ours.
FOREIGN = ("dask", "podman", "podman-compose", "docker", "sudo", "export", "caddy", "curl", "cp")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_commands_and_examples_run_as_they_stand(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "sh"):
        for line in block.splitlines():
            if line.startswith("teaser "):
                done = CliRunner().invoke(app, shlex.split(line)[1:])
                assert done.exit_code == 0, f"{line}\n{done.output}"
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)  # noqa: S102


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "toml")], ids=lambda p: p.name)
def test_rules_and_studies_in_the_documentation_are_valid(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        path = tmp_path / "written.toml"
        path.write_text(block)
        if "[data]" in block:
            check_models(Study.read(path).models)
        elif "[project." in block:
            assert tomllib.loads(block)["project"]["entry-points"][GROUP]
        elif page.name == "steering.md":
            assert read_synonyms(path)
        else:
            assert teaser.Rules.read(path).tags


def anchors(page: Path) -> set[str]:
    """Return the names by which links reach the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, *OTHERS]:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            if target.startswith("http"):
                continue
            path, _, anchor = target.partition("#")
            linked = page.parent / path if path else page
            assert linked.exists(), (page, target)
            assert not anchor or anchor in anchors(linked), (page, target)


def test_the_index_names_every_page() -> None:
    text = (ROOT / "docs" / "README.md").read_text()
    for page in PAGES[1:]:
        name = page.relative_to(ROOT / "docs").as_posix()
        assert name == "README.md" or f"({name})" in text, name


def test_every_public_name_is_documented() -> None:
    for name in teaser.__all__:
        if name != "__version__":
            assert getattr(teaser, name).__doc__, name


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run_and_say_something(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(script), run_name="__main__")
    assert "because of " in capsys.readouterr().out


@dataclass(frozen=True)
class Command:
    """A command of a document; `block` is the language of its block, empty within a sentence."""

    page: Path
    text: str
    block: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.text}"


def commands_of(page: Path) -> list[Command]:
    """Return the commands of a page: of its blocks, in order, then those within sentences."""
    text = page.read_text()
    found = [
        Command(page, line, match["kind"])
        for match in _BLOCK.finditer(text)
        for line in _lines(match["kind"], match["text"])
    ]
    rest = _BLOCK.sub("", text)
    spans = re.findall(rf"`((?:{'|'.join(PROGRAMS)}) [^`\n]+)`", rest)
    return found + [Command(page, span, "") for span in dict.fromkeys(spans)]


_BLOCK = re.compile(r"^(?P<indent> *)```(?P<kind>\w*)\n(?P<text>.*?)^(?P=indent)```", re.M | re.S)


def _lines(kind: str, block: str) -> Iterator[str]:
    """Yield the commands of a block; one whose quotes are open goes on in the next line."""
    if kind not in ("sh", "console", "text"):
        return
    whole = ""
    for line in block.splitlines():
        if not whole and not (kind == "sh" or line.strip().startswith("$ ")):
            continue  # what a command prints
        whole += line.strip().removeprefix("$ ") + "\n"
        try:
            words = shlex.split(whole, comments=True)
        except ValueError:
            continue
        if words:
            yield whole.strip()
        whole = ""
    assert not whole, f"open quotes in {whole!r}"


@cache
def program() -> Any:
    """Return the command line, made once: to make it takes longer than to parse with it."""
    return get_command(app)


def parse(words: list[str]) -> Any:
    """Parse a command of teaser as the command line does, without running it."""
    command = program()
    context = command.make_context("teaser", words[:1], resilient_parsing=True)
    for place, word in enumerate(words):
        inner = command.get_command(context, word)
        assert inner is not None, f"there is no command {' '.join(words[: place + 1])!r}"
        command = inner
        if not isinstance(command, TyperGroup):
            return command.make_context(word, list(words[place + 1 :]), parent=context)
    return context  # the name of a group alone


def mentions(words: list[str]) -> None:
    """Check words within a sentence: the command exists, and all of its options that are named."""
    command = program()
    context = command.make_context("teaser", [], resilient_parsing=True)
    rest = list(words)
    while rest and isinstance(command, TyperGroup) and not rest[0].startswith("-"):
        if rest[0].isupper():  # teaser COMMAND
            return
        inner = command.get_command(context, rest.pop(0))
        assert inner is not None, f"there is no command {' '.join(words)!r}"
        command = inner
    known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help"}
    for word in rest:
        assert not word.startswith("-") or word.partition("=")[0] in known, f"{word} in {words}"


class _ParsedError(BaseException):
    """The arguments were parsed: the script need not go on."""


def parse_script(words: list[str]) -> None:
    """Check that a script exists and takes these arguments; it stops where it has parsed them."""
    path = ROOT / words[0]
    assert path.is_file(), words
    if not words[1:]:
        return
    parse_args = argparse.ArgumentParser.parse_args

    def stop(self: argparse.ArgumentParser, *given: Any, **named: Any) -> None:
        parse_args(self, *given, **named)
        raise _ParsedError

    with (
        mock.patch.object(argparse.ArgumentParser, "parse_args", stop),
        mock.patch.object(sys, "argv", [str(path), *words[1:]]),
        mock.patch.object(sys, "path", [str(path.parent), *sys.path]),
    ):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except _ParsedError:
            return
    raise AssertionError(f"{words} parses no arguments")


def check_target(words: list[str]) -> None:
    """Check that the Makefile has a target, and the variables that are set for it."""
    makefile = (ROOT / "Makefile").read_text()
    variables = {word.partition("=")[0] for word in words if "=" in word}
    assert variables <= set(re.findall(r"\$\(([A-Z]+)\)", makefile)), words
    targets = re.findall(r"^([a-z-]+):", makefile, re.M)
    assert {word for word in words if "=" not in word} <= set(targets), words


def check_install(words: list[str]) -> None:
    """Check that the extras of an installation exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for word in words[1:]:
        name, _, extras = word.partition("[")
        ours = name == "." or name.startswith((project["name"], "teaser_recommender"))
        assert ours or word.startswith("-"), word
        for extra in filter(None, extras.rstrip("]").split(",")):
            assert extra in project["optional-dependencies"], word


EVERY = [command for page in (*PAGES, *OTHERS) for command in commands_of(page)]


def test_every_command_is_taken_by_the_real_command_line() -> None:
    assert len(EVERY) > 80
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
            assert program in FOREIGN or "=" in program, f"not checked: {command}"


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


@pytest.fixture
def model() -> Teaser:
    found = DiscoveredTags(grains=(10,), factors=32)
    return Teaser(discovered=found).fit(demo.dataset(n_events=200, n_users=600))


@pytest.fixture
def client(model: Teaser, tmp_path: Path) -> Iterator[Any]:
    from app.conftest import TestClient

    model.save(tmp_path / "model")
    settings = Settings(model=tmp_path / "model")
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as opened:
        yield opened


def test_the_requests_of_the_api_page_are_answered(client: Any) -> None:
    """A stored person's address differs here: it is put in."""
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
        program, *words = shlex.split(text)
        assert program == "curl"
        if "tk_" in text:
            key = client.app.state.services.store.create_key(f"website {command.text}"[:100])
            words = [word.replace("tk_...", key) for word in words]
        answer = curl(client, words)
        assert answer.status_code < 300, f"{command}\n{answer.text}"
        if text.endswith("/people"):
            person = answer.json()["person_id"]

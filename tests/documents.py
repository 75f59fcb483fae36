"""The commands in the documents, and how each is checked: run, or parsed without running."""

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

import typer
from typer.core import TyperGroup
from typer.main import get_command

from teaser.cli.main import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [
    ROOT / name
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md", "experiments/README.md")
]
# What the command line raises for wrong arguments; typer has its own copy of click's class.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
PROGRAMS = ("teaser", "python", "make", "pip", "curl", "dask", "cp")


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

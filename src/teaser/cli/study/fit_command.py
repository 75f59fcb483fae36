"""The `teaser fit` command that gives a model the parameters that a study found."""

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from teaser.cli.options import FLAGS
from teaser.model.extensions.options import OPTIONS
from teaser.model.shared_fit import make_model
from teaser.model.teaser import Teaser

if TYPE_CHECKING:
    from teaser.evaluate.study.plan import Study

# Given always: without them, `teaser fit` would choose a recipe of its own.
_ALWAYS = ("l2_weights", "l2_encoder")


def fit_commands(study: "Study", data: Path, parameters: Mapping[str, Any]) -> list[str]:
    """Return the commands that fit a Teaser of these parameters to all data of a study.

    The last is `teaser fit`. One to prepare the data comes before it, where the study reads
    tables; DATA stands for a prepared folder where no command makes the same data.

    Parameters
    ----------
    data
        The folder of the public data sets.
    parameters
        As a study has them, also dotted.
    """
    folder, before = _prepared(study, data)
    words = ["teaser", "fit", folder, "--out", f"{study.name}-model", *_options(parameters)]
    return [*before, shlex.join(words)]


def _prepared(study: "Study", data: Path) -> tuple[str, list[str]]:
    """Return the prepared folder of a study, and the command that makes it, where one is needed."""
    plan, beside = study.data, Path(study.folder)
    if plan.prepared:
        return os.path.normpath(beside / plan.prepared), []
    if plan.options or plan.min_items is not None:  # the command has no such options
        return "DATA", []
    tables = dict(plan.tables)
    if plan.source:
        found = [] if plan.source == "events" else [str(data / plan.folder)]
        words = [*found, "--source", plan.source]
        if plan.source == "events":
            words += ["--start", "2026-01-01"]
    else:
        named = (tables.pop(name, None) for name in ("interactions", "items"))
        words = [os.path.normpath(beside / name) for name in named if name is not None]
    for name, value in tables.items():
        is_file = name in ("users", "rules", "user_rules")
        written = os.path.normpath(beside / value) if is_file else _written(value)
        words += [f"--{name.replace('_', '-')}", written]
    folder = f"{study.name}-data"
    return folder, [shlex.join(["teaser", "prepare", *words, "--out", folder])]


def _options(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options of `teaser fit` for the parameters that are not defaults."""
    given, default = make_model("Teaser", parameters).parameters(), Teaser().parameters()
    for name, value in given.items():
        if name in OPTIONS:
            yield from () if value is None else _extension(name, value)
        elif name in _ALWAYS or value != default[name]:
            flag = FLAGS.get(name, (f"--{name.replace('_', '-')}",))[0]
            if isinstance(value, bool):
                yield flag if value else f"--no-{flag.removeprefix('--')}"
            elif value is not None:
                yield from (flag, _written(value))


def _extension(name: str, options: Any) -> Iterator[str]:
    """Yield the entries of an options object that are not its defaults, or the switch alone."""
    default, words = type(options)(), []
    for each in fields(options):
        value = getattr(options, each.name)
        if value != getattr(default, each.name):
            flag = f"--{name}-{each.name}".replace("_", "-")
            # A command line cannot write None: 0 stands for it.
            words += [flag, _written(0 if value is None else value)]
    yield from words or [f"--{name}"]


def _written(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ",".join(map(_written, value))
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)

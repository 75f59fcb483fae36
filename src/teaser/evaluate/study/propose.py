"""A study for a prepared data set: models, grids and split of a size that fits it."""

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from teaser.data.dataset import Dataset
from teaser.data.split import TEST_FROM, VALIDATION_FROM, split_time
from teaser.errors import DataError, ParameterError, closest, counted
from teaser.evaluate.choose import ease_penalties, first_parameters
from teaser.evaluate.study.data import read_prepared
from teaser.evaluate.study.plan import SPLITS, Study
from teaser.evaluate.study.results import write_text
from teaser.files import memory_of_machine, say_bytes
from teaser.model.teaser import Teaser
from teaser.templates import environment

# Above so many items, grids of EASE are short; above the second, there is no EASE.
FEW_EASE_ITEMS, MOST_EASE_ITEMS = 5_000, 25_000
# A fit that is expected to take longer gets one encoder instead of a grid.
SLOW_SECONDS = 120.0
# A study needs so many users; of fewer than the second, it says so.
LEAST_USERS, FEW_USERS = 20, 100
_MIN_INTERACTIONS = (5, 4, 3)
# Shares of the users that can be evaluated, and the most of them.
_VALIDATION, _TEST = (0.1, 1000), (0.15, 2000)
_MOST_BY_TIME = (2000, 4000)


def study_path(prepared: Path, folder: Path | None = None, *, kind: str = "users") -> Path:
    """Return where the study of a prepared data set is written: beside it, or in a folder."""
    if kind not in SPLITS:
        raise ParameterError(
            f"The split must be one of {', '.join(SPLITS)}, found {kind!r}.{closest(kind, SPLITS)}"
        )
    ending = "study" if kind == "users" else f"study-{kind}"
    # A relative path stays one where it has a name; "." and ".." have none.
    place = prepared if prepared.name not in ("", "..") else prepared.resolve()
    return (place.parent if folder is None else folder) / f"{place.name}-{ending}.toml"


def open_study(prepared: Path, folder: Path | None = None, *, kind: str = "users") -> Study:
    """Return the study of a prepared data set; it is written where there is none yet.

    A study that is there already is taken as it stands, so that it can be edited.
    """
    path = study_path(prepared, folder, kind=kind)
    if not path.exists():
        dataset = read_prepared(prepared)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, propose_study(dataset, prepared, path.parent, kind=kind))
    study = Study.read(path)
    named = Path(study.folder) / study.data.prepared
    if not study.data.prepared or named.resolve() != prepared.resolve():
        raise ParameterError(
            f"{path} is the study of other data ({study.data.prepared or 'not a prepared folder'})."
            f" Run it by its own name, move it away, or write elsewhere with --out."
        )
    return study


def propose_study(dataset: Dataset, prepared: Path, folder: Path, *, kind: str = "users") -> str:
    """Return the text of a study, a TOML file in `folder`.

    Popularity, ItemKNN, WMF, EASE and its relatives are compared with the paper's TEASER, one with
    discovered tags, and the recommended one. Where items have tags, collective EASE, RDLAE and
    EASE on neighbours learn from them too, so that all compare with the same information. Models
    that do not fit into the memory, or whose package is missing, are left out with a comment that
    says so.

    Parameters
    ----------
    prepared
        The folder of the data set.
    kind
        The split: `"users"`, `"last"` or `"time"`.
    """
    split, large = _split(dataset, kind), dataset.n_items > FEW_EASE_ITEMS
    penalties, first = ease_penalties(_mean_count(dataset))
    array = 4 * dataset.n_items**2
    few = min(split["validation"], split["test"])
    templates = environment(Path(__file__).parents[1] / "templates")
    templates.filters["toml"] = _value
    return templates.get_template("study.toml").render(
        title=prepared.resolve().name,
        prepared=os.path.relpath(prepared.resolve(), folder.resolve()),
        split=split,
        few=few if few < FEW_USERS else None,
        n_items=dataset.n_items,
        array=say_bytes(array),
        has_ease=dataset.n_items <= MOST_EASE_ITEMS and 3 * array <= memory_of_machine(),
        is_large=large,
        penalties=penalties,
        middle=penalties[max(0, first - 1) :][:3],
        has_wmf=importlib.util.find_spec("implicit") is not None,
        has_tags=bool(dataset.n_tags),
        l1=_weights_penalty(dataset),
        teasers=[_teaser(dataset, name, grid) for name, grid in _teaser_grids(dataset).items()],
    )


def _split(dataset: Dataset, kind: str) -> dict[str, Any]:
    """Return the entries of [split]; raise `DataError` where the data cannot be split so."""
    if kind != "users" and dataset.times is None:
        raise DataError(
            f"A split of kind {kind} needs the time of each interaction, and this data set has "
            "none. Prepare it with --time COLUMN, or split by users."
        )
    if kind == "time":
        return _split_by_time(dataset)
    lengths = np.diff(dataset.X.indptr)
    for least in _MIN_INTERACTIONS:
        able = int((lengths >= least).sum())
        if able >= 10 * LEAST_USERS:
            break
    if able < LEAST_USERS:
        raise DataError(
            f"{able:,} users with {least} interactions or more are too few for a study; at least "
            f"{LEAST_USERS} are needed."
        )
    if kind == "users":
        sizes = [max(1, min(most, int(share * able))) for share, most in (_VALIDATION, _TEST)]
    else:
        sizes = [min(most, able) for most in _MOST_BY_TIME]
    named = {} if kind == "users" else {"kind": kind}
    return {**named, "validation": sizes[0], "test": sizes[1], "min_interactions": least}


def _split_by_time(dataset: Dataset) -> dict[str, Any]:
    """Return the entries of a split by time; raise `DataError` if it leaves too few users."""
    parts = split_time(dataset, rng=0)
    for fold, start in ((parts.test, TEST_FROM), (parts.validation, VALIDATION_FROM)):
        if fold.n_users < LEAST_USERS:
            raise DataError(
                f"{counted(fold.n_users, 'user')} with choices before and after the first "
                f"{start:.0%} of all interactions are too few for a study; at least {LEAST_USERS} "
                "are needed. Take --split last or --split users, or write a study with another "
                "test_from and validation_from."
            )
    points = {"test_from": TEST_FROM, "validation_from": VALIDATION_FROM}
    folds = {"validation": parts.validation, "test": parts.test}
    sizes = zip(folds.items(), _MOST_BY_TIME, strict=True)
    return {"kind": "time", **points, **{n: min(most, fold.n_users) for (n, fold), most in sizes}}


def _teaser_grids(dataset: Dataset) -> dict[str, dict[str, list[Any]]]:
    """Return the grid of each Teaser by its name; the paper's only where items have tags."""
    content: dict[str, list[Any]] = {"content.weight": [0.1, 0, 1, 10]} if dataset.n_tags else {}
    l1, powers = {"l2_weights": [_weights_penalty(dataset)]}, {"weights.history_power": [0, 0.1]}
    near = {"remainder.neighbours": [100], "remainder.l2": [50, 200, 1000]}
    paper = {"TEASER": {"l2_weights": [20, 200], "l2_encoder": [50, 500]}}
    return {
        **(paper if dataset.n_tags else {}),
        "TEASER + discovered": {**content, **l1, "l2_encoder": [3000, 300], **powers},
        # A quick run keeps the first: neighbours say what a strongly held back encoder does not.
        "TEASER, recommended": {**content, **l1, "l2_encoder": [3000, 30000], **powers, **near},
    }


def _teaser(dataset: Dataset, name: str, grid: dict[str, list[Any]]) -> dict[str, Any]:
    """Return name, parameters, grid and remark of a Teaser; a shortage where it does not fit."""
    recipe = {"TEASER": "paper", "TEASER + discovered": "discovered"}.get(name, "neighbours")
    own = first_parameters(recipe, _mean_count(dataset), {})
    expected = Teaser(**own).estimate(dataset)
    options = (option for option in ("weights", "discovered") if option in own)
    note = ""
    if expected.seconds > SLOW_SECONDS:
        # One encoder serves all penalties of the remainder: these stay.
        grid = {k: values if k == "remainder.l2" else values[:1] for k, values in grid.items()}
        note = f"One encoder: a fit is expected to take {expected.seconds:.0f} s."
    elif "remainder.l2" in grid:
        note = "Penalties of the remainder last: the encoder is found once for all of them."
    return {
        "name": name,
        "parameters": {option: _own_entries(own[option]) for option in options},
        "grid": grid,
        "note": note,
        "shortage": expected.shortage(),
    }


def _own_entries(options: Any) -> dict[str, Any]:
    """Return the entries of an options object that are not its defaults."""
    default = asdict(type(options)())
    return {name: value for name, value in asdict(options).items() if value != default[name]}


def _weights_penalty(dataset: Dataset) -> float:
    return float(first_parameters("weighted", _mean_count(dataset), {})["l2_weights"])


def _mean_count(dataset: Dataset) -> float:
    return float(dataset.item_counts.mean()) if dataset.n_items else 0.0


def _value(value: Any) -> str:
    """Return a value as TOML writes it, in one line."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        return table.as_string()
    text: str = tomlkit.item(value).as_string()
    return text

"""A study for a prepared data set: models, grids and split of a size that fits it."""

import importlib.util
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from teaser.data.dataset import Dataset
from teaser.data.split import TEST_FROM, VALIDATION_FROM, split_time
from teaser.errors import DataError, ParameterError, closest, counted
from teaser.evaluate.choose import ease_penalties, first_parameters
from teaser.evaluate.study.plan import SPLITS, Study
from teaser.evaluate.study.results import write_text
from teaser.files import memory_of_machine, say_bytes
from teaser.model.teaser import Teaser

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
        dataset = Dataset.load(prepared)
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
    where = os.path.relpath(prepared.resolve(), folder.resolve())
    split = _split(dataset, kind)
    blocks = [
        "# Written by teaser evaluate. Edit it and run it again: teaser evaluate THIS.toml\n"
        "# experiments/README.md in the source of TEASER describes every entry.",
        f"title = {_value(prepared.resolve().name)}",
        _table("data", {"prepared": where}),
        _remark(split) + _table("split", split),
        *_models(dataset),
        _table("dial", _dial(dataset)),
        _table("quick", _quick(split)),
    ]
    return "\n\n".join(blocks) + "\n"


def _split(dataset: Dataset, kind: str) -> dict[str, Any]:
    """Return the entries of [split]; raise `DataError` where the data cannot be split so."""
    validation, test = _MOST_BY_TIME
    if not hasattr(dataset.X, "indptr"):
        raise DataError(
            "The interactions are in partitions, and a study cannot split those. Prepare a table "
            "of some of the users."
        )
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
        validation, test = (
            max(1, min(most, int(share * able))) for share, most in (_VALIDATION, _TEST)
        )
        return {"validation": validation, "test": test, "min_interactions": least}
    return {
        "kind": kind,
        "validation": min(validation, able),
        "test": min(test, able),
        "min_interactions": least,
    }


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
    validation, test = (
        min(most, fold.n_users)
        for most, fold in zip(_MOST_BY_TIME, (parts.validation, parts.test), strict=True)
    )
    points = {"test_from": TEST_FROM, "validation_from": VALIDATION_FROM}
    return {"kind": "time", **points, "validation": validation, "test": test}


def _remark(split: Mapping[str, Any]) -> str:
    few = min(split["validation"], split["test"])
    return f"# {few:,} users are few: intervals are wide.\n" if few < FEW_USERS else ""


def _quick(split: Mapping[str, Any]) -> dict[str, int]:
    most = {"validation": 200, "test": 300}
    return {"training": 2500} | {name: min(n, split[name]) for name, n in most.items()}


def _models(dataset: Dataset) -> Iterator[str]:
    """Yield a table for each model, or a comment where it is left out; then the feedback."""
    yield _model("Popularity", "Popularity")
    yield _model("ItemKNN", "ItemKNN", grid={"neighbours": [50, 200]})
    yield from _without_tags(dataset)
    if importlib.util.find_spec("implicit") is None:
        yield "# WMF is left out: the package implicit is not installed (extra evaluate)."
    else:
        yield _model("WMF", "WMF", {"factors": 64}, {"alpha": [2, 8, 32]})
    given: dict[str, dict[str, list[Any]]] = {}
    if dataset.n_tags:
        given["TEASER"] = {"l2_weights": [20, 200], "l2_encoder": [50, 500]}
    l1 = first_parameters("weighted", _mean_count(dataset), {})["l2_weights"]
    content = _content(dataset)
    powers = {"weights.history_power": [0, 0.1]}
    given["TEASER + discovered"] = {
        **content, "l2_weights": [l1], "l2_encoder": [3000, 300], **powers,
    }  # fmt: skip
    # A quick run keeps the first: neighbours say what a strongly held back encoder does not.
    given["TEASER, recommended"] = {
        **content, "l2_weights": [l1], "l2_encoder": [3000, 30000], **powers,
        "remainder.neighbours": [100], "remainder.l2": [50, 200, 1000],
    }  # fmt: skip
    tried: list[str] = []
    for name, grid in given.items():
        text, is_left_out = _teaser(dataset, name, grid)
        tried += [] if is_left_out else [name]
        yield text
    if tried:
        pressed = [name for name in tried if name != "TEASER + discovered"]
        kinds = ["declared", "discovered"] if dataset.n_tags else ["discovered"]
        simulate = {"tags": [1], "strengths": [3, -3], "among": kinds, "scales": ["robust"]}
        yield _table("simulate", {**simulate, "models": pressed, "draws": 1})


def _content(dataset: Dataset) -> dict[str, list[Any]]:
    """Return the weights of content that a grid has; none where items have no tags."""
    return {"content.weight": [0.1, 0, 1, 10]} if dataset.n_tags else {}


def _without_tags(dataset: Dataset) -> Iterator[str]:
    """Yield EASE and its relatives, where an items x items array can be inverted."""
    penalties, first = ease_penalties(_mean_count(dataset))
    middle = penalties[max(0, first - 1) :][:3]
    # The same information as TEASER has: tags, weights of users and powers.
    rich: dict[str, list[Any]] = {**_content(dataset), "weights.user_power": [0.5]}
    powers = {"weights.history_power": [0, 0.1, 0.2]}
    weighted: dict[str, Any] = {"weights": {"ridge_power": 0.5}}
    array, is_large = 4 * dataset.n_items**2, dataset.n_items > FEW_EASE_ITEMS
    if dataset.n_items > MOST_EASE_ITEMS or 3 * array > memory_of_machine():
        yield (
            f"# EASE is left out: it inverts an array of {dataset.n_items:,} x "
            f"{dataset.n_items:,} numbers ({say_bytes(array)})."
        )
    else:
        note = "# Few penalties: each fit inverts a large array.\n" if is_large else ""
        if is_large:
            rich, few = {name: values[:2] for name, values in rich.items()}, middle[:1]
        else:
            few = middle[:2]
        yield note + _model("EASE", "EASE", grid={"l2": middle if is_large else penalties})
        # Powers last: weights are found once for all of them.
        yield _model("collective EASE", "EASE", weighted, {**rich, "l2": few, **powers})
        plain: dict[str, Any] = {"weights": {"ridge_power": 0}}
        yield _model("RDLAE", "RDLAE", plain, {**rich, "l2": few, "dropout": [0.3], **powers})
    near = weighted | {"neighbours": 100}
    yield _model("EASE on neighbours", "NeighbourEASE", near, {**rich, "l2": middle[:2], **powers})


def _teaser(dataset: Dataset, name: str, grid: dict[str, list[Any]]) -> tuple[str, bool]:
    """Return the table of a Teaser, or a comment and True where it does not fit."""
    recipe = {"TEASER": "paper", "TEASER + discovered": "discovered"}.get(name, "neighbours")
    own = first_parameters(recipe, _mean_count(dataset), {})
    expected = Teaser(**own).estimate(dataset)
    short = expected.shortage()
    if short is not None:
        return f"# {name} is left out: {short}.", True
    fixed: dict[str, Any] = {
        option: _own_entries(own[option]) for option in ("weights", "discovered") if option in own
    }
    if expected.seconds > SLOW_SECONDS:
        # One encoder serves all penalties of the remainder: these stay.
        shorter = {
            entry: values if entry == "remainder.l2" else values[:1]
            for entry, values in grid.items()
        }
        comment = f"# One encoder: a fit is expected to take {expected.seconds:.0f} s.\n"
        return comment + _model(name, "Teaser", fixed, shorter), False
    last = "# Penalties of the remainder last: the encoder is found once for all of them.\n"
    return (last if "remainder.l2" in grid else "") + _model(name, "Teaser", fixed, grid), False


def _own_entries(options: Any) -> dict[str, Any]:
    """Return the entries of an options object that are not its defaults."""
    default = asdict(type(options)())
    return {name: value for name, value in asdict(options).items() if value != default[name]}


def _dial(dataset: Dataset) -> dict[str, Any]:
    l1 = first_parameters("weighted", _mean_count(dataset), {})["l2_weights"]
    return {
        "l2_weights": [l1],
        "l2_encoder": [300, 3000],
        "neighbours": [100],
        "remainder_l2": [50, 200, 1000],
    }


def _mean_count(dataset: Dataset) -> float:
    return float(dataset.item_counts.mean()) if dataset.n_items else 0.0


def _model(
    name: str,
    kind: str,
    parameters: Mapping[str, Any] | None = None,
    grid: Mapping[str, list[Any]] | None = None,
) -> str:
    entries: dict[str, Any] = {"kind": kind}
    entries |= {k: v for k, v in (("parameters", parameters), ("grid", grid)) if v}
    return _table(f"models.{_value(name)}", entries)


def _table(name: str, entries: Mapping[str, Any]) -> str:
    lines = (f"{entry} = {_value(value)}" for entry, value in entries.items())
    return "\n".join([f"[{name}]", *lines])


def _value(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, Mapping):
        if not value:
            return "{}"
        return "{ " + ", ".join(f"{k} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # Strings of JSON are strings of TOML.
    return json.dumps(value, ensure_ascii=False)

"""The card of a model, as Markdown: data, tags, recipe, accuracy, parts of scores, limits."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from teaser import artifact
from teaser._version import __version__
from teaser.data.dataset import Dataset
from teaser.data.tags import DISCOVERED
from teaser.errors import counted
from teaser.evaluate.check import check_model
from teaser.evaluate.choose import RECIPES
from teaser.evaluate.truth import Truth
from teaser.explain import PARTS
from teaser.model.base import plain_parameters
from teaser.model.extensions.remainder import without_neighbours
from teaser.model.recipe import Recipe, Trial, percent
from teaser.model.teaser import Teaser
from teaser.templates import environment

# Half the width of a 95 % interval, in standard errors.
_INTERVAL = 1.96
_FEW = 3
_MEANING = {
    "general": "general appeal: what an average user would see in an item",
    "declared": "tags of the metadata",
    "discovered": "tags that the fit found",
    "popularity": "how often an item was chosen",
    "viewed": "items that the user viewed",
}


def card(
    model: Teaser,
    dataset: Dataset | None = None,
    *,
    folder: str | Path | None = None,
    stability: bool = False,
    rng: int | np.random.Generator = 0,
) -> str:
    """Return the card of a model as Markdown.

    It says what the model, its folder and its data set hold, and nothing else.

    Parameters
    ----------
    model
        A fitted model.
    dataset
        The data set that it was fitted to. With it the card has the report of the data, and what
        `check_model` finds.
    folder
        Where the model is saved, for its name, its version and how to load it.
    stability
        Whether to fit two halves of the users, to tell how stable profiles are; see `check_model`.
    rng
        Seed of the users that are looked at.
    """
    model.check_fitted()
    recipe, table = model.recipe_ or Recipe((), "", ""), model.tag_table_
    trial = recipe.best(recipe.chosen)
    measured = [t for t in recipe.table() if t.ndcg is not None]
    check, truth, parts, whose = None, None, {} if trial is None else trial.parts, "held-out users"
    if dataset is not None:
        check = check_model(model, dataset, rng=rng, stability=stability)
        parts, whose = check.parts, f"{counted(check.n_users, 'user')} of the data set"
        truth = check.truth
    if truth is None and trial is not None and trial.truth:
        truth = Truth.from_dict(trial.truth)
    unused = model.popularity_ == 0
    bare = np.diff(sp.csr_array(table.learned_decoder[:, : table.n_personal]).indptr) == 0
    has_neighbours = model.remainder is not None and model.remainder.neighbours
    own, default = (plain_parameters(m.parameters()) for m in (model, Teaser()))
    people = Counter(tag.feature for tag in model.user_tags_)
    name = None if folder is None else Path(folder).resolve().name
    templates = environment(Path(__file__).parent / "templates")
    templates.globals["counted"] = counted
    templates.filters |= {"plain": _plain, "cell": _cell, "reached": _reached}
    text = templates.get_template("card.md").render(
        model=model,
        name=name or "a Teaser model",
        folder=name or "MODEL",
        written=_written(folder),
        dataset=dataset,
        n_items=len(model.items_),
        has_viewed=model.remainder_ is not None,
        features=list(_features(model)),
        roles=[f"{role}: {column}" for role, column in model.rules_.roles.items()],
        user_features=[f"{n:,} {feature}" for feature, n in people.items()],
        RECIPES=RECIPES,
        recipe=model.recipe_,
        trial=trial,
        measured=measured,
        trials=[
            [f"**{t.name}**" if t is trial else t.name, _reached(t), *recipe.cells(t)[1:]]
            for t in measured
        ],
        n_tried=sum(t.ndcg is not None for t in recipe.tried),
        left_out=[f"{t.name} is left out: {t.reason}" for t in recipe.table() if t.reason],
        parts=[(_MEANING[p], percent(parts[p])) for p in PARTS if parts.get(p, 0.0) > 0],
        whose=whose,
        truth=truth,
        parameters=[(k, _value(value), _value(default[k])) for k, value in own.items()],
        check=check,
        n_unused=int(unused.sum()),
        n_bare=int(bare.sum()),
        n_both=int((bare & unused).sum()),
        n_alone=without_neighbours(model.remainder_) if has_neighbours else None,
    )
    return f"{text}\n"


def _written(folder: str | Path | None) -> str:
    """Return which version wrote the model, and how large it is."""
    if folder is None:
        return f"this is version {__version__}"
    manifest = artifact.read_manifest(folder)
    size = sum(entry["bytes"] for entry in manifest["files"].values())
    return (
        f"written by version {manifest['written_by']}, format {manifest['format_version']}, "
        f"{size / 1e6:,.1f} MB"
    )


def _features(model: Teaser) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield each feature, its origin, the number of its tags, its items, its largest tags."""
    rules = {rule.name: rule for rule in model.rules_.tags}
    tags = model.tag_table_.learned_tags[:-1]
    carried = sp.csc_array(model.tag_table_.learned_decoder)
    for feature in dict.fromkeys(tag.feature for tag in tags):
        columns = [j for j, tag in enumerate(tags) if tag.feature == feature]
        sizes = np.diff(carried.indptr)[columns]
        reached = len(np.unique(carried[:, columns].indices))
        largest = [tags[columns[j]].value for j in np.argsort(-sizes)[:_FEW]]
        origin = "found by the fit" if feature == DISCOVERED else "a column"
        if rule := rules.get(feature):
            origin = f"{rule.kind} of {', '.join(rule.columns)}"
        share = percent(reached / max(1, len(model.items_)))
        yield feature, origin, f"{len(columns):,}", share, "; ".join(largest)


def _reached(trial: Trial) -> str:
    """Return the nDCG with its 95 % interval, where that is known."""
    margin = "" if trial.error is None else f" ± {_INTERVAL * trial.error:.3f}"
    return f"{trial.ndcg:.3f}{margin}"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_value(part)}" for name, part in value.items())
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)


def _plain(text: str) -> str:
    """Return a text of the data so that Markdown shows it as it is."""
    return " ".join(text.split()).replace("<", "&lt;")


def _cell(text: str) -> str:
    """Return a text of the data as a cell of a table."""
    return _plain(text).replace("|", "\\|")

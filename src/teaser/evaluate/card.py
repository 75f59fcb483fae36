"""The card of a model, as Markdown: data, tags, recipe, accuracy, parts of scores, limits."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from teaser import artifact
from teaser._version import __version__
from teaser.data.dataset import Dataset
from teaser.data.tags import DISCOVERED
from teaser.errors import counted
from teaser.evaluate.check import Check, check_model
from teaser.evaluate.choose import RECIPES
from teaser.evaluate.truth import Truth
from teaser.explain import PARTS
from teaser.model.base import plain_parameters
from teaser.model.extensions.remainder import without_neighbours
from teaser.model.recipe import Recipe, Trial, percent
from teaser.model.teaser import Teaser

# Half the width of a 95 % interval, in standard errors.
_INTERVAL = 1.96
_FEW = 3


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
    found = None
    if dataset is not None:
        found = check_model(model, dataset, rng=rng, stability=stability)
    sections = {
        "Data": _data(model, dataset),
        "Tags": _tags(model),
        "Recipe": _recipe(model.recipe_),
        "Accuracy": _accuracy(model.recipe_),
        "Parts of scores": _parts(model.recipe_, found),
        "Truth": _truth(model.recipe_, found),
        "Hyper-parameters": _hyper_parameters(model),
        "Limits": _limits(model, found),
        "How to use it": _use(folder),
    }
    lines = [f"# Model card: {_text(_name(folder))}", "", *_what(model, folder)]
    for title, body in sections.items():
        lines += ["", f"## {title}", "", *body]
    return "\n".join(lines) + "\n"


def _name(folder: str | Path | None) -> str:
    return "a Teaser model" if folder is None else Path(folder).resolve().name


def _what(model: Teaser, folder: str | Path | None) -> Iterator[str]:
    """Yield what kind of model it is."""
    is_many = model.remainder_ is not None
    yield (
        f"A linear recommender of {counted(len(model.items_), 'item')}. The score of an item is "
        "the sum of "
        + ("its general appeal, " if is_many else "its general appeal and ")
        + "the user's affinities with its tags"
        + (", and what viewed items add." if is_many else ".")
        + " So every recommendation has its reasons, and users can change their affinities."
    )
    written = f"this is version {__version__}"
    if folder is not None:
        manifest = artifact.read_manifest(folder)
        size = sum(entry["bytes"] for entry in manifest["files"].values())
        written = (
            f"written by version {manifest['written_by']}, format {manifest['format_version']}, "
            f"{size / 1e6:,.1f} MB"
        )
    yield ""
    yield f"Made with TEASER (`teaser-recommender`): {written}."


def _data(model: Teaser, dataset: Dataset | None) -> Iterator[str]:
    if dataset is not None:
        yield from _bullets(dataset.lines())
        return
    unused = int((model.popularity_ == 0).sum())
    yield from _bullets(
        [
            f"{counted(len(model.items_), 'item')}, of which {unused:,} were not chosen",
            "The model does not hold users and interactions. Name the data set for its report: "
            "`teaser card MODEL --data DATA`.",
        ]
    )


def _tags(model: Teaser) -> Iterator[str]:
    """Yield a table of features, then roles, groups and user tags."""
    rows = []
    kinds = {rule.name: rule for rule in model.rules_.tags}
    table = model.tag_table_
    carried = sp.csc_array(table.learned_decoder)
    named = [(j, tag) for j, tag in enumerate(table.learned_tags[:-1])]
    for feature in dict.fromkeys(tag.feature for _, tag in named):
        columns = [j for j, tag in named if tag.feature == feature]
        sizes = np.diff(carried.indptr)[columns]
        reached = len(np.unique(carried[:, columns].indices))
        largest = [table.learned_tags[columns[j]].value for j in np.argsort(-sizes)[:_FEW]]
        rule = kinds.get(feature)
        origin = "found by the fit" if feature == DISCOVERED else "a column"
        if rule is not None:
            origin = f"{rule.kind} of {', '.join(rule.columns)}"
        share = percent(reached / max(1, len(model.items_)))
        rows.append((feature, origin, f"{len(columns):,}", share, "; ".join(largest)))
    if rows:
        yield from _table(("feature", "from", "tags", "items with one", "largest"), rows)
        yield ""
    else:
        yield "The model has no tags: scores are of general appeal and viewed items."
        yield ""
    roles = [f"{role}: {column}" for role, column in model.rules_.roles.items()]
    people = Counter(tag.feature for tag in model.user_tags_)
    yield from _bullets(
        [
            f"Displayed, not learned from: {', '.join(roles) or 'nothing'}",
            "User features: "
            + (", ".join(f"{n:,} {name}" for name, n in people.items()) or "none"),
        ]
    )


def _recipe(recipe: Recipe | None) -> Iterator[str]:
    """Yield what was tried, the best trial of each recipe, and why one was chosen."""
    if recipe is None:
        yield "The parameters were given: no recipe was chosen."
        return
    yield f"**{recipe.chosen}**. {_text(recipe.why)}"
    measured = [trial for trial in recipe.table() if trial.ndcg is not None]
    if measured:
        yield ""
        yield from _table(
            ("recipe", *recipe.columns()), [_trial_row(trial, recipe) for trial in measured]
        )
        n = sum(trial.ndcg is not None for trial in recipe.tried)
        yield ""
        yield (
            f"The best trial of each name, of {counted(n, 'trial')}; parts are mean shares of the "
            "scores of the top-20."
        )
    left = [f"{t.name} is left out: {t.reason}" for t in recipe.table() if t.reason]
    if left:
        yield ""
        yield from _bullets(left)


def _trial_row(trial: Trial, recipe: Recipe) -> list[str]:
    name = f"**{trial.name}**" if trial.name == recipe.chosen else trial.name
    return [name, _reached(trial), *recipe.cells(trial)[1:]]


def _reached(trial: Trial) -> str:
    """Return the nDCG with its 95 % interval, where that is known."""
    margin = "" if trial.error is None else f" ± {_INTERVAL * trial.error:.3f}"
    return f"{trial.ndcg:.3f}{margin}"


def _accuracy(recipe: Recipe | None) -> Iterator[str]:
    trial = None if recipe is None else recipe.best(recipe.chosen)
    if recipe is None or trial is None or trial.ndcg is None:
        yield "Not measured: the model was fitted without held-out users."
        return
    yield (
        f"nDCG@100 = {_reached(trial)}{' (95 % interval)' if trial.error is not None else ''} on "
        f"{counted(recipe.n_users, 'held-out user')}, of a model of the other users."
    )
    others = [t for t in recipe.table() if t.name not in RECIPES and t.ndcg is not None]
    yield ""
    yield from _bullets(f"{other.name}: {_reached(other)}" for other in others)
    yield ""
    yield (
        "This is validation: the same users chose the recipe and its penalties, so new users may "
        "get slightly less. The model itself is fitted to all users. No test users were held out; "
        "`teaser evaluate` measures with test users."
    )


def _parts(recipe: Recipe | None, found: Check | None) -> Iterator[str]:
    """Yield what the scores of lists are made of: of the check, else of the chosen trial."""
    trial = None if recipe is None else recipe.best(recipe.chosen)
    if found is not None:
        parts, whose = found.parts, f"{counted(found.n_users, 'user')} of the data set"
    elif recipe is not None and trial is not None and trial.parts:
        parts, whose = trial.parts, "held-out users"
    else:
        yield "Not measured: name the data set, `teaser card MODEL --data DATA`."
        return
    yield f"Mean shares of the scores in the top-20 of {whose}."
    yield ""
    meaning = {
        "general": "general appeal: what an average user would see in an item",
        "declared": "tags of the metadata",
        "discovered": "tags that the fit found",
        "popularity": "how often an item was chosen",
        "viewed": "items that the user viewed",
    }
    shown = [(meaning[p], percent(parts[p])) for p in PARTS if parts.get(p, 0.0) > 0]
    yield from _table(("part", "share"), shown)


def _truth(recipe: Recipe | None, found: Check | None) -> Iterator[str]:
    """Yield whether what is said of held-out users is true: of the check, else of the trial."""
    trial = None if recipe is None else recipe.best(recipe.chosen)
    if found is not None and found.truth is not None:
        yield from _bullets(found.truth.lines())
    elif trial is not None and trial.truth:
        yield from _bullets(Truth.from_dict(trial.truth).lines())
    else:
        yield "Not measured: too few users were held out."


def _hyper_parameters(model: Teaser) -> Iterator[str]:
    """Yield parameters with their defaults, and how the solver ended."""
    own, default = (plain_parameters(m.parameters()) for m in (model, Teaser()))
    yield from _table(
        ("parameter", "value", "default"),
        [(name, _value(value), _value(default[name])) for name, value in own.items()],
    )
    yield ""
    ended = "converged" if model.converged_ else "stopped before it converged"
    yield (
        f"The solver {ended} after {counted(model.iterations_, 'iteration')}, at a relative "
        f"residual of {model.residual_:.1e}."
    )


def _limits(model: Teaser, found: Check | None) -> Iterator[str]:
    table = model.tag_table_
    bare = np.diff(sp.csr_array(table.learned_decoder[:, : table.n_personal]).indptr) == 0
    unused = model.popularity_ == 0
    n_unused, n_bare, n_both = (int(which.sum()) for which in (unused, bare, bare & unused))
    only_tags = " Only their tags can recommend them." if n_unused else ""
    hardly = f" Nobody chose {n_both:,} of them, which general appeal places."
    limits = [
        f"Items that nobody chose: {n_unused:,} of {len(unused):,}.{only_tags}",
        f"Items without a tag: {n_bare:,}.{hardly if n_both else ''}",
        "Users without history get general appeal: much the same list for everybody.",
        "Items that came after the fit are placed by what their tags predict, from `add_items` on.",
    ]
    if model.remainder is not None and model.remainder.neighbours:
        n_alone = without_neighbours(model.remainder_)
        more = " What was viewed adds nothing to them." if n_alone else ""
        limits.append(f"Items without neighbours, by choices or by tags: {n_alone:,}.{more}")
    if not model.converged_:
        limits.append("The solver did not converge: raise max_iter.")
    if model.recipe_ is None or not model.recipe_.tried:
        limits.append("Its accuracy was not measured when it was fitted.")
    yield from _bullets(limits)
    yield ""
    if found is None:
        yield "`teaser check MODEL DATA` looks at the reasons too."
        return
    yield "What `teaser check` found:"
    yield ""
    told = () if found.truth is None else found.truth.lines()  # in a section of its own
    for line in (line for line in found.lines() if line not in told):
        yield f"  {_text(line.strip())}" if line.startswith(" ") else f"- {_text(line)}"


def _use(folder: str | Path | None) -> Iterator[str]:
    name = "MODEL" if folder is None else _name(folder)
    yield from (
        "```python",
        "import teaser",
        "",
        f"model = teaser.load({name!r})",
        "for r in model.recommend([], k=5):",
        "    print(r.title, r.score, [reason.sentence() for reason in r.reasons])",
        "```",
        "",
        "```sh",
        f"teaser recommend {name} --history ITEM",
        f"teaser serve {name}",
        "```",
    )


def _bullets(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"- {_text(line)}"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(_text(cell, table=True) for cell in row)} |"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_value(part)}" for name, part in value.items())
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)


def _text(text: str, *, table: bool = False) -> str:
    """Return a text of the data so that Markdown shows it as it is."""
    plain = " ".join(text.split()).replace("<", "&lt;")
    return plain.replace("|", "\\|") if table else plain

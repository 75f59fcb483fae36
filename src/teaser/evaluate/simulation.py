"""Simulated feedback: users press tags of held-out items, and are measured again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.split import Fold, as_generator
from teaser.data.tags import Tag
from teaser.errors import ParameterError
from teaser.evaluate.bonus import Bonus
from teaser.evaluate.metrics import Summary, as_rows
from teaser.evaluate.protocol import Evaluation, evaluate, recommend_lists
from teaser.explain import PARTS
from teaser.model.tagged import TaggedModel
from teaser.parameters import check_count, check_k
from teaser.profile import DEFAULT_STEERING, Steering, check_press

Array = NDArray[Any]
Draw = tuple[Mapping[Tag, int], ...]

# Which tags are pressed: declared and discovered ones, or those of one kind.
AMONG = ("all", "declared", "discovered")


@dataclass(frozen=True, eq=False)
class Simulation:
    """The effect of randomly drawn presses on one model.

    Attributes
    ----------
    evaluation
        Each user's mean over the draws; compare it with an evaluation without presses.
    draws
        The evaluation of every draw.
    presses
        The presses of each user in every draw, in the order of the fold.
    n_tags, strength, among
        How many tags each user presses, how often (negative: on -), and of which kind.
    without_tags
        Users without a tag to press. They are part of the evaluation with an unchanged list.
    fewer_tags
        Users who had tags, but fewer than `n_tags`; they pressed those.
    """

    evaluation: Evaluation
    draws: tuple[Evaluation, ...] = field(repr=False)
    presses: tuple[Draw, ...] = field(repr=False)
    n_tags: int
    strength: int
    without_tags: int
    fewer_tags: int
    among: str = "all"


def simulate(
    model: TaggedModel | Bonus,
    fold: Fold,
    *,
    n_tags: int = 1,
    strength: int = 3,
    draws: int = 3,
    among: str = "all",
    rng: int | np.random.Generator,
    steering: Steering | None = None,
    training: Dataset | None = None,
    metrics: Sequence[str] | None = None,
    shown: int = 100,
    name: str | None = None,
) -> Simulation:
    """Let every user press tags, recommend again, and average over several draws of tags.

    Presses of + are on tags of the held-out items, drawn without replacement with weights
    proportional to how many of these items carry them, as in the paper. With the same seed, fold
    and tags, every model gets the same presses, and the first tag is the same for any `n_tags`.

    Presses of - (negative `strength`) are on tags that a user sees but does not want: those of
    the `shown` recommended items, weighted by how many of these carry them, less every tag
    that a held-out item carries. They depend on the model's lists. Only declared and discovered
    tags are pressed: never popularity, general appeal or a value that is not stated.

    Parameters
    ----------
    n_tags
        How many distinct tags each user presses.
    strength
        How often each of them is pressed, from -5 to 5 but 0.
    draws
        How many times tags are drawn.
    among
        `"declared"` or `"discovered"` to press tags of that kind only, `"all"` for both.
    rng
        Seed or generator of the draws.
    shown
        The length of the list that users see before they press -.
    training, metrics, steering, name
        See `evaluate`.
    """
    _check(model, n_tags, strength, draws, among)
    if isinstance(model, TaggedModel):
        steering = steering or DEFAULT_STEERING
    generator = as_generator(rng)
    weights = count_tags(fold.held_out, model, among)
    if strength < 0:
        k = check_k(shown)
        lists = recommend_lists(model, fold, k=k, steering=steering)
        weights = unwanted_weights(model, weights, lists, among)
    rounds, pressed = [], []
    for _ in range(draws):
        presses = draw_presses(weights, model.tags_, n_tags, strength, generator)
        pressed.append(presses)
        rounds.append(
            evaluate(
                model,
                fold,
                training=training,
                metrics=metrics,
                presses=presses,
                steering=steering,
                name=name,
            )
        )
    available = np.diff(weights.indptr)
    return Simulation(
        evaluation=average(rounds),
        draws=tuple(rounds),
        presses=tuple(pressed),
        n_tags=n_tags,
        strength=strength,
        without_tags=int((available == 0).sum()),
        fewer_tags=int(((available > 0) & (available < n_tags)).sum()),
        among=among,
    )


def has_tags(model: TaggedModel | Bonus, among: str) -> bool:
    """Whether a model has tags of a kind that can be pressed."""
    return bool(_pressable(model, among).any())


def unwanted_weights(
    model: TaggedModel | Bonus, held_out: sp.csr_array, lists: Array, among: str = "all"
) -> sp.csr_array:
    """Return how many listed items carry each tag that no held-out item of the user carries.

    Parameters
    ----------
    held_out
        How many held-out items of each user carry each tag (users x tags).
    lists
        Positions of the items that each user sees (users x k).
    """
    seen = count_tags(as_rows(lists, len(model.items_)), model, among)
    wanted = held_out.copy()
    wanted.data[:] = 1
    # Counts of wanted tags cancel exactly, as whole numbers do in float64.
    return _tidy(seen - seen.multiply(wanted))


def draw_presses(
    weights: sp.csr_array,
    tags: Sequence[Tag],
    n_tags: int,
    strength: int,
    rng: np.random.Generator,
) -> Draw:
    """Return distinct tags for each user, drawn in sequence with the weights of the row.

    Parameters
    ----------
    weights
        Users x tags; a tag of weight zero is never drawn.
    """
    user = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    # The order of exponential times with these rates is that of weighted draws in sequence.
    time = rng.exponential(size=weights.nnz) / weights.data
    # Every tag has its time whatever n_tags is, so that fewer tags are the first of more.
    order = np.lexsort((time, user))
    # Sorted by user first, entries stay in their rows: n_tags of each are drawn.
    first = np.arange(weights.nnz) - weights.indptr[user] < n_tags
    presses: list[dict[Tag, int]] = [{} for _ in range(weights.shape[0])]
    chosen = order[first]
    for row, column in zip(user[chosen].tolist(), weights.indices[chosen].tolist(), strict=True):
        presses[row][tags[column]] = strength
    return tuple(presses)


def average(rounds: Sequence[Evaluation]) -> Evaluation:
    """Return the mean of evaluations of the same users, user by user.

    The error of a metric over items is the mean of theirs: more draws are not more users.
    """
    one = rounds[0]
    return Evaluation(
        model=one.model,
        users=one.users,
        values={
            name: np.mean([each.values[name] for each in rounds], axis=0) for name in one.values
        },
        item_metrics={
            name: Summary(
                float(np.mean([each.item_metrics[name].mean for each in rounds])),
                float(np.mean([each.item_metrics[name].error for each in rounds])),
                summary.n,
            )
            for name, summary in one.item_metrics.items()
        },
        lists=np.concatenate([each.lists for each in rounds]),
    )


def count_tags(rows: sp.csr_array, model: TaggedModel | Bonus, among: str = "all") -> sp.csr_array:
    """Return how many items of each row carry each tag (rows x tags).

    Columns other than declared and discovered tags, or those of one kind, count nothing.
    """
    carried = sp.csr_array(model.decoder_, copy=True)
    # A learned weight counts as one, as does an interaction of any strength.
    is_tag = _pressable(model, among)[carried.indices]
    carried.data = ((carried.data != 0) & is_tag).astype(np.float64)
    return _tidy((rows != 0).astype(np.float64) @ carried)


def _pressable(model: TaggedModel | Bonus, among: str) -> Array:
    """Return which columns are tags of a kind (tags)."""
    table = model.tag_table_
    is_tag = np.arange(len(table.tags)) < table.n_personal
    return is_tag if among == "all" else is_tag & (table.kinds == PARTS.index(among))


def _tidy(matrix: Any) -> sp.csr_array:
    rows = sp.csr_array(matrix)
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows


def _check(model: Any, n_tags: Any, strength: Any, draws: Any, among: Any) -> None:
    if not isinstance(model, TaggedModel | Bonus):
        raise ParameterError(
            f"{type(model).__name__} has no tags to press. Use a model with tags, such as Teaser."
        )
    model.check_fitted()
    check_press("a tag", strength)
    if strength == 0:
        raise ParameterError("strength 0 presses nothing; use 1 to 5 or -5 to -1.")
    check_count("n_tags", n_tags)
    check_count("draws", draws)
    if among not in AMONG:
        raise ParameterError(f"among must be one of {', '.join(AMONG)}, found {among!r}.")
    if among != "all" and not has_tags(model, among):
        raise ParameterError(f"The model has no {among} tags to press. Use among='all'.")

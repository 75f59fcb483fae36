"""What decides in the lists of people: shares of features, and what one press changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.explain import PARTS, Parts
from teaser.model.scores import (
    UserStates,
    score_parts,
    top_k_rows,
    user_blocks,
)
from teaser.model.tables import TagTable
from teaser.profile import DEFAULT_STEERING, MAX_PRESSES
from teaser.transparency import OTHER_PARTS, Impacts

Array = NDArray[Any]

# The length of the lists that are measured, and the most people.
K = 20
PEOPLE = 300


def measured_users(has_history: Array) -> Array:
    """Return the positions of at most `PEOPLE` users with a history, evenly spaced."""
    known = np.flatnonzero(has_history)
    spaced = np.linspace(0, len(known) - 1, min(len(known), PEOPLE)).astype(np.int64)
    return np.asarray(known[np.unique(spaced)])


def measure_impacts(model: Any, states: UserStates) -> Impacts | None:
    """Return what decides in the lists of people, without what they chose; None without a list.

    Parameters
    ----------
    states
        People with a history, as they are scored with the default steering.
    """
    rng = np.random.default_rng(0)
    n_people, (names, numbers) = states.rows.shape[0], model.tag_table_.features
    parts = [
        list_people(model, states.at(some), rng=rng)
        for some in user_blocks(n_people, len(model.item_table_))
    ]
    if not parts:
        return None
    sizes, pressed, steps, changed = (np.concatenate(each) for each in zip(*parts, strict=True))
    share = mean_shares(model.tag_table_, sizes)
    if share.total == 0:
        return None
    changed, feature = changed[pressed >= 0], numbers[pressed[pressed >= 0]]
    return Impacts(
        n_people=n_people,
        k=K,
        **{part: share.parts[part] for part in OTHER_PARTS},
        features=share.features,
        step=float(np.mean(steps)),
        press_change=float(changed.mean()) if len(changed) else 0.0,
        press_changes={names[f]: float(changed[feature == f].mean()) for f in np.unique(feature)},
    )


@dataclass(frozen=True)
class ListShares:
    """What the scores of listed items are made of: means over the items.

    The share of a tag or of a viewed item is its absolute contribution over the sum of all
    absolute contributions to the item, as in `Explanation`. That of a feature or part is the sum
    over its tags. Check, card, report and transparency tell these.

    Attributes
    ----------
    parts
        The share of each of `PARTS`; they sum to 1, or to 0 without a contribution.
    features
        The share of each declared feature; they sum to that of declared tags.
    """

    parts: Mapping[str, float]
    features: Mapping[str, float]

    @property
    def total(self) -> float:
        """1, or 0 without any contribution."""
        return sum(self.parts.values())


def mean_shares(table: TagTable, sizes: Array) -> ListShares:
    """Return the mean shares; an item whose contributions are all 0 does not count.

    Parameters
    ----------
    sizes
        The absolute contributions to listed items, as `score_sizes` returns them.
    """
    names, numbers = table.features
    total = sizes.sum(axis=1)
    own = total > 0
    mean = (sizes[own] / total[own, None]).sum(axis=0) / max(1, int(own.sum()))
    kinds = np.full(len(names), PARTS.index("declared"))
    kinds[numbers] = table.kinds
    by_part = np.bincount([*kinds, PARTS.index("viewed")], mean, minlength=len(PARTS))
    declared = np.flatnonzero(kinds == PARTS.index("declared")).tolist()
    return ListShares(
        dict(zip(PARTS, by_part.tolist(), strict=True)),
        {names[n]: float(mean[n]) for n in declared},
    )


def list_people(
    model: Any, states: UserStates, *, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Return what makes up the scores in the lists of some people, and what a press changes.

    The parts are `score_sizes` of the listed items; the column of the tag that each person pressed,
    -1 if no listed item has a tag; how far one press moves their affinity; and how many items of
    the list it exchanged.

    Parameters
    ----------
    rng
        Draws the tag that each person presses.
    """
    items, table, R = model.item_table_, model.tag_table_, model.remainder_

    def rank(scores: Array) -> Array:
        return top_k_rows(scores, K, exclude=states.rows, tie=items.popularity)

    found = list(model.press_moves(states, DEFAULT_STEERING))
    steps, places = np.array([step for step, _ in found]), rank(model.score_states(states))
    user, place = np.nonzero(places >= 0)
    parts = score_parts(table, R, items, states, user, places[user, place])
    sizes, n = score_sizes(table, parts), len(parts.weight)
    by_user = np.searchsorted(user[parts.row[:n]], np.arange(1, len(places)))
    columns = np.split(parts.place[:n], by_user)
    pressed = _draw([own[own < table.n_personal] for own in columns], rng)
    who = np.flatnonzero(pressed >= 0)
    values = states.values.copy()
    for one in who.tolist():
        tag, (_, moves_of) = int(pressed[one]), found[one]
        steps[one] = moves_of([tag])[0, MAX_PRESSES + 1]
        values[one, tag] += steps[one]
    after = rank(model.score_states(replace(states, values=values)))
    stays = ((places[:, :, None] == after[:, None, :]) & (places >= 0)[:, :, None]).any(axis=2)
    return sizes, pressed, steps, (places >= 0).sum(axis=1) - stays.sum(axis=1)


def score_sizes(table: TagTable, parts: Parts) -> Array:
    """Return what makes up the scores of some items: absolute contributions.

    They are those of each feature and of viewed items (rows x features + 1), features as in
    `TagTable.features`, general appeal among them.
    """
    names, numbers = table.features
    sizes = np.zeros((len(parts.general), len(names) + 1))
    n = len(parts.weight)
    feature = np.full(len(parts.row), len(names))
    feature[:n] = numbers[parts.place[:n]]
    np.add.at(sizes, (parts.row, feature), np.abs(parts.added))
    sizes[:, numbers[table.general]] = np.abs(parts.general)
    return sizes


def _draw(columns: Sequence[Array], rng: np.random.Generator) -> Array:
    """Return one column of each user at random, -1 for users without any."""
    draws = rng.random(len(columns))
    found = [
        own[int(draw * len(own))] if len(own) else -1
        for own, draw in zip(columns, draws, strict=True)
    ]
    return np.array(found, dtype=np.int64)

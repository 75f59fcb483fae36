"""Whether what is said of people is true, by what people who were not in the fit chose."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.split import Fold, as_generator
from teaser.errors import ParameterError
from teaser.evaluate.metrics import as_rows
from teaser.evaluate.protocol import rank_rows
from teaser.evaluate.simulation import Draw, count_tags, draw_presses, unwanted_weights
from teaser.explain import Reason
from teaser.model.extensions.user_features import ManyAbout, place_many_about
from teaser.model.recipe import percent, ratio
from teaser.model.tables import History, TagTable, liked_part
from teaser.model.tagged import TaggedModel
from teaser.steer.statement import statements

Array = NDArray[Any]
Histories: TypeAlias = Any  # rows (people x items), or a list with the history of each

# The length of the lists.
SHOWN = 20
# People lean away from common tags only: so much of all choices carry one.
COMMON = 0.05
# What is known of a person stands on so many items at least.
LEAST_OWN = 2
# A tag that people choose so many times as often as others is telling.
TELLING = 3.0
# A leaning that is smaller than this, relative to the largest, is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PressEffect:
    """What presses on one tag do to the first 20.

    Attributes
    ----------
    changed_by_one, changed_by_three
        The share of people who see other items after one press, and after three.
    carried, carried_after_five
        How many items carry the tag, before and after five presses, where 20 could.
    """

    changed_by_one: float
    changed_by_three: float
    carried: float
    carried_after_five: float


@dataclass(frozen=True)
class Truth:
    """How true and how effective a model is, measured on people who were not in its fit.

    A ratio is how often people of whom a tag was said chose such items afterwards, over how often
    the average person does: the sum over all that was said of either. It is None where nothing was
    said.

    Attributes
    ----------
    n_people
        How many people were measured.
    n_said
        How many tags are said of a person.
    known, guessed, away
        The ratios of what is known, of guesses, and of what people lean away from.
    naive_known, naive_away
        The ratios of a naive profile, the yardstick: it says as many tags as known and as away,
        each of the same sort and at least half as common, on two items or more, those whose rate in
        the history stands out most (z-score).
    agreement
        The share of what is known, and of what is away, that agrees with the own history: its rate
        of the tag is above, or below, that of all choices.
    with_reason
        The share of the first 20 that have a reason about the person.
    against_leaning
        The share of the tags in those reasons that go against the leaning.
    plus
        What presses of + do, on a tag of what the person chose afterwards.
    minus
        What presses of - do, on a tag of the first 20 that nothing chosen afterwards carries.
    """

    n_people: int
    n_said: float
    known: float | None
    guessed: float | None
    away: float | None
    naive_known: float | None
    naive_away: float | None
    agreement: float | None
    with_reason: float
    against_leaning: float | None
    plus: PressEffect | None
    minus: PressEffect | None

    @property
    def readability(self) -> float:
        """Entries with a reason x agreement of what is known x its ratio; 0 if nothing is known.

        It says how often a reason can be read, and how true and how telling the profile is. A
        ratio above 3 counts as 3: narrow tags, such as groups of few items, have higher ones, and
        are not easier to read.
        """
        if self.known is None or self.agreement is None:
            return 0.0
        return self.with_reason * self.agreement * min(self.known, TELLING)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "readability": self.readability}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `as_dict` made plain values of."""
        own = {each.name: plain[each.name] for each in fields(cls)}
        effects = {name: own[name] and PressEffect(**own[name]) for name in ("plus", "minus")}
        return cls(**{**own, **effects})

    def lines(self) -> list[str]:
        """Return the figures as sentences."""
        named = (
            ("known", self.known),
            ("guessed", self.guessed),
            ("away", self.away),
            ("naive profile", self.naive_known),
            ("naive away", self.naive_away),
        )
        told = [f"{name} {ratio(times)}" for name, times in named if times is not None]
        lines = [
            f"Said of {self.n_people:,} held-out people: {self.n_said:.1f} tags a person. How "
            "often they chose such items afterwards, against the average person: "
            f"{', '.join(told) or 'nothing was said'}."
        ]
        if self.agreement is not None:
            lines.append(f"{percent(self.agreement)} of what is known agrees with the own history.")
        reasons = f"{percent(self.with_reason)} of the first {SHOWN} have a reason about the person"
        if self.against_leaning is not None:
            reasons += f"; {percent(self.against_leaning)} of these go against the leaning"
        lines.append(f"{reasons}.")
        for sign, effect in (("+", self.plus), ("-", self.minus)):
            if effect is not None:
                lines.append(
                    f"One press of {sign} changes the first {SHOWN} of "
                    f"{percent(effect.changed_by_one)} of the people, three of "
                    f"{percent(effect.changed_by_three)}. Five take those with the tag from "
                    f"{effect.carried:.1f} to {effect.carried_after_five:.1f}."
                )
        return lines


def truth(
    model: TaggedModel,
    histories: Histories,
    held_out: Histories,
    *,
    about: ManyAbout | None = None,
    rng: int | np.random.Generator = 0,
) -> Truth:
    """Return how true is what a model says of people, by what they chose afterwards.

    Parameters
    ----------
    model
        A fitted model. The people should not have been in its fit.
    histories
        What the model is shown of each person: rows (people x items), or lists of item ids.
    held_out
        What each of them chose afterwards, in the same order.
    about
        What is known of the people: a list with the user tags of each, or rows.
    rng
        Seed of the tags that are pressed.
    """
    model.check_fitted()
    rows, wanted = _rows(model, histories), _rows(model, held_out)
    if rows.shape[0] != wanted.shape[0]:
        raise ParameterError(
            "Each person needs a history and what they chose afterwards: found "
            f"{rows.shape[0]:,} and {wanted.shape[0]:,}."
        )
    people = row_histories(model, rows)
    known = None if about is None else place_many_about(about, model.user_rows_, len(people))
    choices = Choices.count(model, rows, wanted)
    said = _said(model, people, known)
    towards, away = said["known", 1], [*said["known", -1], *said["guessed", -1]]
    agree = [*choices.agree(towards, 1), *choices.agree(away, -1)]
    with_reason, against = _read_lists(model, rows, people, known)
    lists = _lister(model, rows, known)
    first, held = lists(None), count_tags(wanted, model)
    generator = as_generator(rng)
    return Truth(
        n_people=len(people),
        n_said=sum(map(len, said.values())) / max(1, len(people)),
        known=choices.ratio(towards),
        guessed=choices.ratio(said["guessed", 1]),
        away=choices.ratio(away),
        naive_known=choices.ratio(choices.naive(towards, 1)),
        naive_away=choices.ratio(choices.naive(away, -1)),
        agreement=float(np.mean(agree)) if agree else None,
        with_reason=with_reason,
        against_leaning=against,
        plus=_press(model, rows, lists, first, held, 1, generator),
        minus=_press(
            model, rows, lists, first, unwanted_weights(model, held, first), -1, generator
        ),
    )


def fold_truth(model: TaggedModel, fold: Fold, *, most: int | None = None) -> Truth:
    """Return the truth of what a model says of the users of a fold, of the first ones at most."""
    some = slice(0, most)
    known = fold.user_features if model.user_tags_ else None
    about = None if known is None else known[some]
    return truth(model, fold.history[some], fold.held_out[some], about=about)


Said = list[tuple[int, int]]  # a person and a group of near-equal tags


@dataclass(frozen=True, eq=False)
class Choices:
    """How often people chose items of each group of near-equal tags.

    Attributes
    ----------
    own, held
        How many liked items of the history, and of what was chosen afterwards, carry each group
        (people x groups).
    n_own, n_held
        How many items these are in all (people).
    rates
        The share of all choices of the fit that carry each group (groups).
    carriers
        How many items carry each group (groups).
    sorts
        The sort of each group: a place, another tag of the metadata, or a discovered one (groups).
    """

    own: sp.csr_array
    held: sp.csr_array
    n_own: Array
    n_held: Array
    rates: Array
    carriers: Array
    sorts: Array

    @classmethod
    def count(cls, model: TaggedModel, rows: sp.csr_array, held_out: sp.csr_array) -> "Choices":
        """Count the choices of people (people x items)."""
        carriers = model.tag_table_.group_carriers
        carried = sp.csr_array(carriers.items.T)
        liked, wanted = _binary(liked_part(rows)), _binary(held_out)
        return cls(
            sp.csr_array(liked @ carried),
            sp.csr_array(wanted @ carried),
            np.diff(liked.indptr),
            np.diff(wanted.indptr),
            carriers.rates(model.item_table_.popularity),
            carriers.counts,
            _sorts(model.tag_table_),
        )

    def ratio(self, said: Said) -> float | None:
        """Return how often such items were chosen afterwards, over the average person's rate."""
        if not said:
            return None
        users, groups = np.array(said).T
        expected = float((self.n_held[users] * self.rates[groups]).sum())
        return float(self.held[users, groups].sum()) / expected if expected > 0 else None

    def agree(self, said: Said, leaning: int) -> list[bool]:
        """Return whether the rate in the own history is on the side of the leaning."""
        if not said:
            return []
        users, groups = np.array(said).T
        rate = self.own[users, groups] / np.maximum(1, self.n_own[users])
        found: list[bool] = (leaning * (rate - self.rates[groups]) > 0).tolist()
        return found

    def naive(self, said: Said, leaning: int) -> Said:
        """Return as many groups of each person, those whose rate in the history stands out most.

        For each group that was said it is one of the same sort, at least half as common: rare tags
        have higher ratios, and so have places, where people live.
        """
        found: Said = []
        telling = (self.carriers > 1) & (self.rates > 0) & (self.rates < 1)
        if leaning < 0:
            telling &= self.rates >= COMMON
        left, last = telling, -1
        for user, group in sorted(said, key=lambda each: (each[0], -self.rates[each[1]])):
            own = self.own[[user]].toarray().ravel()
            left = (telling if user != last else left) & (own >= (LEAST_OWN if leaning > 0 else 0))
            last = user
            able = left & (self.sorts == self.sorts[group])
            able &= 2 * self.rates >= self.rates[group]
            z = leaning * (own - self.n_own[user] * self.rates) / self.deviation
            if able.any():
                best = int(np.where(able, z, -np.inf).argmax())
                left[best] = False
                found.append((user, best))
        return found

    @cached_property
    def deviation(self) -> Array:
        """The standard deviation of one choice, which orders the groups of one person."""
        return np.asarray(np.sqrt(np.maximum(self.rates * (1 - self.rates), 1e-300)))


def _sorts(table: TagTable) -> Array:
    """Return the sort of each group of near-equal tags (groups)."""
    found = np.zeros(len(table.group_carriers.counts), dtype=np.int64)
    for tag, group in zip(table.tags, table.near_equal_group.tolist(), strict=True):
        if group >= 0 and not tag.discovered:
            found[group] = max(found[group], 2 if tag.is_place else 1)
    return found


def _rows(model: TaggedModel, given: Histories) -> sp.csr_array:
    if sp.issparse(given) or isinstance(given, np.ndarray):
        return model.check_histories(given)
    items = model.item_table_
    return items.rows([items.strengths(history) for history in given])


def row_histories(model: TaggedModel, rows: sp.csr_array) -> list[dict[Any, float]]:
    """Return rows (people x items) as histories, with strengths."""
    pairs = ((rows[[user]].indices.tolist(), rows[[user]].data) for user in range(rows.shape[0]))
    return [{model.items_[i]: float(x) for i, x in zip(*each, strict=True)} for each in pairs]


def _binary(rows: sp.csr_array) -> sp.csr_array:
    return sp.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)


def _said(
    model: TaggedModel, people: Sequence[History], known: sp.csr_array | None
) -> dict[tuple[str, int], Said]:
    """Return the groups of near-equal tags that are said of people, by kind and leaning."""
    table = model.tag_table_
    found: dict[tuple[str, int], Said] = {
        (kind, leaning): [] for kind in ("known", "guessed") for leaning in (1, -1)
    }
    for user, history in enumerate(people):
        own = None if known is None else known[[user]].indices.tolist()
        about = own and [model.user_tags_[j] for j in own]
        for statement in statements(model.profile(history, about=about)):
            groups = {int(table.near_equal_group[table.index[tag]]) for tag in statement.tags}
            found[statement.kind, statement.leaning] += [(user, group) for group in groups]
    return found


def _read_lists(
    model: TaggedModel,
    rows: sp.csr_array,
    people: Sequence[History],
    known: sp.csr_array | None,
) -> tuple[float, float | None]:
    """Return the share of entries with a reason, and of tags in reasons against the leaning."""
    n_entries = n_with = n_tags = n_against = 0
    leanings = model.leaning_batch(rows, about=known)
    index = model.tag_table_.index
    for user, entries in enumerate(model.recommend_batch(people, k=SHOWN, about=known)):
        own = leanings[user]
        rounding = _ROUNDING * float(np.abs(own).max(initial=0.0))
        for entry in entries:
            n_entries, n_with = n_entries + 1, n_with + bool(entry.reasons)
            for reason in entry.reasons:
                if isinstance(reason, Reason):
                    leaning = own[index[reason.tag]] * np.sign(reason.contribution)
                    n_tags, n_against = n_tags + 1, n_against + int(leaning < -rounding)
    return n_with / max(1, n_entries), n_against / n_tags if n_tags else None


def _lister(
    model: TaggedModel, rows: sp.csr_array, known: sp.csr_array | None
) -> Callable[[Draw | None], Array]:
    """Return a function that lists the first 20 of each person after presses (people x 20)."""

    def lists(presses: Draw | None) -> Array:
        def score(some: slice) -> Array:
            about = None if known is None else known[some]
            return model.score_batch(rows[some], presses and presses[some], about=about)

        return rank_rows(score, rows, SHOWN, tie=model.popularity_)

    return lists


def _press(
    model: TaggedModel,
    rows: sp.csr_array,
    lists: Callable[[Draw | None], Array],
    first: Array,
    weights: sp.csr_array,
    sign: int,
    rng: np.random.Generator,
) -> PressEffect | None:
    """Return what presses do on a tag of each person, drawn by its weight; None without any."""
    drawn = draw_presses(weights, model.tags_, 1, sign, rng)
    has_tag = np.array([bool(net) for net in drawn], dtype=bool)
    index = model.tag_table_.index
    columns = np.array([next((index[tag] for tag in net), 0) for net in drawn], dtype=np.int64)
    carried = model.tag_table_.carriers.items[columns]  # people x items
    left = carried.sum(axis=1) - _binary(rows).multiply(carried).sum(axis=1)

    def shown_carriers(listed: Array) -> Array:
        shown = as_rows(listed, len(model.items_))
        return np.asarray(shown.multiply(carried).sum(axis=1)).ravel()

    before = shown_carriers(first)
    if sign > 0:  # where every item with the tag is listed or viewed, + can bring nothing
        has_tag &= left > before
    if not has_tag.any():
        return None
    after = {n: lists(tuple(dict.fromkeys(net, n * sign) for net in drawn)) for n in (1, 3, 5)}
    changed = {n: (np.sort(first) != np.sort(after[n])).any(axis=1)[has_tag] for n in (1, 3)}
    many = has_tag & (left >= SHOWN)
    five = shown_carriers(after[5])
    return PressEffect(
        float(changed[1].mean()),
        float(changed[3].mean()),
        float(before[many].mean()) if many.any() else 0.0,
        float(five[many].mean()) if many.any() else 0.0,
    )

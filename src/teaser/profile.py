"""Profiles: affinities with tags from a history and presses, with certainty, scale and step.

The library, the command line, simulated feedback and the application all use this module. The
functions take one row a user.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser.data.tags import Tag, feature_label, resolve_tag
from teaser.errors import LimitError, ParameterError, counted, shortened
from teaser.frame import Framed, make_frame
from teaser.leaning import LeaningBase, LeaningPart
from teaser.notebook import FeatureBars, TagBar, draw_profile
from teaser.parameters import is_number

Array = NDArray[Any]
POPULARITY = Tag("popularity", "popularity")
# What an average user would see in an item; told apart from the tags.
GENERAL = Tag("general appeal", "general appeal")
# The value of a feature that an item does not state.
NOT_STATED = "not stated"
MAX_PRESSES = 5
# The paper's step, also where all scores of a person are equal.
PAPER_STEP = 0.2
# A discovered group is told by so many items of the person's own history.
N_LIKE = 3
# The most features that a profile shows as plain text.
_SHOWN = 8

PressesLike = Mapping[Any, int]  # by Tag, "feature=value" or a bare name
SCALES = ("robust", "paper")
# Returns how far -5 to 5 net presses move the affinity with the tags at some places (tags x 11);
# None: with each.
FindMoves: TypeAlias = Callable[[Sequence[int] | None], Array]


def paper_certainty(length: int) -> float:
    """Return the paper's certainty: 0.2 without history, 0.8 from three items on."""
    return min(0.2 + 0.2 * length, 0.8)


@dataclass(frozen=True)
class Steering:
    """How raw scores become affinities and presses move them.

    Parameters
    ----------
    scale
        `"robust"` divides by the 99th percentile of the absolute scores of all tags but
        popularity, general appeal and those named "not stated"; `"paper"` by the largest
        absolute score as it was learned.
    step
        How far each press moves an affinity. None: as far as the person's own scores ask for, so
        that one press brings one more item with the tag into the first 20 and five at least 8;
        0.2 on the paper's scale.
    certainty
        The certainty of a profile, from the length of its history. None: how well profiles of this
        length agree with whole ones, which the model measured at its fit; on the paper's scale,
        the paper's certainty.
    cold_general
        Affinity with general appeal of a user without history; with popularity in a model that
        does not tell general appeal apart.
    balance
        The weight of viewed items against tags: 0 is tags only, 0.5 the model as fitted, 1 viewed
        items only. It matters only if the model has a remainder.
    """

    scale: str = "robust"
    step: float | None = None
    certainty: Callable[[int], float] | None = None
    cold_general: float = 0.6
    balance: float = 0.5

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ParameterError(f"scale must be 'robust' or 'paper', found {self.scale!r}.")
        step = PAPER_STEP if self.step is None else self.step
        for name, value, least in (
            ("step", step, 0.0),
            ("cold_general", self.cold_general, -1.0),
        ):
            if not isinstance(value, int | float) or not least < value < math.inf:
                raise ParameterError(f"{name} must be a number above {least:g}, found {value!r}.")
        if self.certainty is not None and not callable(self.certainty):
            raise ParameterError("certainty must be a function of the length of a history.")
        if not is_number(self.balance) or not 0 <= self.balance <= 1:
            raise ParameterError(f"balance must be a number from 0 to 1, found {self.balance!r}.")

    @property
    def fixed_step(self) -> float | None:
        """The step of everybody; None where it follows from each person's scores."""
        return PAPER_STEP if self.step is None and self.scale == "paper" else self.step

    def certainty_of(self, length: int, spread: float | None) -> float:
        """Return the certainty of a profile; for the spread see `teaser.leaning.find_spread`."""
        if self.certainty is not None:
            return self.certainty(length)
        if self.scale == "paper" or spread is None:
            return paper_certainty(length)
        return math.sqrt(length / (length + spread))

    @property
    def tags_weight(self) -> float:
        """The factor of the tags' part of a score, in a model with a remainder."""
        # Both factors are 1 at a balance of 0.5; towards either end, one of them falls to 0.
        return min(1.0, 2.0 * (1.0 - self.balance))

    @property
    def viewed_weight(self) -> float:
        """The factor of the viewed items' part of a score."""
        return min(1.0, 2.0 * self.balance)


DEFAULT_STEERING = Steering()


class Presses(Mapping[Tag, int]):
    """Net presses per tag, with the list of single presses for undo.

    Immutable: `press` and `undo` return new objects.

    Examples
    --------
    >>> presses = Presses().press("type=Concert", 2).press("town=Ghent", -1)
    >>> dict(presses.undo()) == {Tag("type", "Concert"): 2}
    True
    """

    def __init__(self, events: Sequence[tuple[Tag, int]] = ()) -> None:
        self.events = tuple(events)
        net: dict[Tag, int] = {}
        for tag, steps in self.events:
            net[tag] = net.get(tag, 0) + steps
            check_press(tag, net[tag])
        self._net = {tag: steps for tag, steps in net.items() if steps}

    def press(self, tag: Tag | str, steps: int = 1) -> "Presses":
        """Press + (or -, with negative steps) on a tag."""
        wanted = Tag.parse(tag) if isinstance(tag, str) else tag
        check_press(wanted, steps)
        return Presses((*self.events, (wanted, steps)))

    def undo(self) -> "Presses":
        """Return the presses without the last one."""
        if not self.events:
            raise ParameterError("There is no press to undo.")
        return Presses(self.events[:-1])

    def __getitem__(self, tag: Tag) -> int:
        return self._net[tag]

    def __iter__(self) -> Iterator[Tag]:
        return iter(self._net)

    def __len__(self) -> int:
        return len(self._net)

    def __repr__(self) -> str:
        return f"Presses({', '.join(f'{tag}: {n:+d}' for tag, n in self._net.items())})"


class RankedTag(NamedTuple):
    """A tag, the leaning towards it (0 where there is none) and the affinity with it."""

    tag: Tag
    leaning: float
    affinity: float


@dataclass(frozen=True, eq=False)
class Profile(Framed):
    """The affinities and leanings of one user, presses included.

    Attributes
    ----------
    tags
        All tags of the model, general appeal last.
    values
        The affinity with each tag, in the order of `tags`.
    certainty
        How well a profile of this length agrees with that of a long history, between 0 and 1.
    impacts
        The share of each feature in the scores, general appeal left out; they sum to 1 unless
        all affinities with tags are 0.
    history
        The items of the history.
    presses
        Net presses per tag.
    step
        How far each press moves the affinity with general appeal. Five lift an ordinary item into
        the first 20.
    find_moves
        Finds how far presses move the affinity with tags. None: each by `step`.
    tags_weight, viewed_weight
        The factors of the tags' part of a score and of the remainder's part: 1 and 0 in a model
        without a remainder.
    about
        The user tags given with the request.
    strengths
        The strength of each item of the history; empty where all are 1.
    near_equal_group
        For each tag the number of its group of near-equal tags; -1 for popularity, general appeal
        and tags named "not stated". None: every tag stands for itself.
    nested
        Which two tags lie one inside the other (tags x tags, sparse), so that one statement about
        each could contradict the other. None: no two.
    index
        The position of each tag; None: it is looked for.
    places
        The positions of the history's items in the model.
    titles
        The title of each of them, or its id.
    base
        What leanings are computed from; None: there are none.
    """

    tags: tuple[Tag, ...] = field(repr=False)
    values: Array = field(repr=False)
    certainty: float
    impacts: Mapping[str, float]
    history: tuple[int | str, ...]
    presses: Mapping[Tag, int]
    step: float = PAPER_STEP
    find_moves: FindMoves | None = field(default=None, repr=False)
    tags_weight: float = 1.0
    viewed_weight: float = 0.0
    about: tuple[Tag, ...] = ()
    strengths: tuple[float, ...] = ()
    near_equal_group: Array | None = field(default=None, repr=False)
    nested: Any = field(default=None, repr=False)
    index: Mapping[Tag, int] | None = field(default=None, repr=False)
    places: tuple[int, ...] = field(default=(), repr=False)
    titles: tuple[str, ...] = field(default=(), repr=False)
    base: LeaningBase | None = field(default=None, repr=False)

    @cached_property
    def affinities(self) -> dict[Tag, float]:
        """The affinity with each tag, relative to the average user; general appeal left out."""
        pairs = zip(self.tags, self.values.tolist(), strict=True)
        return {tag: a for tag, a in pairs if tag != GENERAL}

    @property
    def general(self) -> float:
        """The affinity with general appeal, about 1 at full certainty for the average user.

        It is 0 for a model that does not tell general appeal apart.
        """
        return float(self.values[-1]) if self.tags[-1:] == (GENERAL,) else 0.0

    @cached_property
    def leanings(self) -> dict[Tag, float]:
        """The leaning towards each tag: how far its items stand above the average item.

        It is the mean of the personal part of the scores, tags and viewed items, over the items
        that carry the tag, less the mean over all items. Presses count; general appeal and boosts
        do not. Popularity, general appeal and tags that no item carries have no leaning.
        """
        if self.base is None:
            return {}
        places = np.flatnonzero(self.base.carriers.counts).tolist()
        values = self.leaning_values[places].tolist()
        return {self.tags[j]: value for j, value in zip(places, values, strict=True)}

    @cached_property
    def leaning_values(self) -> Array:
        """The leaning towards each tag, in the order of `tags`; 0 where there is none."""
        if self.base is None:
            return np.zeros(len(self.tags))
        return self.base.carriers.means(self.personal_scores)

    @cached_property
    def personal_scores(self) -> Array:
        """The personal part of the score of every item: tags and viewed items (items)."""
        if self.base is None:
            return np.zeros(0)
        return self.base.personal_scores(self.values, *self._seen)

    def leaning_of(self, tag: Tag | str) -> list[LeaningPart]:
        """Return what a leaning is made of; the parts sum to it.

        The first part is that of the tag itself. Other tags follow, then viewed items, the largest
        absolute part first; parts of 0 are left out. A tag without a leaning has no parts.
        """
        index = {t: i for i, t in enumerate(self.tags)} if self.index is None else self.index
        place = resolve_tag(tag, index)
        if self.base is None or not self.base.carriers.counts[place]:
            return []
        by_tag, by_item = self.parts_of(place)
        itself = LeaningPart("itself", self.tags[place], float(by_tag[place]))
        by_tag[place] = 0.0
        tags = [LeaningPart("tag", self.tags[j], float(by_tag[j])) for j in _largest(by_tag)]
        viewed = [
            LeaningPart("viewed", self.history[n], float(by_item[n])) for n in _largest(by_item)
        ]
        return [itself, *tags, *viewed]

    def parts_of(self, place: int) -> tuple[Array, Array]:
        """Return what each tag and each item of the history adds to the leaning to one tag."""
        if self.base is None:
            return np.zeros(len(self.tags)), np.zeros(len(self.places))
        return self.base.parts(place, self.values, *self._seen)

    @property
    def _seen(self) -> tuple[Array, Array, tuple[float, float]]:
        """The positions and strengths of the history's items, and the factors of a score."""
        seen = np.array(self.places, dtype=np.int64)
        strengths = np.array(self.strengths) if self.strengths else np.ones(len(seen))
        return seen, strengths, (self.tags_weight, self.viewed_weight)

    @cached_property
    def moves(self) -> Array:
        """How far -5 to 5 net presses move the affinity with each tag (tags x 11)."""
        return self.moves_of(None)

    def moves_of(self, places: Sequence[int] | None) -> Array:
        """Return the rows of `moves` of the tags at some places; None: all."""
        find = self.find_moves or same_moves(self.step, len(self.tags))
        return find(places)

    def place_of(self, tag: Tag) -> int:
        """Return the position of a tag."""
        return self.tags.index(tag) if self.index is None else self.index[tag]

    def top(self, n: int = 10, *, feature: str | None = None) -> list[RankedTag]:
        """Return the `n` tags of largest absolute leaning, of one feature if it is named.

        General appeal is left out. Of tags with the same leaning, or none, the one of larger
        absolute affinity comes first.
        """
        chosen = [
            i
            for i, tag in enumerate(self.tags)
            if feature in (None, tag.feature) and tag != GENERAL
        ]
        leaning, a = self.leaning_values, self.values
        # Equal ones are ordered by tag, whatever the order of the columns.
        chosen.sort(key=lambda i: (-abs(leaning[i]), -abs(a[i]), self.tags[i]))
        return [RankedTag(self.tags[i], float(leaning[i]), float(a[i])) for i in chosen[:n]]

    def to_frame(self) -> pl.DataFrame:
        """Return a frame with one row a tag, the largest absolute leaning first.

        Its columns are `feature`, `value`, `leaning` (null where there is none), `affinity`,
        `presses` (net) and `impact` (that of the feature). General appeal is left out, as in
        `affinities`.
        """
        known, pressed, impacts = self.leanings, self.presses, self.impacts
        rows = (
            (t.feature, t.value, known.get(t), a, pressed.get(t, 0), impacts.get(t.feature))
            for t, _, a in self.top(len(self.tags))
        )
        return make_frame(rows, _COLUMNS)

    def __repr__(self) -> str:
        sizes = (
            f"{counted(len(self.tags), 'tag')}, a history of {counted(len(self.history), 'item')}"
        )
        return f"<Profile: {sizes}, {self.certainty:.0%} sure>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write the strongest tags of the features with most impact, for IPython in a terminal."""
        lines = [repr(self)]
        if self.tags[-1:] == (GENERAL,):
            lines.append(f"  general appeal {self.general:+.2f}")
        for feature, impact in self._ordered()[:_SHOWN]:
            bars = self._bars(feature, impact)
            named = [_tag_text(bar) for bar in bars.tags]
            named += [f"{bars.n_more:,} more"] if bars.n_more else []
            lines.append(f"  {bars.name} ({impact:.0%} of scores): {', '.join(named)}")
        left = len(self.impacts) - _SHOWN
        lines += [f"  {counted(left, 'further feature')}"] if left > 0 else []
        printer.text("\n".join(lines))

    def _ordered(self) -> list[tuple[str, float]]:
        """Return the features with their impacts, the largest first."""
        return sorted(self.impacts.items(), key=lambda pair: -pair[1])

    def _repr_html_(self) -> str:
        general = self.general if self.tags[-1:] == (GENERAL,) else None
        features = [self._bars(feature, impact) for feature, impact in self._ordered()]
        seen = len(self.history)
        return draw_profile(features, general=general, certainty=self.certainty, seen=seen)

    def _bars(self, feature: str, impact: float, n: int = 4) -> FeatureBars:
        """Return the strongest tags of a feature to be drawn."""
        every = self.top(len(self.tags), feature=feature)
        bars = [
            TagBar(t.value, a, self.presses.get(t, 0), self.leanings.get(t)) for t, _, a in every
        ]
        # A tag that was pressed is shown whatever its leaning.
        shown = [bar for place, bar in enumerate(bars) if place < n or bar.presses]
        return FeatureBars(feature_label(feature), impact, shown, len(bars) - len(shown))


def _tag_text(bar: TagBar) -> str:
    """Return a tag with its leaning, what it adds by itself, and its presses."""
    if bar.leaning is None:
        pressed = f" (pressed {bar.presses:+d})" if bar.presses else ""
        return f"{bar.name} {bar.affinity:+.2f}{pressed}"
    pressed = f", pressed {bar.presses:+d}" if bar.presses else ""
    return f"{bar.name} {bar.leaning:+.2f} (itself {bar.affinity:+.2f}{pressed})"


def _largest(parts: Array) -> list[int]:
    """Return the positions of the parts other than 0, the largest absolute one first."""
    places = np.flatnonzero(parts)
    found: list[int] = places[np.argsort(-np.abs(parts[places]), kind="stable")].tolist()
    return found


_COLUMNS = {
    "feature": pl.String,
    "value": pl.String,
    "leaning": pl.Float64,
    "affinity": pl.Float64,
    "presses": pl.Int64,
    "impact": pl.Float64,
}


def press_limit(tag: object, presses: int, limit: int) -> LimitError:
    """Return the error of presses on a tag that are out of range."""
    return LimitError(
        "{presses:+d} presses on {tag} are out of range; -{limit} to {limit} are possible.",
        problem="presses",
        tag=tag,
        presses=presses,
        limit=limit,
    )


def check_press(tag: object, steps: Any) -> int:
    """Return the presses on a tag as an integer within bounds."""
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer):
        raise ParameterError(
            f"Presses on {shortened(tag)} must be a whole number, found {steps!r}."
        )
    presses = int(steps)
    if abs(presses) > MAX_PRESSES:
        raise press_limit(tag, presses, MAX_PRESSES)
    return presses


def place_presses(presses: PressesLike | None, index: Mapping[Tag, int]) -> dict[int, int]:
    """Return the checked presses by the position of their tag.

    Presses on two names of one tag, which may have been merged since, add up to at most
    `MAX_PRESSES`.
    """
    if presses is None:
        return {}
    if not isinstance(presses, Mapping):
        raise ParameterError(
            f"Presses must map tags to numbers of steps, found a {type(presses).__name__}."
        )
    placed: dict[int, int] = {}
    for tag, steps in presses.items():
        position = resolve_tag(tag, index)
        net = placed.get(position, 0) + check_press(tag, steps)
        placed[position] = min(max(net, -MAX_PRESSES), MAX_PRESSES)
    return placed


def scaled(
    raw: Array,
    values: Array,
    lengths: Sequence[int] | Array,
    *,
    n_liked: Sequence[int] | Array | None = None,
    n_personal: int,
    cold: int,
    steering: Steering,
    spread: float | None = None,
) -> tuple[Array, Array]:
    """Return the affinities before any press (users x columns), and the factor of each row.

    a = v x certainty / scale. If all values are zero, the factor is the certainty.

    Parameters
    ----------
    raw
        p, the summed encoder rows of each history (users x learned tags).
    values
        v, the same in the basis that is shown (users x columns); p itself without a basis.
    lengths
        The length of each history.
    n_liked
        How many items of each are not disliked; all by default.
    n_personal
        How many of the columns, from the first, are declared or discovered tags.
    cold
        The column of general appeal, or of popularity without a basis.
    spread
        See `Steering.certainty_of`.
    """
    sure = np.array([steering.certainty_of(int(length), spread) for length in lengths])
    is_robust = steering.scale == "robust"
    scale = robust_scales(values, n_personal) if is_robust else _row_max(np.abs(raw))
    is_empty = np.asarray(lengths) == 0
    # Dislikes say nothing of general appeal: it is that of a user without history.
    is_cold = is_empty if n_liked is None else is_empty | (np.asarray(n_liked) == 0)
    has_scale = (scale > 0) & ~is_empty
    # a = c v / s
    divisor = np.where(has_scale, scale, 1.0)
    out = values / divisor[:, None] * sure[:, None]
    out[~has_scale] = 0.0
    # p = 0 without a history: general appeal is all there is to recommend by.
    out[is_cold, cold] = steering.cold_general
    return out, np.where(has_scale, sure / divisor, sure)


def press(values: Array, presses: Mapping[int, int], moves: Array) -> Array:
    """Return affinities moved by presses.

    Parameters
    ----------
    presses
        The presses on the tags at some places.
    moves
        How far -5 to 5 presses move the affinity with each of these (tags x 11).
    """
    out, net = values.copy(), np.array(list(presses.values()), dtype=np.int64)
    out[list(presses)] += moves[np.arange(len(net)), net + MAX_PRESSES]
    return out


def same_moves(step: float, n_tags: int) -> FindMoves:
    """Return what finds moves that are the same for every tag: `step` for each press."""
    moves = step * np.arange(-MAX_PRESSES, MAX_PRESSES + 1)
    return lambda places: np.tile(moves, (n_tags if places is None else len(places), 1))


def robust_scales(values: Array, n_personal: int) -> Array:
    """Return the 99th percentile of the absolute values of declared and discovered tags (users).

    Popularity and general appeal, often the largest, and a few extreme tags would make all others
    small. Where the personal tags have no values, the largest of all takes its place.

    """
    size = np.abs(values)
    most = _row_max(size)
    if not n_personal:
        return most
    scale = np.percentile(size[:, :n_personal], 99, axis=1)
    # If only popularity has a score, the percentile of the others is about zero.
    found: Array = np.where(scale > 1e-9 * most, scale, most)
    return found


def _row_max(size: Array) -> Array:
    """Return the largest of each row, 0 without columns."""
    found: Array = size.max(axis=1) if size.shape[1] else np.zeros(len(size))
    return found

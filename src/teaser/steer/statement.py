"""What is said of a person: statements with evidence, each of which can be contradicted.

The bounds were chosen on people who were not in the fit, with 80 % of their history as the profile:
how often people of whom something was said chose such items afterwards, against everybody's rate.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.tags import Tag, differing_names
from teaser.errors import ParameterError
from teaser.explain import join_names, join_values, number_features
from teaser.leaning import Carriers, LeaningBase
from teaser.profile import MAX_PRESSES, N_LIKE, Profile, press

Array = NDArray[Any]
# Leanings are measured in standard deviations of the person's own scores.
_LEAN, _AWAY = 0.8, 0.3
# What is known stands on at least so many items, on this multiple of everybody's odds, and on a
# log-likelihood ratio of at least so much: the first where a third of the history carries the tag.
_LEAST_OWN, _ODDS, _SURPRISES, _EXPECTED = 2, 2.5, (0.25, 1.25), 0.5
# A plain fact, such as 48 comedies of 51 films, is said first: the leaning may be smaller, as items
# with a broad tag differ, but so many items have a log-likelihood ratio of at least this.
_PLAIN, _PLAIN_SURPRISE = 0.25, 5.0
# A narrow tag says more than a broad one around it, unless that is on half of the history and on so
# many times the narrow one's items.
_BROAD = 5
# A statement says nothing new if more than half of its items of the history are another's, unless
# that has twice as many.
_SAME_ITEMS = 0.5
# A guess is about at least two of so many items that come first, where none was chosen and fewer
# than one was to be expected, on a feature that this share of all items states. Rarer tags are
# names that few know. What it follows from makes at least this part of the leaning.
_FIRST, _LEAST_FIRST, _STATED, _LEAST_RATE, _BECAUSE = 20, 2, 0.5, 0.004, 0.1
# Histories of more items than this, and features that few items state, need one more item.
_LONG = 8
# Only tags with at least this share of everybody's choices are said to be avoided, where at least
# so many items were to be expected and less than a quarter of them were chosen.
_COMMON, _LEAST_EXPECTED, _LESS = 0.05, 3, 0.25
# One item says nothing of a person.
_LEAST_LIKED = 2

# A group is described by a tag that at least this share of its items have, also of those in the
# history, and of all items at most that share.
_MOSTLY, _RARE = 2 / 3, 1 / 8
_YEAR = re.compile("(1[0-9]{3}|20[0-9]{2})s?")


@dataclass(frozen=True, eq=False)
class _TagFacts:
    """What statements need to know of the tags of a model, found once.

    `telling` are the columns of metadata that tell something also where no item of the history has
    them, and `years` those of years. `mostly` is for each group that is named by titles the column
    of the tag that describes it; -1 for none, and for other tags.
    """

    telling: Array
    years: Array
    mostly: Array


_FACTS: WeakKeyDictionary[Carriers, _TagFacts] = WeakKeyDictionary()


@dataclass(frozen=True)
class Evidence:
    """What a person can check a statement by.

    Attributes
    ----------
    own
        How many items of the history carry the tag; disliked ones do not count.
    of
        How many items the history has, disliked ones left out.
    others
        The share of everybody's choices that carry the tag.
    """

    own: int
    of: int
    others: float

    @property
    def in_others(self) -> tuple[int, int]:
        """The share of the others as two small numbers: (1, 14) is one in fourteen."""
        if self.others <= 0:
            return 0, 1
        whole = round(1 / self.others)
        # 1 in 3 for 0.33, but 2 in 5 for 0.37.
        if whole >= 10 or (whole >= 2 and abs(1 / whole - self.others) < 0.02):
            return 1, whole
        found = Fraction(round(10 * self.others), 10)
        return found.numerator, found.denominator


@dataclass(frozen=True)
class Statement:
    """What a person leans towards (+1) or away from (-1), or may lean towards.

    Attributes
    ----------
    kind
        `"known"`: leaning and own history agree. `"guessed"`: the leaning is strong, and no item of
        the history carries the tag.
    leaning
        1 for towards, -1 for away from; a guess is always towards.
    tags
        The tag, and tags that are near-equal to it; the one on most items first.
    evidence
        How often the tags are in the history, and in everybody's.
    strength
        The absolute leaning, in standard deviations of the person's scores.
    like
        For a discovered tag the titles of some items of the history that carry it.
    mostly
        For a discovered tag that is named by titles the tag that most of its items have, if they
        have one in common.
    because
        For a guess what is known of the person that it follows from.
    """

    kind: Literal["known", "guessed"]
    leaning: Literal[1, -1]
    tags: tuple[Tag, ...]
    evidence: Evidence
    strength: float = field(default=0.0, compare=False)
    like: tuple[str, ...] = ()
    mostly: Tag | None = None
    because: "Statement | None" = None


def statements(
    profile: Profile, *, known: int = 3, guessed: int = 1, away: int = 2
) -> list[Statement]:
    """Return what can be said of a person: what is known, guesses, then what is avoided.

    Near-equal tags are one statement, and nothing is said twice: a tag that lies around a stated
    one, or on mostly the same items of the history, is left out. What the person's
    own presses oppose is not said, nor is a pressed tag guessed. Nothing is said of fewer than two
    liked items.

    - Known: the items with the tag stand clearly above the person's average item, at least two
      items of the history carry it, and its rate there is clearly above everybody's. Those come
      first whose leaning and rate, against everybody's, are highest, after the plainest fact:
      48 comedies of 51 films go before three by one director. A group that is named by items has
      at least three of the history, at most half of it, and two that no statement before is
      about. Most of its items have another tag in common. A year is not said.
    - Guessed: they stand far above it, and no item of the history carries the tag, where none was
      to be expected. Much of that is due to a tag that the history has more often than others.
    - Away: they stand clearly below it, the tag is common, at least three items were to be
      expected, and less than a quarter of them were chosen.

    Parameters
    ----------
    known, guessed, away
        The most statements of each sort.
    """
    for name, n in (("known", known), ("guessed", guessed), ("away", away)):
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise ParameterError(f"{name} must be a whole number of at least 0, found {n!r}.")
    base, group = profile.base, profile.near_equal_group
    strengths = profile.strengths or (1.0,) * len(profile.places)
    liked = [i for i, x in zip(profile.places, strengths, strict=True) if x > 0]
    if base is None or group is None or len(liked) < _LEAST_LIKED:
        return []
    scores = profile.personal_scores
    spread, size = float(scores.std()), float(np.abs(scores).max())
    # Where all items score the same, differences are rounding.
    if not spread > 1e-9 * size:
        return []
    return _Groups(profile, base, group, liked, scores / spread).told(known, guessed, away)


def undo_presses(
    statement: Statement, learned: Profile, presses: Mapping[Tag, int] | None = None
) -> dict[Tag, int]:
    """Return the presses behind "not really": as many as bring the leaning to 0 or beyond.

    They are on the first tag of the statement. If all remaining presses do not reach 0, they are
    all returned: `statements` does not say what was pressed against. It is empty if no press is
    left.

    Parameters
    ----------
    statement
        The statement that is contradicted.
    learned
        The profile of the same user without presses.
    presses
        The current presses, to which these are added.
    """
    pressed, tag, way = presses or {}, statement.tags[0], statement.leaning
    now, net = pressed.get(tag, 0), -int(way)
    if learned.base is not None:
        placed = {learned.place_of(each): n for each, n in pressed.items()}
        values = press(learned.values, placed, learned.moves_of(list(placed)))
        leaning, by_unit = _leaning_and_unit(learned, learned.base, values, tag)
        moves = by_unit * learned.moves_of([learned.place_of(tag)])[0]
        # Net presses that oppose the statement, so that it is not said again.
        every = -way * np.arange(1, MAX_PRESSES + 1)
        left = way * (leaning + moves[every + MAX_PRESSES] - moves[now + MAX_PRESSES])
        enough = left <= 1e-9 * np.abs(moves).max()
        if by_unit > 0:
            net = int(every[np.argmax(enough)] if enough.any() else every[-1])
    steps = net - now
    return {tag: steps} if steps * statement.leaning < 0 else {}


def say(statement: Statement) -> str:
    """Return a statement as an English sentence.

    Examples
    --------
    >>> say(Statement("known", 1, (Tag("theme", "Jazz"),), Evidence(5, 12, 0.07)))
    'You lean towards Jazz: 5 of your 12, 1 in 14 for others.'
    """
    named, evidence, because = _name(statement), statement.evidence, statement.because
    if statement.kind == "guessed":
        of = f"of your {evidence.of:,}"
        if because is None:
            return f"A guess: you may like {named}. None {of} has it yet."
        why = f"{_name(because)} ({because.evidence.own:,} {of})"
        return f"A guess: you may like {named}, because of {why}. None of them has it yet."
    way = "towards" if statement.leaning > 0 else "away from"
    n, out_of = evidence.in_others
    own = f"{evidence.own:,}" if evidence.own else "none"
    return f"You lean {way} {named}: {own} of your {evidence.of:,}, {n} in {out_of:,} for others."


def _name(statement: Statement) -> str:
    named = join_values(statement.tags)
    if statement.like:
        named = f"items like {join_names(statement.like)}"
    return f"{named} (mostly {statement.mostly.label})" if statement.mostly else named


class _Groups:
    """The groups of near-equal tags of one profile, as statements see them (groups).

    `strength` are leanings in standard deviations of the person's scores, `own` and `others` those
    of `Evidence`, `counts` how many items carry a tag of each group. Something can be said of
    groups that some items carry, but not all, and somebody chose: `sayable`. Those `raised` and
    `lowered` have a tag with presses of + or of -.
    """

    def __init__(
        self, profile: Profile, base: LeaningBase, group: Array, liked: list[int], scores: Array
    ) -> None:
        self.profile, self.base, self.group, self.liked = profile, base, group, set(liked)
        carriers = base.group_carriers
        self.strength, self.counts = carriers.means(scores), carriers.counts
        self.unpressed = self.strength
        if profile.presses:
            places = [profile.place_of(tag) for tag in profile.presses]
            values, net = profile.values.copy(), np.array(list(profile.presses.values()))
            moves = profile.moves_of(places)[np.arange(len(net)), net + MAX_PRESSES]
            np.subtract.at(values, places, moves)
            before = replace(profile, values=values).personal_scores
            self.unpressed = carriers.means(before) / max(float(before.std()), 1e-300)
        self.own = carriers.count_in(np.array(liked, dtype=np.int64))
        self.others = carriers.rates(base.popularity)
        self.sayable = (self.counts > 0) & (self.counts < len(scores)) & (self.others > 0)
        self.raised, self.lowered = np.zeros((2, len(self.counts)), dtype=bool)
        for tag, steps in profile.presses.items():
            number = group[profile.place_of(tag)]
            if number >= 0:
                (self.raised if steps > 0 else self.lowered)[number] = True

    @property
    def length(self) -> int:
        """How many items were liked."""
        return len(self.liked)

    def told(self, known: int, guessed: int, away: int) -> list[Statement]:
        """Return at most so many statements of each sort, none about what another says."""
        expected = self.length * self.others
        lean, own = self.strength, self.own
        # The odds, so that of a tag that half of all choices carry more can be said.
        is_more = own * (1 - self.others) >= _ODDS * self.others * (self.length - own)
        is_known = (lean >= _LEAN) & (own >= _LEAST_OWN) & is_more
        # By how much o = own - 1 items are more likely at the own rate than at everybody's, the
        # Poisson o log(o / e) - (o - e). One item less: two items of a rare tag may be chance.
        o = np.maximum(own - 1.0, 0.0)
        surprise = o * np.log(np.maximum(o, 1e-12) / np.maximum(expected, 1e-12)) - (o - expected)
        is_known &= (o > expected) & (surprise >= np.where(3 * own >= self.length, *_SURPRISES))
        # Two of thirty may be chance, two that somebody has tagged are two of few, and two films
        # of one year say little.
        is_telling = self._telling()
        is_known &= (own > _LEAST_OWN) | (is_telling & (self.length <= _LONG))
        # Half an item more expected, so that ten of fourteen go before two where none was expected.
        lift = o / (expected + _EXPECTED) * np.maximum(lean, 0.0)
        columns = [j for j, tag in enumerate(self.profile.tags) if not tag.discovered]
        declared = np.isin(np.arange(len(own)), self.group[columns])
        is_guess = (lean >= _LEAN) & (own == 0) & (expected < 1)
        is_guess &= (self._n_first() >= _LEAST_FIRST) & (self.others >= _LEAST_RATE)
        is_guess &= declared & is_telling & ~self.raised
        # What follows from the person's own presses is not what people like them choose.
        is_guess &= self.unpressed >= _LEAN
        is_away = (lean <= -_AWAY) & (self.others >= _COMMON) & (expected >= _LEAST_EXPECTED)
        is_away &= own < _LESS * expected
        may_rise, may_fall = self.sayable & ~self.lowered, self.sayable & ~self.raised
        # What metadata name is said before groups that the fit found, which are named by items. Of
        # these, two items or most of the history tell nothing.
        is_known &= declared | ((own > _LEAST_OWN) & (2 * own <= self.length))
        is_known[self.group[self._facts.years]] = False
        # Why an item of the history belongs to an avoided group, nobody could follow.
        is_away &= declared | (own == 0)
        is_plain = declared & (lean >= _PLAIN) & is_more & (o > expected)
        is_plain &= is_telling & (own > _LEAST_OWN) & (surprise >= _PLAIN_SURPRISE)
        for narrow in np.flatnonzero(is_known & declared).tolist():
            around = np.zeros(len(own), dtype=bool)
            self._block(narrow, around)
            around[narrow] = False
            is_plain &= ~around | ((2 * own >= self.length) & (own >= _BROAD * own[narrow]))
        is_known |= is_plain
        first = 1e9 * declared
        sizes = np.where(is_known & declared & may_rise, surprise, -np.inf)
        first *= 1 + (is_plain & (sizes == sizes.max(initial=-np.inf)))
        blocked = np.zeros(len(own), dtype=bool)
        mostly = self._mostly
        # What the items of a group have in common, nobody sees from titles alone.
        described = declared | (mostly >= 0)
        is_known, is_away = is_known & described, is_away & described
        agrees = described & (lean > 0) & (own >= _LEAST_OWN) & (own > expected)
        found: list[Statement] = []
        said = set[int]()
        sorts: tuple[tuple[int, Literal["known", "guessed"], Literal[1, -1], Array, Array], ...] = (
            (known, "known", 1, first + lift, is_known & may_rise),
            # Of two guesses as strong, the one about more items says more.
            (guessed, "guessed", 1, first + lean * np.sqrt(self.counts), is_guess & may_rise),
            (away, "known", -1, -lean, is_away & may_fall),
        )
        for n, kind, way, order, allowed in sorts:
            told: list[set[int]] = []
            groups = self._first(order, allowed, blocked)
            while len(told) < n and (g := next(groups, None)) is not None:
                if kind == "known":
                    g = self._best_known(g, allowed)
                items, before = self._items(g), set[int]().union(*told)
                is_new = all(
                    len(items & each) <= _SAME_ITEMS * len(items) or 2 * len(items) <= len(each)
                    for each in told
                )
                # Of a group that is named by items, fewer than two new ones say nothing, nor does
                # one that a tag describes of which something was said.
                if way > 0 and not declared[g]:
                    is_new &= len(items - before) >= min(2, len(items))
                    is_new &= mostly[g] not in said and own[mostly[g]] <= own[g]
                    is_new &= len(items & self._carriers(mostly[g])) >= _MOSTLY * len(items)
                because = self._because(g, agrees) if kind == "guessed" else None
                if is_new and (because is not None or kind == "known"):
                    found.append(self.statement(kind, way, g, before, because))
                    said |= {g, int(mostly[g])} - {-1}
                    told.append(items)
        return found

    def statement(
        self,
        kind: Literal["known", "guessed"],
        leaning: Literal[1, -1],
        g: int,
        named: Collection[int] = (),
        because: Statement | None = None,
    ) -> Statement:
        """Return a statement about a group; it names items not yet named, if there are any."""
        evidence = Evidence(int(self.own[g]), self.length, float(self.others[g]))
        tags = tuple(self.profile.tags[j] for j in self._members(g))
        like: tuple[str, ...] = ()
        mostly = int(self._mostly[g]) if tags[0].is_titles else -1
        if tags[0].is_titles and self.own[g] and leaning > 0:
            items = self._items(g)
            if mostly >= 0:
                items &= self._carriers(mostly)
            pairs = zip(self.profile.places, self.profile.titles, strict=False)
            left = items.difference(named) or items
            like = tuple(title for place, title in pairs if place in left)
        strength = abs(float(self.strength[g]))
        common = None if mostly < 0 else self.profile.tags[self._members(mostly)[0]]
        return Statement(kind, leaning, tags, evidence, strength, like[:N_LIKE], common, because)

    def _n_first(self) -> Array:
        """Return how many of the items that come first for the person carry each group (groups)."""
        scores = self.profile.personal_scores.copy()
        scores[list(self.profile.places)] = -np.inf
        return self.base.group_carriers.count_in(np.argsort(-scores, kind="stable")[:_FIRST])

    def _because(self, g: int, agrees: Array) -> Statement | None:
        """Return what a guess follows from, of the groups that agree with the own history."""
        by_tag, by_item = self.profile.parts_of(self._members(g)[0])
        has_group = self.group >= 0
        by_group = np.bincount(self.group[has_group], by_tag[has_group], minlength=len(self.own))
        least = _BECAUSE * float(by_tag.sum() + by_item.sum())
        guess = self.profile.tags[self._members(g)[0]].value
        for best in np.argsort(-by_group, kind="stable").tolist():
            if by_group[best] < least:
                break
            # That who likes economics may like economics-business says nothing.
            names = [guess, self.profile.tags[self._members(best)[0]].value]
            if agrees[best] and len(differing_names(names)) > 1:
                return self.statement("known", 1, best)
        return None

    @cached_property
    def _facts(self) -> _TagFacts:
        carriers = self.base.carriers
        if carriers not in _FACTS:
            _FACTS[carriers] = _find_facts(self.profile.tags, carriers)
        return _FACTS[carriers]

    def _telling(self) -> Array:
        """Return which groups have a tag that tells something also where nobody carries it."""
        return np.isin(np.arange(len(self.own)), self.group[self._facts.telling])

    @cached_property
    def _mostly(self) -> Array:
        """Return the group of near-equal tags that describes each group; -1 for none (groups)."""
        out = np.full(len(self.own), -1)
        columns = np.flatnonzero(self._facts.mostly >= 0)
        out[self.group[columns]] = self.group[self._facts.mostly[columns]]
        return out

    def _items(self, g: int) -> set[int]:
        """Return the liked items of the history that carry a group; all carriers if none does."""
        items = self._carriers(g)
        return items & self.liked or items

    def _carriers(self, g: int) -> set[int]:
        """Return the items that carry a group."""
        return set(self.base.group_carriers.items[[g]].indices.tolist())

    def _best_known(self, g: int, allowed: Array) -> int:
        """Return the group that most people chose of those on the same items of the history.

        They are of one feature: that it is Harrison Ford tells more than the rest of the cast.
        """
        same = [g]
        own, feature = self._items(g), self.profile.tags[self._members(g)[0]].feature
        able = allowed & (self.own == self.own[g]) & (self.own > 0) & (self.others > self.others[g])
        for other in np.flatnonzero(able).tolist():
            is_one = self.profile.tags[self._members(other)[0]].feature == feature
            if is_one and self._items(other) == own:
                same.append(other)
        return max(same, key=lambda each: float(self.others[each]))

    def _first(self, order: Array, allowed: Array, blocked: Array) -> Iterator[int]:
        """Yield the groups that say something new in order, and mark what they say as blocked."""
        places = np.flatnonzero(allowed)
        for g in places[np.argsort(-order[places], kind="stable")].tolist():
            if not blocked[g]:
                self._block(g, blocked)
                yield g

    def _members(self, g: int) -> list[int]:
        """Return the columns of a group's tags, the one on most items first.

        Discovered ones are left out where metadata name the same.
        """
        places = np.flatnonzero(self.group == g)
        counts = self.base.carriers.counts[places]
        found: list[int] = places[np.argsort(-counts, kind="stable")].tolist()
        return [j for j in found if not self.profile.tags[j].discovered] or found

    def _block(self, g: int, blocked: Array) -> None:
        """Mark a group, and those with a tag that lies around one of its tags, or inside it.

        Inside it, those on at most half of its items of the history say more, and are not marked.
        """
        blocked[g] = True
        nested = self.profile.nested
        for j in self._members(g) if nested is not None else ():
            others = self.group[nested.indices[nested.indptr[j] : nested.indptr[j + 1]]]
            is_inside = self.counts[others] < self.counts[g]
            blocked[others[~(is_inside & (2 * self.own[others] <= self.own[g]))]] = True


def _find_facts(tags: Sequence[Tag], carriers: Carriers) -> _TagFacts:
    """Return what statements need to know of the tags of a model.

    A tag tells something where most items state something of its feature: that no item of the
    history is said to be stylish says little where few items are tagged. Bare numbers tell nothing
    as a guess.
    """
    items, counts = carriers.items, carriers.counts
    features, numbers = number_features(tags)
    states = np.zeros((len(features), items.shape[1]), dtype=bool)
    states[np.repeat(numbers, counts), items.indices] = True
    common = states.mean(axis=1) >= _STATED
    telling = [
        j
        for j, tag in enumerate(tags)
        if not tag.discovered and common[numbers[j]] and not tag.is_bare
    ]
    mostly, share = np.full(len(tags), -1), counts / items.shape[1]
    groups = np.array([j for j, tag in enumerate(tags) if tag.is_titles and counts[j]], dtype=int)
    able = [not tag.discovered and not tag.is_bare for tag in tags]
    rare = np.flatnonzero(np.array(able, dtype=bool) & (counts > 0) & (share <= _RARE))
    if len(groups) and len(rare):
        both = sp.csr_array(items[groups].astype(np.float64) @ items[rare].astype(np.float64).T)
        part = both.data / np.repeat(counts[groups], np.diff(both.indptr))
        both.data = np.where(part >= _MOSTLY, part, 0.0)
        best = np.asarray(both.argmax(axis=1)).ravel()
        found = np.asarray(both.max(axis=1).todense()).ravel() > 0
        mostly[groups[found]] = rare[best[found]]
    years = [j for j, tag in enumerate(tags) if _YEAR.fullmatch(tag.value)]
    return _TagFacts(np.array(telling, dtype=np.int64), np.array(years, dtype=np.int64), mostly)


def _leaning_and_unit(
    profile: Profile, base: LeaningBase, values: Array, tag: Tag
) -> tuple[float, float]:
    """Return the leaning towards a tag's group, and what an affinity higher by 1 adds to it."""
    place = profile.place_of(tag)
    number = -1 if profile.near_equal_group is None else int(profile.near_equal_group[place])
    if number < 0:
        return 0.0, 0.0
    moved = replace(profile, values=values).personal_scores
    column = np.asarray(base.decoder[:, [place]].todense(), dtype=np.float64).ravel()
    both = base.group_carriers.means(np.column_stack([moved, column]))[number]
    return float(both[0]), profile.tags_weight * float(both[1])

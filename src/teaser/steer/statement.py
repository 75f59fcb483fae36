"""What is said of a person: statements with evidence, each of which can be contradicted.

The bounds were chosen on people who were not in the fit, with 80 % of their history as the profile:
how often people of whom something was said chose such items afterwards, against everybody's rate.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.data.tags import NOTHING, Tag, differing_names
from teaser.errors import ParameterError
from teaser.explain import are_names, join_names, join_values, number_features, small_numbers
from teaser.leaning import Carriers, LeaningBase, find_named_carriers
from teaser.profile import MAX_PRESSES, N_LIKE, Profile, press

Array = NDArray[Any]
# Leanings are measured in standard deviations of the person's own scores: those that are known,
# guessed and avoided are at least so large.
_LEAN, _STRONG, _AWAY = 0.25, 0.5, 0.3
# What is known stands on so many items at least, on so many times the root of the history, and on
# this multiple of everybody's odds: for a name, which may be one that all know, and for others.
_LEAST_OWN, _LEAST_ROOTS, _ODDS = (4, 3), (0.5, 0.65), (5.0, 2.5)
# A place is that of so many items, and of this share of the history.
_LEAST_THERE, _MOSTLY_THERE = 5, 0.7
# The weight of the leaning as evidence of its own, up to how much of it counts, and the least
# evidence: of the first statement, and of others, whose leaning is at least `_CLEAR`.
_PLAIN, _FURTHER, _CLEAR = (3.0, 2.0, 1.5), (4.0, 3.0, 3.0), 0.5
# A guess is about at least three of so many items that come first, where none was chosen and fewer
# than one was to be expected, on a feature that this share of all items states. Rarer tags are
# names that few know. What it follows from makes at least this part of the leaning.
_FIRST, _LEAST_FIRST, _STATED, _LEAST_RATE, _BECAUSE = 20, 3, 0.5, 0.01, 0.2
# Only tags with at least this share of everybody's choices are said to be avoided, where at least
# so many items were to be expected and less than a fifth of them were chosen.
_COMMON, _LEAST_EXPECTED, _LESS = 0.05, 4, 0.2
# One item says nothing of a person.
_LEAST_LIKED = 2

# A group is described by a tag that at least this share of its items have, also of those in the
# history, and of all items at most that share.
_MOSTLY, _RARE = 2 / 3, 1 / 8
_WORD = re.compile(r"[^\W\d_]{3}")
_YEAR = re.compile("(1[0-9]{3}|20[0-9]{2})s?")


@dataclass(frozen=True, eq=False)
class _TagFacts:
    """What statements need to know of a model's groups of near-equal tags, found once (groups).

    `declared` are those with a tag of the metadata, `telling` those that tell something also where
    no item of the history has them, `guessable` those of them that are kinds, and `unsaid` years,
    practical values, credits and those that say nothing. `names` are those of features of which few
    items carry each tag, such as actors, and `places` say where an item is. `mostly` is for each
    group that is named by titles the group of the tag that describes it; -1 for none, and for
    others. `costs` are the logarithms of how many tags the features have. `single` is the number of
    the feature, or -1 where an item has several tags of it.
    """

    declared: Array
    telling: Array
    guessable: Array
    unsaid: Array
    names: Array
    places: Array
    mostly: Array
    costs: Array
    single: Array
    named: Carriers

    def rivals(self, g: int) -> Array:
        """Return a group and those that no item carries beside it: of the same feature (groups)."""
        found: Array = (self.single == self.single[g]) & (self.single >= 0)
        found[g] = True
        return found


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
        return small_numbers(self.others)


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

    @property
    def is_place(self) -> bool:
        """Whether it says where most items of the history are."""
        return self.kind == "known" and self.leaning > 0 and self.tags[0].is_place


def statements(
    profile: Profile, *, known: int = 3, guessed: int = 1, away: int = 2
) -> list[Statement]:
    """Return what can be said of a person: what is known, guesses, then what is avoided.

    Near-equal tags are one statement. What the person's own presses oppose is not said, nor is a
    pressed tag guessed. Nothing is said of fewer than two liked items.

    - Known: the history has the tag clearly more often than others choose it, also after what was
      said before: of ten horror films, three by Wes Craven are worth a word, and thrillers are
      not. The evidence is a log-likelihood ratio and the leaning, less the logarithm of how many
      tags the feature has: a name needs more than a genre. The first statement is the plainest
      fact; further ones go by the leaning. Tags of the metadata come before discovered groups,
      which are told by at least three items and a tag that most of these have. A year is not said.
    - Guessed: the items with the tag stand far above the person's average item, and no item of the
      history carries it, where none was to be expected. Much of that is due to a tag that the
      history has more often than others.
    - Away: they stand clearly below it, the tag is common, at least four items were to be
      expected, and less than a fifth of them were chosen. It does not lie inside a tag that was
      told before, or around it.

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
    way = "lean towards" if statement.leaning > 0 else "lean away from"
    if statement.tags[0].is_audience:
        named = f"what is for {named}"
    if statement.is_place:
        way = "mostly choose what is in"
    n, out_of = evidence.in_others
    own = f"{evidence.own:,}" if evidence.own else "none"
    return f"You {way} {named}: {own} of your {evidence.of:,}, {n} in {out_of:,} for others."


def _name(statement: Statement) -> str:
    named = join_values(statement.tags)
    if statement.like:
        named = f"items like {join_names(statement.like)}"
    return f"{named} (mostly {statement.mostly.label})" if statement.mostly else named


class _Groups:
    """The groups of near-equal tags of one profile, as statements see them (groups).

    `strength` are leanings in standard deviations of the person's scores, `own` and `others` those
    of `Evidence`, and `counts` how many items carry a tag of each group. `facts`
    are those of the model's tags.
    """

    def __init__(
        self, profile: Profile, base: LeaningBase, group: Array, liked: list[int], scores: Array
    ) -> None:
        self.profile, self.base, self.group, self.liked = profile, base, group, liked
        carriers = base.group_carriers
        self.strength, self.counts = carriers.means(scores), carriers.counts
        self.own = carriers.count_in(np.array(liked, dtype=np.int64))
        self.others = carriers.rates(base.popularity)
        self.facts = _facts(profile.tags, base, group)

    def told(self, known: int, guessed: int, away: int) -> list[Statement]:
        """Return at most so many statements of each sort, none about what another says."""
        raised, lowered = self._pressed()
        # Something can be said of groups that some items carry, but not all, and somebody chose.
        sayable = (self.counts > 0) & (self.counts < len(self.base.popularity)) & (self.others > 0)
        knowable = self._known(sayable & ~lowered, max(1, known))
        found = knowable[:known]
        said = [self._first_group(each) for each in found]
        found += self._guesses(sayable & ~raised & ~lowered, said, guessed)
        # What somebody avoids tells little of whom nothing else is known.
        return found + (self._away(sayable & ~raised, said, away) if knowable else [])

    def _known(self, able: Array, most: int) -> list[Statement]:
        """Return what is known, each beyond what is to be expected after those before it."""
        others, declared = self.others, self.facts.declared
        able = able & self._agrees() & (declared | self._is_described())
        left, expected = set(self.liked), len(self.liked) * others
        unnamed = set(left)
        found: list[Statement] = []
        # What somebody chooses is said before where that is, and what metadata name before groups
        # that the fit found, which are named by items.
        places = self.facts.places
        for some in (declared & ~places, places, ~declared):
            while len(found) < most:
                # Half of the items are new; of a name, beside other names, and of a place, always.
                new = np.where(self.facts.names, self._count(unnamed), self._count(left))
                able &= places | (2 * new >= self.own)
                gain = np.where(able & some, self._gain(expected, is_first=not found), -np.inf)
                if not gain.max(initial=-np.inf) >= 0:
                    break
                g = self._best_known(int(gain.argmax()), able & some)
                found.append(self.statement("known", 1, g))
                # Of two places one lies in the other.
                able &= (self.facts.mostly != g) & ~(places & places[g])
                able[g] = False
                # Of the items that carry it, others are to be expected more often, or less.
                n_new = len(left & self._carriers(g))
                left -= self._carriers(g)
                unnamed -= self._carriers(g) if self.facts.names[g] else set()
                expected = expected + n_new * (self._rates_within(g) - others)
        return found

    def _agrees(self) -> Array:
        """Return of which groups history and leaning say that the person leans towards them."""
        own, others, n = self.own, self.others, len(self.liked)
        root = np.where(self.facts.names, *_LEAST_ROOTS) * np.sqrt(n)
        least = np.where(self.facts.names, *_LEAST_OWN)
        found: Array = own >= np.maximum(np.minimum(least, n), root)
        # The odds, so that of a tag that half of all choices carry more can be said.
        odds = np.where(self.facts.names, *_ODDS)
        found &= own * (1 - others) >= odds * others * (n - own)
        # Where somebody goes tells less than what for, unless it is most of the history.
        found &= ~self.facts.places | (own >= max(_LEAST_THERE, _MOSTLY_THERE * n))
        found &= (self.strength >= _LEAN) & ~self.facts.unsaid
        return found

    def _gain(self, expected: Array, *, is_first: bool) -> Array:
        """Return how much a statement of each group says beyond what was to be expected (groups).

        That is the evidence of history and leaning, less what it costs to name one tag of many: of
        a thousand actors, some are in three films of any history. Below 0 it says too little. The
        first statement is the plainest fact; of others the leaning counts more.
        """
        weight, most, least = _PLAIN if is_first else _FURTHER
        surprise = _surprise(self.own, expected)
        # The leaning bears out what the history says, and does not take its place.
        gain = surprise + np.minimum(weight * np.minimum(self.strength, most), 2 * surprise)
        able = (self.own > expected) & (is_first | (self.strength >= _CLEAR))
        found: Array = np.where(able, gain - self.facts.costs - least, -np.inf)
        return found

    def _is_described(self) -> Array:
        """Return which groups that the fit found can be told by items of the history.

        Of two items, or most of the history, that tells nothing. Most of them carry the tag that
        describes the group, and it says less than the group.
        """
        found = (self.own >= _LEAST_OWN[1]) & (2 * self.own <= len(self.liked))
        found &= self.facts.mostly >= 0
        for g in np.flatnonzero(found).tolist():
            mostly = int(self.facts.mostly[g])
            items = self._carriers(g).intersection(self.liked)
            both = items & self._carriers(mostly)
            found[g] = self.own[mostly] <= self.own[g] and len(both) >= _MOSTLY * len(items)
        return found

    def _guesses(self, able: Array, said: list[int], most: int) -> list[Statement]:
        """Return guesses, each with what it follows from."""
        able = able & (self.strength >= _STRONG) & (self.own == 0) & self.facts.guessable
        able &= (len(self.liked) * self.others < 1) & (self.others >= _LEAST_RATE)
        # What follows from the person's own presses is not what people like them choose.
        able &= self._unpressed() >= _STRONG
        able &= self._count_first() >= _LEAST_FIRST
        # Of two guesses as strong, the one about more items says more.
        order = np.argsort(-self.strength * np.sqrt(self.counts), kind="stable")
        found: list[Statement] = []
        for g in order[able[order]].tolist():
            if len(found) == most:
                break
            because = self._because(g, said)
            if because is not None:
                found.append(self.statement("guessed", 1, g, because))
                said.append(g)
        return found

    def _away(self, able: Array, said: list[int], most: int) -> list[Statement]:
        """Return what is avoided, the plainest first."""
        expected = len(self.liked) * self.others
        able = able & (self.strength <= -_AWAY) & (self.others >= _COMMON)
        able &= (expected >= _LEAST_EXPECTED) & (self.own < _LESS * expected)
        able &= self.facts.telling & ~self.facts.unsaid & ~self.facts.places
        found: list[Statement] = []
        often = np.flatnonzero(self.facts.declared & (self.own >= _LEAST_OWN[1])).tolist()
        chosen = [self.profile.tags[self._members(other)[0]].value for other in often]
        order = np.argsort(-_surprise(self.own, expected), kind="stable")
        for g in order[able[order]].tolist():
            # Who mostly chooses concerts chooses plays less. Who chose fantasy-sci-fi does not
            # avoid sci-fi-fantasy.
            name = self.profile.tags[self._members(g)[0]].value
            is_implied = self.facts.rivals(g)[said].any() or not differing_names([name], 1, chosen)
            if len(found) < most and not is_implied and not self._nested(g).intersection(said):
                found.append(self.statement("known", -1, g))
                said.append(g)
        return found

    def statement(
        self,
        kind: Literal["known", "guessed"],
        leaning: Literal[1, -1],
        g: int,
        because: Statement | None = None,
    ) -> Statement:
        """Return a statement about a group."""
        # What is counted is what is named, and no group that the fit found beside it.
        named = self.facts.named.items[[g]].indices
        own, chosen = len(set(named.tolist()).intersection(self.liked)), self.base.popularity
        evidence = Evidence(own, len(self.liked), float(chosen[named].sum() / chosen.sum()))
        members, carriers = self._members(g), self.base.carriers.items
        if self.own[g] and leaning > 0:
            # A near-equal name that none of the own items has is none of theirs.
            theirs = [j for j in members if set(carriers[[j]].indices) & set(self.liked)]
            members = theirs or members
        tags = tuple(self.profile.tags[j] for j in members)
        like: tuple[str, ...] = ()
        common = None
        if tags[0].is_titles and self.facts.mostly[g] >= 0:
            mostly = int(self.facts.mostly[g])
            common = self.profile.tags[self._members(mostly)[0]]
            items = self._carriers(g) & self._carriers(mostly) & set(self.liked)
            pairs = zip(self.profile.places, self.profile.titles, strict=False)
            like = tuple(title for place, title in pairs if place in items)[:N_LIKE]
        strength = abs(float(self.strength[g]))
        return Statement(kind, leaning, tags, evidence, strength, like, common, because)

    def _pressed(self) -> tuple[Array, Array]:
        """Return which groups have a tag with presses of +, and which of - (groups)."""
        raised, lowered = np.zeros((2, len(self.counts)), dtype=bool)
        for tag, steps in self.profile.presses.items():
            number = self.group[self.profile.place_of(tag)]
            if number >= 0:
                (raised if steps > 0 else lowered)[number] = True
        return raised, lowered

    def _unpressed(self) -> Array:
        """Return the strengths as they would be without presses (groups)."""
        profile = self.profile
        if not profile.presses:
            return self.strength
        places = [profile.place_of(tag) for tag in profile.presses]
        values, net = profile.values.copy(), np.array(list(profile.presses.values()))
        moves = profile.moves_of(places)[np.arange(len(net)), net + MAX_PRESSES]
        np.subtract.at(values, places, moves)
        before = replace(profile, values=values).personal_scores
        found: Array = self.base.group_carriers.means(before) / max(float(before.std()), 1e-300)
        return found

    def _count_first(self) -> Array:
        """Return how many of the items that come first for the person carry each group (groups)."""
        scores = self.profile.personal_scores.copy()
        scores[list(self.profile.places)] = -np.inf
        return self.base.group_carriers.count_in(np.argsort(-scores, kind="stable")[:_FIRST])

    def _because(self, g: int, said: Collection[int]) -> Statement | None:
        """Return what a guess follows from, of what the history has more often than others.

        What was said comes first.
        That who likes Ghent may like a place in Ghent says nothing, nor that who likes economics
        may like economics-business.
        """
        agrees = self._agrees() & (self.facts.declared | self._is_described())
        by_tag, by_item = self.profile.parts_of(self._members(g)[0])
        has_group = self.group >= 0
        by_group = np.bincount(self.group[has_group], by_tag[has_group], minlength=len(self.own))
        least, nested = _BECAUSE * float(by_tag.sum() + by_item.sum()), self._nested(g)
        guess = self.profile.tags[self._members(g)[0]].value
        expected = len(self.liked) * self.others
        order = np.argsort(-self._gain(expected, is_first=True), kind="stable")
        order = np.append(np.array(list(said), dtype=np.int64), order)
        for best in order[(agrees & (by_group >= least))[order]].tolist():
            names = [guess, self.profile.tags[self._members(best)[0]].value]
            if best not in nested and len(differing_names(names)) > 1:
                return self.statement("known", 1, best)
        return None

    def _best_known(self, g: int, able: Array) -> int:
        """Return the group that says most of those on the same items of the history.

        That is the name that most people chose, also if more of the history has it: Jackie Chan
        says more than the rest of the cast or who wrote his films, and than that they are action
        films. Without a name it is the rarest: chocolate says more than food. Of a feature's only
        values it is the one of most items: four concerts go before three plays.
        """
        items = self._carriers(g).intersection(self.liked)
        around = [
            other
            for other in np.flatnonzero(able & (self.own >= self.own[g])).tolist()
            if items <= self._carriers(other)
        ]
        names = [other for other in around if self.facts.names[other]]
        if names:
            return max(names, key=lambda each: float(self.others[each]))
        rivals = np.flatnonzero(able & self.facts.rivals(g) & (self.own > self.own[g]))
        if len(rivals):
            return int(rivals[self.own[rivals].argmax()])
        same = [other for other in around if self.own[other] == self.own[g]]
        return min(same, key=lambda each: float(self.others[each]))

    def _rates_within(self, g: int) -> Array:
        """Return the share of the choices of a group's items that carry each group (groups)."""
        popularity = np.zeros(len(self.base.popularity))
        own = list(self._carriers(g))
        popularity[own] = self.base.popularity[own]
        return self.base.group_carriers.rates(popularity)

    def _count(self, places: Collection[int]) -> Array:
        """Return how many of some items carry each group (groups)."""
        return self.base.group_carriers.count_in(np.array(list(places), dtype=np.int64))

    def _carriers(self, g: int) -> set[int]:
        """Return the items that carry a group."""
        return set(self.base.group_carriers.items[[g]].indices.tolist())

    def _members(self, g: int) -> list[int]:
        """Return the columns of a group's tags, the one on most items first.

        Discovered ones are left out where metadata name the same.
        """
        places = np.flatnonzero(self.group == g)
        counts = self.base.carriers.counts[places]
        found: list[int] = places[np.argsort(-counts, kind="stable")].tolist()
        return [j for j in found if not self.profile.tags[j].discovered] or found

    def _first_group(self, statement: Statement) -> int:
        return int(self.group[self.profile.place_of(statement.tags[0])])

    def _nested(self, g: int) -> set[int]:
        """Return a group, and those with a tag that lies inside one of its tags, or around it."""
        found, nested = {g}, self.profile.nested
        for j in self._members(g) if nested is not None else ():
            found |= set(self.group[nested.indices[nested.indptr[j] : nested.indptr[j + 1]]])
        return found


def _surprise(n: Array, expected: Array) -> Array:
    """Return the log-likelihood ratio of n against an expected number, of a Poisson variable."""
    safe = np.maximum(expected, 1e-12)
    found: Array = n * np.log(np.maximum(n, 1e-12) / safe) - (n - expected)
    return found


def _facts(tags: Sequence[Tag], base: LeaningBase, group: Array) -> _TagFacts:
    if base.carriers not in _FACTS:
        _FACTS[base.carriers] = _find_facts(tags, base, group)
    return _FACTS[base.carriers]


def _find_facts(tags: Sequence[Tag], base: LeaningBase, group: Array) -> _TagFacts:
    """Return what statements need to know of the tags of a model.

    Where no item of the history has it, a tag tells something if most items state something of its
    feature: that none is said to be stylish says little where few items are tagged. Numbers and
    codes, such as PG, then tell nothing.
    """
    carriers, n_groups = base.carriers, len(base.group_carriers.counts)
    items, counts = carriers.items, carriers.counts
    features, numbers = number_features(tags)
    states = np.zeros((len(features), items.shape[1]), dtype=bool)
    states[np.repeat(numbers, counts), items.indices] = True
    common = states.mean(axis=1) >= _STATED
    declared = np.array([not tag.discovered for tag in tags], dtype=bool)
    words = np.array(
        [bool(_WORD.search(tag.value)) and not tag.is_bare for tag in tags], dtype=bool
    )
    unsaid = [
        _YEAR.fullmatch(tag.value) or tag.value.casefold() in NOTHING or tag.is_practical
        for tag in tags
    ]
    mostly, share = np.full(n_groups, -1), counts / items.shape[1]
    groups = np.array([j for j, tag in enumerate(tags) if tag.is_titles and counts[j]], dtype=int)
    places = np.array([tag.is_place for tag in tags], dtype=bool)
    rare = np.flatnonzero(declared & words & ~places & (counts > 0) & (share <= _RARE))
    if len(groups) and len(rare):
        both = sp.csr_array(items[groups].astype(np.float64) @ items[rare].astype(np.float64).T)
        part = both.data / np.repeat(counts[groups], np.diff(both.indptr))
        both.data = np.where(part >= _MOSTLY, part, 0.0)
        best = np.asarray(both.argmax(axis=1)).ravel()
        found = np.asarray(both.max(axis=1).todense()).ravel() > 0
        mostly[group[groups[found]]] = group[rare[best[found]]]
    # Each tag of a feature is one of so many that can be named; those that no item carries are not.
    sizes = np.bincount(numbers[counts > 0], minlength=len(features))
    costs = np.full(n_groups, np.inf)
    carried = np.flatnonzero((group >= 0) & (counts > 0))
    np.minimum.at(costs, group[carried], np.log(sizes[numbers[carried]]))

    credit = np.array([tag.is_credit for tag in tags], dtype=bool)
    # An item has one tag at most of a feature of which as many tags are carried as items.
    carried_by = np.bincount(numbers, counts, minlength=len(features))
    is_single = carried_by == states.sum(axis=1)
    single = np.full(n_groups, -1)
    alone = carried[is_single[numbers[carried]] & declared[carried]]
    single[group[alone]] = numbers[alone]

    kinds = np.array([tag.is_kind for tag in tags], dtype=bool)

    def groups_of(which: Array) -> Array:
        out = np.zeros(n_groups, dtype=bool)
        out[group[which & (group >= 0)]] = True
        return out

    return _TagFacts(
        groups_of(declared),
        groups_of(declared & words & common[numbers]),
        groups_of(declared & words & common[numbers] & kinds),
        groups_of(np.array(unsaid, dtype=bool))
        | (groups_of(credit) & ~groups_of(~credit & declared)),
        groups_of(are_names(tags, counts, items.shape[1])),
        groups_of(places),
        mostly,
        costs,
        single,
        find_named_carriers(carriers, group, ~declared),
    )


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

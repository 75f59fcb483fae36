"""The grammar of requests: what degrees, negations, places and lists make of the names."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

from teaser.data.tags import Tag
from teaser.words.dates import Years
from teaser.words.segmenter import Atom
from teaser.words.vocabulary import PART, Name, Vocabulary, steps_of
from teaser.words.wishes import BARE, OF_TAGS, SLIGHT, STRONG, Kind, Lasts, Period, Sign, Wish

# Features of these kinds filter where a tag is only mentioned; all others are pressed.
_FILTERED = frozenset({"town", "region", "country", "price", "day"})
# The most bands that "older" presses, and the most years that are named one by one.
_MOST_BANDS, _MOST_YEARS = 12, 10


@dataclass
class Draft:
    """A wish that what follows may still change.

    Parameters
    ----------
    wish
        The wish.
    clause, group
        The numbers of the part of the request between commas, and of the names of one sign.
    signed
        Whether a sign was written; a bare mention may get one afterwards.
    """

    wish: Wish
    clause: int
    group: int
    signed: bool


@dataclass
class Drafts:
    """The wishes of a request, in its order.

    Parameters
    ----------
    vocabulary
        What the request can speak of.
    clause, group
        The numbers of what is read now.
    """

    vocabulary: Vocabulary
    clause: int = 0
    group: int = 0
    all: list[Draft] = field(default_factory=list)

    def add(self, wish: Wish, *, signed: bool = True) -> None:
        """Add a wish of the present clause and group."""
        self.all.append(Draft(wish, self.clause, self.group, signed))

    def add_tag(self, tag: Tag, sign: Sign | None, words: str) -> None:
        """Add a wish about a tag; without a sign it is a bare mention."""
        filtered = self.vocabulary.kind(tag) in _FILTERED
        bare = Sign("only") if filtered else Sign("press", BARE)
        self.add((sign or bare).wish(str(tag), words), signed=sign is not None)

    @property
    def last(self) -> Wish | None:
        """The last wish."""
        return self.all[-1].wish if self.all else None

    def further_decade(self, number: str) -> Tag | None:
        """Return the decade of a number that follows another one: the years 80 or 90."""
        last = self.last
        if last is None or last.kind not in OF_TAGS or not number.isdigit():
            return None
        feature = Tag.parse(last.name).feature
        is_age = self.vocabulary.kinds.get(feature) == "age"
        bands = self.vocabulary.bands.get(feature, ()) if is_age else ()
        return next((tag for tag in bands if tag.value.rstrip("s")[-2:] == number[-2:]), None)

    def add_scale(self, about: str, direction: int, words: str) -> bool:
        """Add the wishes of `cheaper` and the like; return whether there are any.

        Many bands, such as single years, are too many to press: the middle of the column bounds
        the list, if there is one.
        """
        bands, column = self.vocabulary.bands_of(about), self.vocabulary.column_of(about)
        if about == "players":
            return self.add_solo(words)
        if about == "length" and not bands and column is None:
            return self.add_scale("pages", direction, words)
        if column is None and (not bands or len(bands) > _MOST_BANDS):
            return False
        # Bands that were made of the column itself say no more than its numbers.
        own = not bands or bands[0].feature == column
        if column is not None and (own or len(bands) > _MOST_BANDS):
            middle = self.vocabulary.medians[column]
            kind: Kind = "at_least" if direction > 0 else "at_most"
            self.add(Wish(kind, column, number=middle, words=words))
            return True
        for tag, steps in steps_of(bands, direction).items():
            self.add(Wish("press", str(tag), steps, words=words))
        return True

    def add_solo(self, words: str) -> bool:
        """Add the wish for what one player can play; return whether there is such a column."""
        columns = self.vocabulary.columns_of("players")
        column = next((name for name in columns if "max" not in name.casefold()), None)
        if column is not None:
            self.add(Wish("at_most", column, number=1.0, words=words))
        return column is not None

    def add_years(self, years: Years, sign: Sign | None, words: str) -> bool:
        """Add the wishes about a run of years; return whether there are any.

        They bound the column of years. Without one, or with a sign, they are about single years
        or decades, if these are few.
        """
        column = self.vocabulary.column_of("age")
        tags = years.among(self.vocabulary.bands_of("age"))
        few = 0 < len(tags) <= _MOST_YEARS
        if sign is not None and sign.kind != "only":
            if few:
                for tag in tags:
                    self.add(sign.wish(str(tag), words))
                return True
            left = years.opposite() if sign.kind in ("without", "never") else None
            if left is None or column is None:
                return False
            years = left
        if column is None:
            for tag in tags if few else ():
                self.add(Wish("only", str(tag), words=words))
            return few
        if years.first is not None:
            self.add(Wish("at_least", column, number=float(years.first), words=words))
        if years.last is not None:
            self.add(Wish("at_most", column, number=float(years.last), words=words))
        return True

    def in_clause(self) -> bool:
        """Return whether the present clause has a wish."""
        return bool(self.all) and self.all[-1].clause == self.clause

    def let_end(self, lasts: Lasts) -> bool:
        """Let the signed wishes of the present group end; return whether one does."""
        found = False
        for draft in self.all:
            if draft.group != self.group or draft.clause != self.clause or not draft.signed:
                continue
            wish = draft.wish
            ending = Sign(wish.kind, wish.steps, wish.lasts).ending(lasts)
            draft.wish = replace(wish, kind=ending.kind, lasts=ending.lasts)
            found = found or ending.lasts == lasts
        return found

    def apply_backwards(self, sign: Sign) -> None:
        """Apply a sign to the bare names that it follows: `jazz only`, `workshops, no thanks`."""
        last = self.all[-1] if self.all else None
        if last is None or last.signed or last.clause < self.clause - 1:
            return
        for draft in reversed(self.all):
            if draft.signed or draft.clause != last.clause:
                break
            draft.wish = sign.wish(draft.wish.name, draft.wish.words)
            draft.signed = True


# Steps of more and less, by the word of size before them.
_DEGREES = {"small": SLIGHT, "": BARE, "large": STRONG}
# Atoms that stand between names without ending what a sign counts for.
_CLEAR = frozenset({"filler", "unknown", "boost", "named_feature", "feature", "like"})
# Atoms that a sign can count for.
_TARGETS = frozenset({"name", "scale", "appeal", "place", "feature", "habit"})
# "Rather jazz than rock" is a bit of jazz, and less rock.
_RATHER = Sign("press", SLIGHT)
# How many atoms are looked ahead at most.
_AHEAD = 40
# The most tags that a part of a name presses, and that it excludes.
_MOST_PARTS, _MOST_EXCLUDED = 3, 10
_OUTSIDE = frozenset({"outside", "buiten"})


@dataclass
class Grammar:
    """Goes through the atoms of a request from left to right.

    A sign (a degree, no, only, ...) counts for the names after it until a comma, `but`, the end of
    a sentence or the next sign; a comma in a list that ends in `and` or `or` does not end it.

    Parameters
    ----------
    text, atoms
        The request, and its atoms.
    vocabulary
        What it can speak of.
    """

    text: str
    vocabulary: Vocabulary
    atoms: list[Atom]
    drafts: Drafts = field(init=False)
    unknown: list[str] = field(default_factory=list)
    sign: Sign | None = None
    sign_at: int = 0
    # Whether a name followed the sign, and whether it is a degree: more, less.
    sign_used: bool = True
    by_degree: bool = False
    place: str = ""
    place_at: int = 0
    place_rule: Sign | None = None
    place_feature: str = ""
    size: str = ""
    size_at: int = 0
    lasts: Lasts | None = None
    feature: str = ""
    # The names since the last sign, conjunction or comma, with their atoms: "free jazz concerts".
    named: list[tuple[Tag, Atom]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.drafts = Drafts(self.vocabulary)

    def run(self) -> list[Wish]:
        """Read all atoms and return the wishes."""
        readers: dict[str, Callable[[int, Atom], None]] = {
            "sign": self._read_sign, "size": self._read_size, "boost": self._read_boost,
            "degree": self._read_degree, "name": self._read_name, "place": self._read_place,
            "feature": self._read_feature, "named_feature": self._read_named_feature,
            "scale": self._read_scale, "appeal": self._read_appeal, "variety": self._read_variety,
            "limit": self._read_limit, "date": self._read_date, "habit": self._read_habit,
            "lasts": self._read_lasts, "item": self._read_item, "join": self._read_join,
            "years": self._read_years, "comma": self._read_comma, "stop": self._read_stop,
            "unknown": self._read_unknown,
        }  # fmt: skip
        for at, atom in enumerate(self.atoms):
            if atom.kind in readers:
                readers[atom.kind](at, atom)
        self._end_clause()
        return [draft.wish for draft in self.drafts.all]

    @property
    def fresh(self) -> Sign | None:
        """The sign that no name followed so far."""
        return self.sign if not self.sign_used and not self.named else None

    # Signs

    def _read_sign(self, at: int, atom: Atom) -> None:
        fresh, used = self.fresh, self.sign is not None and self.fresh is None
        if atom.value == "nor" and used and self.sign is not None and self.sign.negative:
            self._flush()
            return
        if atom.value == "than" and not (used and self.sign == _RATHER):
            self._read_que(at, atom)
            return
        sign = Sign.parse(atom.value)
        if sign is None and fresh is not None:
            return  # "only want": the first word decides
        if fresh is not None and fresh.negative and sign is not None and sign.steps > 0:
            sign = Sign("press", -BARE if sign.steps > SLIGHT else -SLIGHT)
        self._set_sign(sign, atom)

    def _read_que(self, at: int, atom: Atom) -> None:
        """Read `than` without `rather` before it: French `que` is `only`, as in `que du jazz`."""
        if self._words(atom).casefold().startswith("qu") and self._target_follows(at):
            self._set_sign(Sign("only"), atom)

    def _read_size(self, at: int, atom: Atom) -> None:
        self.size, self.size_at = atom.value, atom.start
        following = self._following(at)
        kind = following.kind if following is not None else ""
        if kind in ("degree", "scale", "appeal", "size"):
            return
        if kind == "name":
            self._set_sign(Sign("press", _DEGREES[self.size]), atom)
        self.size = ""

    def _read_boost(self, at: int, atom: Atom) -> None:
        following = self._following(at)
        is_before = following is not None and following.kind == "degree"
        self.size, self.size_at = (atom.value if is_before else ""), atom.start

    def _read_degree(self, at: int, atom: Atom) -> None:
        steps = _DEGREES[self.size] * (1 if atom.value == "more" else -1)
        if self.size:
            atom = replace(atom, start=self.size_at)
        self.size = ""
        negated = self.sign is not None and self.sign.negative
        # "no more jazz", "geen workshops meer"
        if steps > 0 and negated and (self.fresh is not None or not self._target_follows(at)):
            return
        self._set_sign(Sign("press", steps), atom)
        self.by_degree = True

    def _set_sign(self, sign: Sign | None, atom: Atom) -> None:
        self._flush()
        self.drafts.group += 1
        if sign is not None and self.lasts is not None:
            sign, self.lasts = sign.ending(self.lasts), None
        self.sign, self.sign_at, self.sign_used = sign, atom.start, sign is None
        self.by_degree = False
        self.place, self.place_rule = "", None

    def _drop_sign(self) -> None:
        self.sign, self.sign_used, self.place_rule = None, True, None

    # Names

    def _read_name(self, at: int, atom: Atom) -> None:
        tag = self._choose(cast(tuple[Name, ...], atom.value), at)
        if self._is_outside(at):
            self._set_sign(Sign("without"), atom)
            return
        if self.vocabulary.is_place(tag):
            self._add_place(tag, atom)
        else:
            self.named += [(each, atom) for each in self._with_parts(tag, at)]
            self.place = ""
        self.feature = ""

    def _choose(self, names: tuple[Name, ...], at: int) -> Tag:
        """Return the tag that a name means here, where several bear it."""
        listed = self.place_feature if self.place_rule is not None else ""
        wanted = self.feature or self._feature_after(at) or listed

        def rank(name: Name) -> tuple[int, ...]:
            kind = self.vocabulary.kind(name.tag) or ""
            misfit = bool(wanted) and wanted not in (kind, name.tag.feature)
            coarse = {"region": 1, "country": 2}.get(kind, 0)
            return misfit, name.rank, coarse, -self.vocabulary.counts.get(name.tag, 0)

        return min(names, key=rank).tag

    def _with_parts(self, tag: Tag, at: int) -> list[Tag]:
        """Return a tag, and others that a part of a name means: the most carried of them.

        Two parts side by side mean the tags with both: "deck building".
        """
        names = _names(self.atoms[at])
        if any(name.rank < PART for name in names if name.tag == tag):
            return [tag]
        parts = [name.tag for name in names if name.rank == PART]
        before = self.atoms[at - 1] if at else None
        if before is not None and self.named and self.named[-1][1] is before:
            both = [name.tag for name in _names(before) if name.tag in parts]
            if both:
                self.named = [each for each in self.named if each[1] is not before]
                parts = both
        return sorted(parts, key=lambda each: -self.vocabulary.counts[each])[:_MOST_PARTS]

    def _feature_after(self, at: int) -> str:
        """Return the feature that is named right after a name: Antwerp province."""
        following = self.atoms[at + 1] if at + 1 < len(self.atoms) else None
        is_region = following is not None and following.kind == "feature"
        return "region" if is_region and following and following.value == "region" else ""

    def _is_outside(self, at: int) -> bool:
        """Return whether a name such as `outside` stands before a place and means not there."""
        word = self._words(self.atoms[at]).casefold()
        following = self._following(at)
        if word not in _OUTSIDE or following is None or following.kind != "name":
            return False
        return all(self.vocabulary.is_place(name.tag) for name in following.value)

    def _add_place(self, tag: Tag, atom: Atom) -> None:
        """Add a wish about a place: a filter, or presses for what is near."""
        rule = self.place_rule or self._rule_of_place(tag)
        if self.place_rule is None or self.feature:
            self.place_feature = self.feature
        self._flush()
        self.place_rule = rule
        bare = rule == Sign("only") and self.sign is None
        if self.place:
            atom = replace(atom, start=self.place_at)
        self.drafts.add_tag(tag, None if bare else rule, self._words(atom, rule is self.sign))
        self.sign_used, self.place = True, ""

    def _rule_of_place(self, tag: Tag) -> Sign:
        if self.place == "outside":
            return Sign("without")
        if self.fresh is not None:
            return self.fresh
        # "regio Gent": the region of a town is what lies near.
        is_around = self.feature == "region" and self.vocabulary.kind(tag) == "town"
        if self.place == "near" or is_around:
            return Sign("press", BARE)
        if not self.place and self.sign is not None and not self.named:
            return self.sign
        return Sign("only")

    def _flush(self) -> None:
        """Make wishes of the names that stand together."""
        named, self.named = self.named, []
        if not named:
            return
        excluded = self.sign is not None and self.sign.kind in ("without", "never")
        if excluded:
            if len({tag.feature for tag, _ in named}) > 1:
                # "no jazz concerts" does not exclude all concerts: the rarest name is meant.
                rarest = min(named, key=lambda each: self.vocabulary.counts.get(each[0], 0))[1]
                named = [each for each in named if each[1] is rarest]
            # "no dice" excludes all tags with the word.
            parts = [(n.tag, atom) for _, atom in named for n in _names(atom) if n.rank == PART]
            named = list(dict.fromkeys((*named, *parts[:_MOST_EXCLUDED])))
        for tag, atom in named:
            self.drafts.add_tag(tag, self.sign, self._words(atom, self.sign is not None))
        self.sign_used = True

    # Places and features

    def _read_place(self, at: int, atom: Atom) -> None:
        following = self._following(at)
        if following is None or not (
            following.kind == "feature"
            or (following.kind == "name" and self._means_place(following))
        ):
            return
        self._flush()
        self.place, self.place_at, self.place_rule = atom.value, atom.start, None

    def _means_place(self, atom: Atom) -> bool:
        names = cast(tuple[Name, ...], atom.value)
        best = min(name.rank for name in names)
        return any(self.vocabulary.is_place(name.tag) for name in names if name.rank == best)

    def _read_feature(self, at: int, atom: Atom) -> None:
        self.feature = atom.value

    def _read_named_feature(self, at: int, atom: Atom) -> None:
        following = self._following(at)
        if following is not None and following.kind == "name":
            features = {name.tag.feature for name in following.value}
            self.feature = next((each for each in atom.value if each in features), self.feature)

    # Scales, appeal, variety

    def _read_scale(self, at: int, atom: Atom) -> None:
        about, _, direction = atom.value.partition(" ")
        fresh = self.fresh
        flip = -1 if fresh is not None and fresh.negative else 1
        self._flush()
        words = self._words(atom, fresh is not None)
        if not self.drafts.add_scale(about, flip * int(direction), words):
            self._not_understood(atom)
        self.size = ""
        self._drop_sign()

    def _read_years(self, at: int, atom: Atom) -> None:
        fresh = self.fresh
        self._flush()
        if not self.drafts.add_years(atom.value, fresh, self._words(atom, fresh is not None)):
            self._not_understood(atom)
        if fresh is not None:
            self._drop_sign()

    def _read_appeal(self, at: int, atom: Atom) -> None:
        tag, fresh, steps = self.vocabulary.appeal, self.fresh, BARE * int(atom.value)
        if tag is None:
            self._not_understood(atom)
            return
        if fresh is not None and fresh.kind == "press" and (self.by_degree or fresh.steps > 0):
            steps = fresh.steps * int(atom.value)
        elif fresh is not None and fresh.negative:
            steps = -steps
        words = self._words(atom, fresh is not None)
        self._flush()
        self.drafts.add(Wish("press", str(tag), steps, words=words))
        self.size = ""
        self._drop_sign()

    def _read_variety(self, at: int, atom: Atom) -> None:
        self._flush()
        self.drafts.add(Wish("variety", number=float(atom.value), words=self._words(atom)))
        self._drop_sign()

    # Bounds, dates and items

    def _read_limit(self, at: int, atom: Atom) -> None:
        bounds, fresh = cast(tuple[Wish, ...], atom.value), self.fresh
        if not bounds:
            self._not_understood(atom)
            return
        words = self._words(atom, fresh is not None)
        flip = fresh is not None and fresh.negative  # "nothing over 20" is at most 20
        other: dict[Kind, Kind] = {"at_least": "at_most", "at_most": "at_least"} if flip else {}
        if fresh is not None:
            self._drop_sign()
        self._flush()
        for bound in bounds:
            kind = other.get(bound.kind, bound.kind)
            self.drafts.add(replace(bound, kind=kind, words=words))

    def _read_date(self, at: int, atom: Atom) -> None:
        period, fresh = cast(Period | None, atom.value), self.fresh
        self._flush()
        if period is None:
            self._not_understood(atom)
            return
        hides = self.sign is not None and self.sign.kind == "never"
        if hides and period.name in ("today", "week"):
            self._read_lasts(at, replace(atom, value=period.name))
        elif fresh is not None and fresh.negative and not self._target_follows(at):
            # Days cannot be excluded: "not this weekend".
            self._not_understood(atom)
            self._drop_sign()
        else:
            self.drafts.add(Wish("when", str(period), words=self._words(atom)))

    def _read_habit(self, at: int, atom: Atom) -> None:
        days = (tag for tag in self.vocabulary.counts if self.vocabulary.kind(tag) == "day")
        found = next((tag for tag in days if tag.value.casefold() == atom.value), None)
        if found is not None:
            self.named.append((found, atom))
        else:
            self._not_understood(atom)

    def _read_lasts(self, at: int, atom: Atom) -> None:
        """Let the presses and exclusions of this group end; before them, those that follow."""
        self._flush()
        lasts = cast(Lasts, atom.value)
        in_clause = self.drafts.in_clause()
        if self.drafts.let_end(lasts):
            return
        if self.fresh is not None:
            self.sign = self.fresh.ending(lasts)
        elif in_clause and lasts == "today" and self.vocabulary.has_dates:
            self.drafts.add(Wish("when", "today", words=self._words(atom)))
        elif in_clause:
            self._not_understood(atom)
        else:
            self.lasts = lasts

    def _read_item(self, at: int, atom: Atom) -> None:
        if self.fresh is not None and self.fresh.negative:  # less like an item
            self._not_understood(atom)
            self._drop_sign()
            return
        self._flush()
        self.drafts.add(Wish("like", atom.value, words=self._words(atom)))
        self._drop_sign()

    # What joins and ends

    def _read_join(self, at: int, atom: Atom) -> None:
        self._flush()
        if atom.value == "but":
            self._end_clause()

    def _read_comma(self, at: int, atom: Atom) -> None:
        active = self.sign is not None and self.fresh is None
        if (active or self.place_rule is not None) and self._continues_list(at):
            self._flush()
            return
        self._end_clause()

    def _read_stop(self, at: int, atom: Atom) -> None:
        if atom.value == ":" and self.fresh is not None:
            return  # "more: jazz and folk"
        self._end_clause()

    def _read_unknown(self, at: int, atom: Atom) -> None:
        decade = self.drafts.further_decade(atom.value)
        if decade is not None:
            self.named.append((decade, atom))
            return
        self._not_understood(atom)
        self.sign_used = True

    def _not_understood(self, atom: Atom) -> None:
        self.unknown.append(self._words(atom))

    def _end_clause(self) -> None:
        """End what a sign counts for; one without a name counts for the names before it."""
        fresh = self.fresh
        self._flush()
        if fresh is not None:
            self.drafts.apply_backwards(fresh)
        self._drop_sign()
        if self.drafts.in_clause():
            self.lasts = None
        self.place, self.feature, self.size = "", "", ""
        self.drafts.clause += 1
        self.drafts.group += 1

    def _continues_list(self, at: int) -> bool:
        """Return whether a comma stands in a list of names that ends in and / or."""
        last = self.drafts.last
        is_place = False
        if not self.named and last is not None and last.kind in OF_TAGS:
            is_place = self.vocabulary.is_place(Tag.parse(last.name))
        n_names, joined = 0, False
        for atom in self.atoms[at + 1 : at + _AHEAD]:
            if atom.kind == "name":
                if self._means_place(atom) != is_place:
                    return False
                if joined:
                    return True
                n_names += 1
            elif atom.kind == "comma":
                n_names = 0
            elif atom.kind == "join" and atom.value == "and" and n_names:
                joined = True
            elif atom.kind not in _CLEAR and not (atom.kind == "place" and is_place):
                return False
        return False

    def _following(self, at: int) -> Atom | None:
        """Return the next atom that is no filler."""
        ahead = self.atoms[at + 1 : at + _AHEAD]
        return next((atom for atom in ahead if atom.kind not in ("filler", "unknown")), None)

    def _target_follows(self, at: int) -> bool:
        following = self._following(at)
        return following is not None and following.kind in _TARGETS

    def _words(self, atom: Atom, with_sign: bool = False) -> str:
        """Return the words of an atom, from its sign on."""
        start = min(atom.start, self.sign_at) if with_sign and self.sign else atom.start
        return self.text[start : atom.end]


def _names(atom: Atom) -> tuple[Name, ...]:
    return cast(tuple[Name, ...], atom.value) if atom.kind == "name" else ()

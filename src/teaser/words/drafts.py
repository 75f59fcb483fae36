"""Wishes while a request is read: what follows may still change them."""

from dataclasses import dataclass, field, replace

from teaser.data.tagging.tag import Tag
from teaser.words.bands import Years, steps_of
from teaser.words.sign import BARE, Sign
from teaser.words.vocabulary import Vocabulary
from teaser.words.wish import OF_TAGS, Kind, Lasts, Wish

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
        if not bands or (len(bands) > _MOST_BANDS and column is None):
            return False
        if len(bands) > _MOST_BANDS and column is not None:
            middle = self.vocabulary.medians[column]
            kind: Kind = "at_least" if direction > 0 else "at_most"
            self.add(Wish(kind, column, number=middle, words=words))
            return True
        for tag, steps in steps_of(bands, direction).items():
            self.add(Wish("press", str(tag), steps, words=words))
        return True

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

"""Tags: one value of one feature; the one-hot matrix of items and tags; warnings of poor tags."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp

from teaser.data.matrix import binary_matrix
from teaser.data.reading import EXAMPLES, need_columns
from teaser.data.rules import Rule, Rules, Text, unreadable
from teaser.errors import (
    ArtifactError,
    ParameterError,
    RuleError,
    UnknownNameError,
    closest_names,
    counted,
)

# The feature of tags that a fit finds itself: groups of items that the same users choose.
DISCOVERED = "discovered"
# Values that say nothing, and others that say nothing without their feature: answers, and the
# labels of bins without a unit.
NOTHING = frozenset(
    {"any", "none", "other", "unknown", "unrated", "not rated", "n/a", "everyone", "all"}
)
_ANSWERS = NOTHING | {"yes", "no", "true", "false"}
_NUMBER = r"-?[\d.,]+(?:e[+-]?\d+)?"
_BIN = re.compile(rf"under {_NUMBER}|{_NUMBER} to {_NUMBER}|{_NUMBER} and over|\d+s")
# Where a word of a column's name ends: bookAuthor, ISBNCode.
_HUMPS = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PREFIXED = re.compile(r"\w{1,2}-\w+")
_ABBREVIATION = 4
_NOT_A_TAG = "{name!r} is not a tag. Write it as feature=value."
# Tags are near-equal if their carriers overlap by more than this (Jaccard).
NEAR_EQUAL = 0.8
# So are tags of the same name if at least this share of the rarer one's items carry both.
SAME_NAME = 0.5
NEARLY_ALL = 0.95
_SHOWN = 5
_BLOCK = 512


@dataclass(frozen=True, slots=True, order=True)
class Tag:
    """One value of one feature, the unit of profiles, reasons and presses.

    Examples
    --------
    >>> str(Tag(feature="director", value="Agnès Varda"))
    'director=Agnès Varda'
    """

    feature: str
    value: str

    def __str__(self) -> str:
        return f"{self.feature}={self.value}"

    @property
    def discovered(self) -> bool:
        """Whether a fit found this tag; all others are declared by metadata."""
        return self.feature == DISCOVERED

    @property
    def is_bare(self) -> bool:
        """Whether the value says nothing without its feature: a number, a range, yes, a letter."""
        value = self.value.casefold()
        if self.discovered or value == self.feature.casefold():
            return False
        is_code = len(value) == 1 and "A" <= self.value <= "Z"
        if is_code or not any(letter.isalpha() for letter in value):
            return True
        return value in _ANSWERS or _BIN.fullmatch(value) is not None

    @property
    def is_place(self) -> bool:
        """Whether it says where an item is."""
        return _has_word(self.feature, PLACES)

    @property
    def is_kind(self) -> bool:
        """Whether it says what an item is or is about, such as a genre or a theme."""
        return _has_word(self.feature, KINDS | THEMES)

    @property
    def is_credit(self) -> bool:
        """Whether it names somebody whom few people choose by, such as a writer of films."""
        return _has_word(self.feature, CREDITS)

    @property
    def is_audience(self) -> bool:
        """Whether it says for whom an item is."""
        return _has_word(self.feature, AUDIENCES)

    @property
    def is_practical(self) -> bool:
        """Whether it says when an item is, at what price or for what age: no matter of taste."""
        return _has_word(self.feature, PRACTICAL)

    @property
    def label(self) -> str:
        """The value for a reader, after its feature where it says nothing alone.

        Examples
        --------
        >>> Tag("director", "Agnès Varda").label, Tag("min_players", "2").label
        ('Agnès Varda', 'Min players: 2')
        """
        if self.is_titles:
            return f"items like {self.value}"
        return f"{feature_label(self.feature)}: {self.value}" if self.is_bare else self.value

    @property
    def is_titles(self) -> bool:
        """Whether it is a discovered tag that is named by the titles of some of its items."""
        return self.discovered and ", " in self.value

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `feature=value`; the value may contain further equal signs."""
        feature, _, value = (part.strip() for part in text.partition("="))
        if not feature or not value:
            raise UnknownNameError("tag", text, message=_NOT_A_TAG)
        return cls(feature, value)


# Words of features that say what an item is, what it is about, where it is, and for whom or when.
KINDS = frozenset({"type", "kind", "category", "categories", "genre", "genres"})
THEMES = frozenset({"theme", "themes", "subject", "subjects", "topic", "topics", "style", "styles"})
CREDITS = frozenset(
    {"writer", "writers", "screenplay", "editor", "producer", "producers", "translator"}
)
AUDIENCES = frozenset({"audience", "audiences"})
PRACTICAL = frozenset(
    {"certificate", "certification", "mpaa", "rated", "age", "price", "cost", "fee", "day", "days"}
    | {"label", "labels"}
)
PLACES = frozenset({"town", "city", "place", "venue", "location", "region", "province"})


def _has_word(feature: str, words: frozenset[str]) -> bool:
    return not words.isdisjoint(feature_words(feature).casefold().split())


def name_key(value: str) -> str:
    """Return a value without case, plural, punctuation and what stands before a colon.

    Examples
    --------
    >>> name_key("Creatures: Zombies") == name_key("zombie")
    True
    """
    words = re.findall(r"\w+", value.rpartition(": ")[2].casefold())
    # A lone s is what an apostrophe leaves: children's, children-s.
    # The hyphen of sci-fi tells nothing, the point of 2.1 does.
    between = " " if any(map(str.isdigit, value)) else ""
    return between.join(_stem(word) for word in words if word != "s") or value.casefold()


def _stem(word: str) -> str:
    """Return a word without the ending of a plural; party, parties and partie have one stem."""
    if word.endswith(("ches", "shes", "sses", "xes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return re.sub(r"(?:ie|y)$", "i", word) if len(word) > 3 else word


def word_key(value: str) -> str:
    """Return the first six letters of the words of a value, in an order of their own.

    Examples
    --------
    >>> word_key("fiction-historical") == word_key("Historic fiction")
    True
    """
    return " ".join(sorted(word[:6] for word in re.findall(r"\w+", value.casefold())))


def differing_names(names: Iterable[str], n: int = 3, said: Iterable[str] = ()) -> list[str]:
    """Return the first n names that share no word with one before, nor with what was said.

    Of a word five letters count.

    Examples
    --------
    >>> differing_names(["graphic-novels", "comics-graphic-novel", "Kelley", "Doohan"])
    ['graphic-novels', 'Kelley', 'Doohan']
    """
    found, used = list[str](), {key for each in said for key in (name_key(each), *long_words(each))}
    for name in dict.fromkeys(names):
        words = {name_key(name), *long_words(name)}
        if used.isdisjoint(words):
            found.append(name)
            used |= words
    return found[:n]


def long_words(name: str) -> set[str]:
    """Return the first five letters of each word of a name that has four or more."""
    return {word[:5] for word in re.findall(r"[^\W\d_]{4,}", name.casefold())}


def most_frequent(tags: Sequence[Tag], counts: Sequence[int], n: int = 3) -> dict[str, list[str]]:
    """Return the n most frequent values of each feature, given the items of each tag."""
    found: dict[str, list[str]] = {}
    for j in sorted(range(len(tags)), key=lambda j: -counts[j]):
        values = found.setdefault(tags[j].feature, [])
        if len(values) < n:
            values.append(tags[j].value)
    return found


@lru_cache(maxsize=4096)
def feature_label(name: str) -> str:
    """Return the name of a feature for a reader.

    Names of columns become words; names that are words already stay as they are, but for a
    capital at the start.

    Examples
    --------
    >>> feature_label("Year-Of-Publication"), feature_label("startYear"), feature_label("sub_genre")
    ('Year of publication', 'Start year', 'Sub genre')
    """
    words = feature_words(name)
    return words[:1].upper() + words[1:]


def feature_words(name: str) -> str:
    """Return the name of a feature as words that stand before a value.

    They are those of `feature_label`, but for the first letter, which stays as it is.

    Examples
    --------
    >>> feature_words("YearPublished"), feature_words("max_players")
    ('Year published', 'max players')
    """
    name = name.strip()
    words = name if " " in name or _PREFIXED.fullmatch(name) else _column_words(name)
    return name[:1] + words[1:] if words[:1].lower() == name[:1].lower() else words or name


def _column_words(name: str) -> str:
    """Return the words of a column's name; all but abbreviations in lower case."""
    if name.isupper() and len(name) > _ABBREVIATION:
        name = name.lower()
    words = _HUMPS.sub(" ", re.sub(r"[_.-]+", " ", name)).split()
    return " ".join(word.lower() if word[1:].islower() else word for word in words)


def resolve_tag(tag: "Tag | str", index: Mapping[Tag, int]) -> int:
    """Return the position of a `Tag`, `feature=value` or bare name, or raise `UnknownNameError`.

    A bare name is that of a feature with one tag, or the value of one tag; see `find_bare`. Case
    counts only where two tags differ by nothing else.
    """
    if isinstance(tag, str) and "=" not in tag:
        # A column may have earlier names too; the last is that of today.
        found = find_bare(tag, {place: known for known, place in index.items()}.values())
        if found is not None:
            return index[found]
        values = [known.value for known in index]
        near = closest_names(tag.strip(), values)
        written = [str(known) for known in index if known.value in near]
        raise UnknownNameError("tag", tag, written[:3], _NOT_A_TAG)
    wanted = Tag.parse(tag) if isinstance(tag, str) else tag
    try:
        return index[wanted]
    except (KeyError, TypeError):
        alike = [p for known, p in index.items() if str(known).casefold() == str(tag).casefold()]
        if isinstance(tag, str) and len(alike) == 1:
            return alike[0]
        near = closest_names(str(wanted), map(str, index))
        raise UnknownNameError("tag", wanted, near) from None


def find_bare(name: str, tags: Iterable[Tag]) -> Tag | None:
    """Return the tag that a name without `=` means, None if there is no such tag.

    It is the one tag of a feature of that name, such as general appeal, or the one tag with that
    value.

    Raises
    ------
    ParameterError
        If several tags have the value.
    """
    name, known = name.strip(), list(tags)
    of_feature = [tag for tag in known if tag.feature.casefold() == name.casefold()]
    if len(of_feature) == 1:
        return of_feature[0]
    found = [tag for tag in known if tag.value == name]
    found = found or [tag for tag in known if tag.value.casefold() == name.casefold()]
    if len(found) > 1:
        raise ParameterError(
            f"{name!r} is the value of several tags: {', '.join(map(str, found))}. "
            "Write one of them."
        )
    return found[0] if found else None


def tag_frame(tags: Sequence[Tag]) -> pl.DataFrame:
    """Return tags as a table of feature and value."""
    return pl.DataFrame(
        {"feature": [t.feature for t in tags], "value": [t.value for t in tags]},
        schema={"feature": pl.String, "value": pl.String},
    )


def tags_from(frame: pl.DataFrame) -> tuple[Tag, ...]:
    """Return the tags of a table that `tag_frame` made; raise `ArtifactError` for another table."""
    named = frame.select("feature", "value")
    is_text = set(named.dtypes) == {pl.String}
    if not is_text or named.drop_nulls().n_unique() < named.height:
        raise ArtifactError(f"Its tags must have different features and values, found {named}.")
    return tuple(Tag(*row) for row in named.rows())


@dataclass(frozen=True)
class TagReport:
    """Counts of tags that were kept and left out.

    Attributes
    ----------
    tags
        Tags kept, by feature.
    too_rare, too_common
        Tags left out because fewer, or more, items have them than the rule allows.
    without_items
        Tags left out because no item has them, such as empty bins.
    unreadable
        By column: how many cells are no number or year, and the first of them.
    items_without_tags
        Items without any tag: only popularity can recommend them.
    warnings
        Sentences about tags that say little, such as near-equal tags.
    """

    tags: Mapping[str, int] = field(default_factory=dict)
    too_rare: Mapping[str, int] = field(default_factory=dict)
    too_common: Mapping[str, int] = field(default_factory=dict)
    without_items: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    items_without_tags: int = 0
    warnings: tuple[str, ...] = ()

    def lines(self, *, tags: str = "tags", items: str = "items") -> list[str]:
        """Return the report as sentences; `tags` and `items` are the words for both."""
        out = [f"{sum(self.tags.values()):,} {tags}: {_listed(self.tags) or 'none'}"]
        left_out = (
            (self.too_rare, "too few"), (self.too_common, "too many"), (self.without_items, "no"),
        )  # fmt: skip
        for counts, why in left_out:
            if counts:
                total = sum(counts.values())
                out.append(f"{total:,} {tags} left out, with {why} {items}: {_listed(counts)}")
        for column, (n, examples) in self.unreadable.items():
            out.append(
                f"{n:,} cells of the {items}' {column} could not be read, such as "
                f"{', '.join(examples)}"
            )
        bare = self.items_without_tags
        out.append(
            f"1 {items.removesuffix('s')} has no tag"
            if bare == 1
            else f"{bare:,} {items} have no tag"
        )
        return [*out, *(f"warning: {warning}" for warning in self.warnings)]

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Self:
        """Return the report that `asdict` made plain values of."""
        cells = {column: (n, tuple(few)) for column, (n, few) in raw["unreadable"].items()}
        return cls(**{**raw, "unreadable": cells, "warnings": tuple(raw["warnings"])})


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {feature}" for feature, n in counts.items())


@dataclass(frozen=True)
class OneHotTags:
    """The one-hot matrix of the items' tags, with its columns, rules and report."""

    S: sp.csr_array
    tags: tuple[Tag, ...]
    rules: tuple[Rule, ...]
    report: TagReport


def build_tags(
    items: pl.DataFrame, rules: Sequence[Rule], *, allow_none: bool = False
) -> OneHotTags:
    """Turn the columns of `items` into tags by `rules`; no tag is an error unless allowed.

    The rules in the result are resolved: they contain what was learned from this table, such as
    the edges of quantile bins, so that `encode_tags` reads new items in the same way.
    """
    _check_columns(items, rules)
    resolved = tuple(rule.resolve(items) for rule in rules)
    pairs: list[pl.DataFrame] = []
    rare: Counter[str] = Counter()
    common: Counter[str] = Counter()
    absent: Counter[str] = Counter()
    for rule in resolved:
        found = _pairs(items, rule, checked=True)
        low, high = rule.bounds(items.height)
        counts = found.group_by("feature", "value").len()
        rare[rule.name] += counts.filter(pl.col("len") < low).height
        common[rule.name] += counts.filter(pl.col("len") > high).height
        declared = set(rule.declared()) - set(rule.edits(rule.declared()))
        absent[rule.name] += len(declared - set(counts["value"]))
        kept = counts.filter(pl.col("len").is_between(low, high))
        pairs.append(found.join(kept, on=["feature", "value"], how="semi"))
    every = _union(pairs)
    tags = _vocabulary(every, [rule.name for rule in resolved])
    S = _one_hot(every, tags, items.height)
    report = TagReport(
        tags=dict(Counter(tag.feature for tag in tags)),
        too_rare=dict(+rare),
        too_common=dict(+common),
        without_items=dict(+absent),
        unreadable=_unreadable(items, resolved),
        items_without_tags=int((np.diff(S.indptr) == 0).sum()),
    )
    if not tags and not allow_none:
        raise RuleError(
            f"No tag is left: {'; '.join(report.lines())}. "
            "Lower min_items, widen the shares of text rules, or add rules for other columns."
        )
    return OneHotTags(S, tags, resolved, report)


def encode_tags(
    items: pl.DataFrame, rules: Sequence[Rule], tags: Sequence[Tag]
) -> tuple[sp.csr_array, list[Tag]]:
    """Return the one-hot matrix of further items over given tags, and their other tags."""
    _check_columns(items, rules)
    every = _union([_pairs(items, rule) for rule in rules])
    known = set(tags)
    found = _vocabulary(every, [rule.name for rule in rules])
    # Text rules choose words by their share, so that unknown words are expected.
    texts = {rule.name for rule in rules if isinstance(rule, Text)}
    unknown = [tag for tag in found if tag not in known and tag.feature not in texts]
    return _one_hot(every, tags, items.height), unknown


def _pairs(items: pl.DataFrame, rule: Rule, *, checked: bool = False) -> pl.DataFrame:
    """Return the distinct (row, feature, value) of one rule.

    Parameters
    ----------
    checked
        Whether every value that the rule drops, renames or merges must be there.
    """
    long = pl.DataFrame(
        {
            "row": np.arange(items.height, dtype=np.int64),
            "value": rule.values(items).cast(pl.List(pl.String)),
        }
    ).explode("value", empty_as_null=False, keep_nulls=False)
    # Normalise letters and whitespace: tags that look the same must be the same.
    one_line = pl.col("value").str.normalize("NFC").str.replace_all(r"[\s\p{Cc}]+", " ")
    long = long.with_columns(one_line.str.strip_chars())
    values = long["value"].drop_nulls().unique().sort().to_list()
    if checked:
        rule.check_edits(values)
    if edits := rule.edits(values):
        long = long.with_columns(pl.col("value").replace(edits))
    long = long.filter(pl.col("value").is_not_null() & (pl.col("value") != ""))
    return long.select("row", pl.lit(rule.name).alias("feature"), "value").unique(
        maintain_order=True
    )


def _union(pairs: Sequence[pl.DataFrame]) -> pl.DataFrame:
    empty = pl.DataFrame(schema={"row": pl.Int64, "feature": pl.String, "value": pl.String})
    return pl.concat([empty, *pairs]).unique(maintain_order=True)


def _vocabulary(pairs: pl.DataFrame, features: Sequence[str]) -> tuple[Tag, ...]:
    """Return the tags in the order of the rules, within a feature by `by_size`."""
    order = {feature: i for i, feature in reversed(list(enumerate(features)))}
    found = pairs.select("feature", "value").unique().rows()
    return tuple(Tag(*row) for row in sorted(found, key=lambda r: (order[r[0]], by_size(r[1]))))


def by_size(value: str) -> tuple[Any, ...]:
    """Return a key that sorts values by the numbers in them, and else by the alphabet.

    Examples
    --------
    >>> sorted(["10 to 20", "20 and over", "9 to 10", "under 9"], key=by_size)
    ['under 9', '9 to 10', '10 to 20', '20 and over']
    """
    # The lowest bin, "pages under 9 cm", comes before "pages 9 to 10 cm".
    words = re.sub(rf"\bunder ({_NUMBER}).*", r"\1", value)
    parts = re.split(r"((?:(?<!\S)-)?\d+(?:\.\d+)?(?:e[+-]?\d+)?)", words)
    numbers = [float(part) for part in parts[1::2]]
    texts = [part.casefold() for part in parts[::2]]
    mixed = [part for pair in zip(texts, numbers, strict=False) for part in pair]
    return (*mixed, texts[-1], words == value, value)


def _one_hot(pairs: pl.DataFrame, tags: Sequence[Tag], n_items: int) -> sp.csr_array:
    """Return the binary items x tags matrix; tags that are not in `tags` are left out."""
    vocabulary = tag_frame(tags).with_row_index("column")
    found = pairs.join(vocabulary, on=["feature", "value"], how="inner")
    return binary_matrix(found["row"], found["column"], (n_items, len(tags)))


def _check_columns(items: pl.DataFrame, rules: Sequence[Rule]) -> None:
    for rule in rules:
        need_columns(items, rule.columns, f"the {rule.kind} rule")


def _unreadable(
    items: pl.DataFrame, rules: Sequence[Rule]
) -> dict[str, tuple[int, tuple[str, ...]]]:
    out = {}
    for rule in rules:
        cells = unreadable(rule, items)
        if len(cells):
            examples = cells.unique(maintain_order=True).head(EXAMPLES).to_list()
            out[rule.columns[0]] = (len(cells), tuple(examples))
    return out


def tag_warnings(S: sp.csr_array, tags: Sequence[Tag]) -> tuple[str, ...]:
    """Return warnings of tags that tell items badly apart, each with at most five examples.

    Parameters
    ----------
    S
        Which item has which tag (items x tags), binary.
    tags
        The tags, in the order of the columns.
    """
    counts = np.bincount(S.indices, minlength=S.shape[1])
    share = counts / max(1, S.shape[0])
    # The most frequent tags first: their overlap is the least likely to be chance.
    pairs = sorted(near_equal_tags(S), key=lambda pair: (-counts[pair[0]], pair))
    same = [f"{tags[i]} and {tags[j]} ({100 * overlap:.0f} %)" for i, j, overlap in pairs]
    alone = [str(tags[j]) for j in np.flatnonzero(counts == 1).tolist()]
    most = np.flatnonzero(share > NEARLY_ALL).tolist()
    common = [f"{tags[j]} ({100 * share[j]:.0f} %)" for j in most]
    warnings = (
        ("pair", same, " of tags on nearly the same items", "If both mean the same, leave one out"),
        (
            *("tag", alone, " on one item alone, where nothing can be learned from other items"),
            "Raise min_items",
        ),
        (
            *("tag", common, " on nearly all items, which tells hardly any apart"),
            "Leave such values or columns out",
        ),
    )
    return tuple(
        f"{counted(len(named), noun)}{what}: {few_names(named, _SHOWN)}. {advice}"
        for noun, named, what, advice in warnings
        if named
    )


def no_tags(rules: Rules) -> str:
    """Return the warning of a data set without any tag."""
    why = "; ".join(f"{column!r}: {reason}" for column, reason in rules.skipped.items())
    return (
        f"no column became a tag{f' ({why})' if why else ''}, so that reasons can only be general "
        "appeal and what a person viewed. Add columns about the content of the items, or let the "
        "fit find groups of items as tags: --discovered, in Python discovered=DiscoveredTags()"
    )


def near_equal_tags(S: sp.csr_array) -> Iterator[tuple[int, int, float]]:
    """Yield pairs of tags i < j, on two items or more, whose items overlap by `NEAR_EQUAL`.

    The overlap is Jaccard's: the items that have both, over the items that have one or both.
    """
    counts = np.bincount(S.indices, minlength=S.shape[1])
    binary = sp.csr_array((np.ones(S.nnz, np.int32), S.indices, S.indptr), shape=S.shape)
    of_tag = binary.T.tocsr()
    # A block of rows of S'S at a time, to bound the memory.
    for first in range(0, S.shape[1], _BLOCK):
        both = sp.coo_array(of_tag[first : first + _BLOCK] @ binary)
        i, j = both.row + first, both.col
        shares = both.data / (counts[i] + counts[j] - both.data)
        near = np.flatnonzero((i < j) & (shares > NEAR_EQUAL) & (both.data > 1))
        yield from zip(i[near].tolist(), j[near].tolist(), shares[near].tolist(), strict=True)


def few_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more

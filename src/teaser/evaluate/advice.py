"""Columns and values that do harm, by what people chose, and the line of the rules to change."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import tomlkit
from numpy.typing import NDArray

from teaser.data.dataset import Dataset
from teaser.data.rules import Number, Rule, Rules, Year
from teaser.data.tags import NEARLY_ALL, few_names, name_key
from teaser.evaluate.truth import Choices
from teaser.model.recipe import percent
from teaser.model.tagged import TaggedModel

Array = NDArray[Any]

# A column that carries less of what tags say is not worth a line.
CARRIES = 0.05
# Below this excess of repeated choices, a column or value says nothing of tastes.
TELLS = 0.15
# A value is judged if at least so many repeated choices are expected by chance.
_EXPECTED = 50.0
# The strongest values of a column that are looked at, a person.
_STRONGEST = 3
# Standard errors to be sure: there are many values, and few columns.
_OF_COLUMN, _OF_VALUE = 1.0, 3.0
_MOST_NAMED = 20
# What data bases write where a value is missing, and labels for their own keepers.
_KEEPERS = re.compile(r"(?:admin|internal|system|todo|meta)\s*[:_-]\s*", re.IGNORECASE)
_INTERNAL = re.compile(
    rf"{_KEEPERS.pattern}.*|n/?a|null|nan|none|nil|unknown|undefined|"
    r"tbd|tba|test|placeholder|misc(?:ellaneous)?|default|-+|\?+",
    re.IGNORECASE,
)
# Codes: letters and four digits, a long hexadecimal number, words joined by underscores.
_CODE = re.compile(r"[A-Z]{1,4}[-_]?\d{4,}|(?=\w*\d)[0-9a-f]{8,}(?:-[0-9a-f]+)*|\w+_\w*\d\w*")


@dataclass(frozen=True)
class Advice:
    """What does harm, and what to change.

    Attributes
    ----------
    feature
        The feature that the tags belong to.
    why
        What was found, as a sentence.
    line
        What to write in the file of rules.
    """

    feature: str
    why: str
    line: str

    def lines(self) -> list[str]:
        """Return both as sentences."""
        return [self.why, f"  In the rules: {self.line}"]


@dataclass(frozen=True)
class Repeats:
    """How often people chose again what stands out in their history.

    Attributes
    ----------
    chosen, expected
        How often they did afterwards, and how often the average person would have.
    spread
        The variance of the latter.
    """

    chosen: float
    expected: float
    spread: float

    @property
    def ratio(self) -> float:
        """Choices over those expected; 1 if nothing is expected."""
        return self.chosen / self.expected if self.expected > 0 else 1.0

    def says_nothing(self, errors: float) -> bool:
        """Whether the excess is small, also if it is so many standard errors larger."""
        most = self.chosen + errors * max(1.0, self.chosen) ** 0.5 - self.expected
        return self.expected >= _EXPECTED and most < TELLS * self.spread


def is_internal(value: str) -> bool:
    """Whether a value looks like a code, or like a label that is not for readers."""
    return bool(_INTERNAL.fullmatch(value) or _CODE.fullmatch(value))


def _beginning(value: str) -> str:
    """Return what drops a value and all that begin alike: `Admin:*` for `Admin: to check`."""
    found = _KEEPERS.match(value)
    return f"{found[0].rstrip()}*" if found else value


def find_repeats(
    model: TaggedModel, rows: sp.csr_array, held_out: sp.csr_array
) -> tuple[dict[str, Repeats], dict[int, Repeats]]:
    """Return by declared feature, and by tag, how often people chose again what stands out.

    Of a feature the three values of each person count whose rate in the history stands out most.

    Parameters
    ----------
    rows, held_out
        What people chose, and what they chose afterwards (people x items).
    """
    table = model.tag_table_
    choices = Choices.count(model, rows, held_out)
    if not len(choices.rates):
        return {}, {}
    own = sp.coo_array(choices.own)
    user, group = own.coords
    z = (own.data - choices.n_own[user] * choices.rates[group]) / choices.deviation[group]
    above = (z > 0) & (choices.rates[group] < 1)
    user, group, z = user[above], group[above], z[above]
    rate = _rates_of_the_rest(model, rows, user, group)
    expected = choices.n_held[user] * rate
    numbers = np.stack([choices.held[user, group], expected, expected * (1 - rate)], axis=1)
    n_groups = len(choices.rates)
    sums = np.stack([np.bincount(group, x, minlength=n_groups) for x in numbers.T], axis=1)
    by_feature: dict[str, list[int]] = defaultdict(list)
    by_tag = {}
    for j, tag in enumerate(table.learned_tags[: table.n_personal]):
        if not tag.discovered and table.near_equal_group[j] >= 0:
            by_feature[tag.feature].append(int(table.near_equal_group[j]))
            by_tag[j] = Repeats(*sums[table.near_equal_group[j]].tolist())
    features = {}
    for name, groups in by_feature.items():
        is_own = np.isin(group, groups)
        order = np.lexsort((-z[is_own], user[is_own]))
        people = user[is_own][order]
        first = np.arange(len(people)) - np.searchsorted(people, people) < _STRONGEST
        total = numbers[is_own][order][first].sum(axis=0)
        features[name] = Repeats(*total.tolist())
    return features, by_tag


def _rates_of_the_rest(model: TaggedModel, rows: sp.csr_array, user: Array, group: Array) -> Array:
    """Return the share of groups in all choices of items that are not in each one's history."""
    popularity = model.item_table_.popularity.astype(np.float64)
    carriers = model.tag_table_.group_carriers.items
    seen = sp.csr_array((popularity[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
    left = np.asarray(carriers @ popularity)[group] - (seen @ carriers.T)[user, group]
    total = popularity.sum() - seen.sum(axis=1)[user]
    return np.asarray(np.clip(left, 0.0, None) / np.maximum(total, 1e-300))


def advise_columns(
    rules: Rules, shares: Mapping[str, float], repeats: Mapping[str, Repeats]
) -> Iterator[Advice]:
    """Yield the columns that carry much of what is said, and say nothing of tastes.

    Parameters
    ----------
    shares
        The share of each declared feature in the personal part of scores.
    """
    for feature, share in shares.items():
        found = repeats.get(feature)
        if found is None or share < CARRIES or not found.says_nothing(_OF_COLUMN):
            continue
        yield Advice(
            feature,
            f"{feature} carries {percent(share)} of the personal part of scores and says nothing "
            f"of tastes: people choose again what stands out in their history {found.ratio:.2f} "
            "times as often as others.",
            f"delete the rule with {_place(rules, feature)}",
        )


def advise_values(
    model: TaggedModel, rules: Rules, repeats: Mapping[int, Repeats], without: Sequence[str]
) -> Iterator[Advice]:
    """Yield one advice for each feature of which values are to be dropped or merged.

    Parameters
    ----------
    without
        Features that are to go as a whole.
    """
    table = model.tag_table_
    n_items = table.learned_decoder.shape[0]
    counts = table.carriers.counts
    words = {rule.name for rule in rules.tags if not isinstance(rule, Number | Year)}
    why: dict[str, dict[str, str]] = defaultdict(dict)
    lonely: dict[str, list[str]] = defaultdict(list)
    for j, tag in enumerate(table.learned_tags[: table.n_personal]):
        if tag.discovered or tag.feature in without:
            continue
        if counts[j] > NEARLY_ALL * n_items:
            why[tag.feature][tag.value] = f"on {percent(counts[j] / n_items)} of the items"
        elif is_internal(tag.value):
            why[tag.feature][_beginning(tag.value)] = "a label that is not for readers"
        elif tag.feature in words and j in repeats and repeats[j].says_nothing(_OF_VALUE):
            why[tag.feature][tag.value] = f"chosen again x{repeats[j].ratio:.2f}"
        elif counts[j] == 1:
            lonely[tag.feature].append(tag.value)
    for feature, found in why.items():
        named = dict(list(found.items())[:_MOST_NAMED])
        rule = _rule(rules, feature)
        drop = tomlkit.item([*(() if rule is None else rule.drop), *named]).as_string()
        told = few_names([f"{value} ({reason})" for value, reason in named.items()])
        yield Advice(
            feature,
            f"Values of {feature} that do harm: {told}.",
            f"drop = {drop}, under {_place(rules, feature)}",
        )
    for feature, values in lonely.items():
        yield Advice(
            feature,
            f"{len(values):,} values of {feature} are on one item, such as {values[0]}: nothing "
            "can be learned from other items.",
            f"min_items = 2, under {_place(rules, feature)}",
        )
    yield from _advise_merges(model, rules, without)


def _advise_merges(model: TaggedModel, rules: Rules, without: Sequence[str]) -> Iterator[Advice]:
    """Yield values of one feature whose names differ by case, plural or punctuation alone."""
    table = model.tag_table_
    names: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for j, tag in enumerate(table.learned_tags[: table.n_personal]):
        if not tag.discovered and tag.feature not in without and not tag.is_bare:
            names[tag.feature][name_key(tag.value)].append(j)
    counts = table.carriers.counts
    for feature, by_key in names.items():
        merge: dict[str, list[str]] = {}
        for places in by_key.values():
            # The most frequent spelling stays, unless it is in capitals.
            places = sorted(places, key=lambda j: (table.tags[j].value.isupper(), -counts[j]))
            values = [table.tags[j].value for j in places]
            if len(values) > 1 and all(":" not in value for value in values):
                merge[values[0]] = values[1:]
        if merge:
            rule = _rule(rules, feature)
            line = tomlkit.inline_table()
            line.update({} if rule is None else {n: list(v) for n, v in rule.merge.items()})
            line.update(merge)
            told = few_names([" / ".join([one, *others]) for one, others in merge.items()])
            yield Advice(
                feature,
                f"Values of {feature} that are spelled in several ways: {told}.",
                f"merge = {line.as_string()}, under {_place(rules, feature)}",
            )


def without_features(dataset: Dataset, features: Sequence[str]) -> Dataset:
    """Return a data set without the tags of some features."""
    kept = [j for j, tag in enumerate(dataset.tags) if tag.feature not in features]
    rules = tuple(rule for rule in dataset.rules.tags if rule.name not in features)
    return replace(
        dataset,
        S=sp.csr_array(dataset.S[:, kept]),
        tags=tuple(dataset.tags[j] for j in kept),
        rules=replace(dataset.rules, tags=rules),
    )


def _rule(rules: Rules, feature: str) -> Rule | None:
    return next((rule for rule in rules.tags if rule.name == feature), None)


def _place(rules: Rules, feature: str) -> str:
    """Return how the rule of a feature is found in a file."""
    rule = _rule(rules, feature)
    if rule is None:
        return f"feature = {tomlkit.item(feature).as_string()}"
    column = rule.columns[0] if len(rule.columns) == 1 else list(rule.columns)
    return f"column = {tomlkit.item(column).as_string()}"

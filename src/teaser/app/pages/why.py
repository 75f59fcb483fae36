"""Why an item is in a list, in one sentence: what the person is known for, and a viewed item."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from teaser.app.catalogue import (
    Catalogue,
    PersonalModel,
    cached_per_catalogue,
    decade_of,
    in_one_series,
    volumes_apart,
)
from teaser.app.i18n.texts import Texts
from teaser.app.pages.profile import bold, joint_names
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag, differing_names
from teaser.explain import Reason, Together, ViewedReason, are_names, number_features, small_numbers
from teaser.recommend import Recommendation

# How many tags a sentence names, and how many that a viewed item shares with the listed one.
N_TAGS, N_SHARED = 2, 2
# A tag is told that this share of the history's items carry, or so many times the root of their
# number, of a name and of others.
_LEAST_SHARE, _LEAST_ROOTS = 0.4, (0.5, 0.65)
# It is there so many times as often as in everybody's choices.
_STANDS_OUT = 1.5
# The viewed item is one of so many that are most alike, and at least this part as the first.
_N_FIRST, _NEAR = 5, 0.4
# A shared tag tells something from so many bits on; a kind from fewer.
_SHARED_BITS, _KIND_BITS = 3.0, 2.0
# Kinds tell enough if one has so many bits, or all together; or beside a told tag that both have.
_NARROW_BITS, _CLEAR_BITS, _CLEAR_BESIDE = 4.5, 8.0, 4.5
# More of the history than this share has what it shares with most items.
_MOST_OF_HISTORY = 0.5
# Of more names of a feature than this, none is the one that an item is known by.
_FEW_NAMES = 4
# Of those who made an item there are so many at most, on average.
_MAKERS = 1.6
# It is said that many like an item where general appeal is more of its score than this.
_LIKED = 0.5
_MAX_CACHED = 5_000


class Tells(IntEnum):
    """What tells why a listed item is there because of a viewed one, the best first.

    Attributes
    ----------
    SERIES
        Their titles name one series: "same series".
    NAME
        They share a director, an author or two other names: "both Alfred Hitchcock".
    KIND
        They share kinds that few items are of: "both Jazz".
    TOGETHER
        Many chose both: "1 in 2 who chose it also chose this, 1 in 6 of all".
    LITTLE
        They share a broad kind, a label or a place: "both Festival".
    BESIDE
        Both have a tag that is told beside it; nothing more is said.
    NOTHING
        Nothing is known to connect them but what the one adds to the other's score.
    """

    SERIES = 0
    NAME = 1
    KIND = 2
    TOGETHER = 3
    LITTLE = 4
    BESIDE = 5
    NOTHING = 6


@dataclass(frozen=True)
class Alike:
    """A viewed item that is like a listed one.

    Attributes
    ----------
    shared
        Tags of both, at most two.
    decade
        The first year of the decade of both, if few items are of it.
    together
        How often people who chose it chose the listed one, where that stands out.
    has_told
        Whether it has one of the tags that are told.
    apart
        How many volumes of a series lie between both; 0 if they are in none.
    """

    item_id: ItemId
    shared: tuple[Tag, ...]
    decade: int | None
    together: Together | None
    has_told: bool
    apart: float
    tells: Tells


def describe_reasons(
    entry: Recommendation,
    personal: PersonalModel,
    texts: Texts,
    viewed: Mapping[ItemId, float],
    *,
    is_own: bool = True,
) -> Markup:
    """Return why an item is in a list, in one short sentence; its page has all reasons.

    Tags of the history come first, then a viewed item, then where it is.

    Parameters
    ----------
    viewed
        What each viewed item adds to the score in all, times how alike it is.
    """
    pressed = personal.presses if is_own else {}
    able = _able_tags(entry, personal, has_viewed=bool(viewed))
    stated = {tag for each in personal.statements for tag in each.tags}
    tags = _own_tags(able, pressed, stated, personal.catalogue)
    # One sentence stays short; what was pressed is always told.
    others = [r for r in tags if not _is_pressed(r, pressed)]
    first = [r for r in tags if r not in others[1:]]
    found = find_alike(entry.item_id, viewed, first, personal)
    if found is not None:
        # Where it is says more than that both are often chosen.
        weak = found.tells >= Tells.TOGETHER
        tags = [r for r in tags if r in first or (weak and r.tag.is_place)]
    is_liked = entry.general_share > _LIKED
    if not (tags or found or is_liked):
        tags = able[:N_TAGS]
    clauses = [(r.tag.is_place, _describe_tags(r, personal, texts, is_own=is_own)) for r in tags]
    if found is not None:
        clauses.append((False, _describe_alike(found, personal, texts, is_own=is_own)))
    speak_for = texts.join_html([text for _, text in sorted(clauses, key=lambda each: each[0])])
    against = _describe_against(entry, personal, texts, is_own=is_own)
    both = {"reasons": speak_for, "others": against}
    if speak_for and against and is_liked:
        return texts.html("Liked by many; for you because of {reasons}, despite {others}.", **both)
    if speak_for and against:
        return texts.html("Because of {reasons}, despite {others}.", **both)
    if speak_for and is_liked:
        return texts.html("Liked by many; for you because of {reasons}.", **both)
    if speak_for:
        return texts.html("Because of {reasons}.", **both)
    if entry.general > 0 and against:
        return texts.html("Liked by many, despite {others}.", others=against)
    if against:
        return texts.html("Many small reasons, despite {others}.", others=against)
    if entry.general > 0:
        return texts.html("Liked by many.")
    return texts.html("Many small reasons; none stands out.")


def _able_tags(entry: Recommendation, personal: PersonalModel, *, has_viewed: bool) -> list[Reason]:
    """Return the tags that speak for an item: first those of what is known of the person.

    A group that is named by items is told by the viewed items, where there are any.
    """
    told = _known_reasons(entry, personal) if has_viewed else []
    said = {tag for reason in told for tag in reason.tags}
    told += [r for r in entry.reasons if isinstance(r, Reason) and said.isdisjoint(r.tags)]
    return [r for r in told if r.contribution > 0 and not (has_viewed and r.tag.is_titles)]


def _own_tags(
    reasons: Sequence[Reason],
    pressed: Mapping[Tag, int],
    stated: Collection[Tag],
    catalogue: Catalogue,
) -> list[Reason]:
    """Return the reasons that the person pressed, or that enough of the history carries.

    A bare number, such as a year, tells little. Of the names of a feature it is the one that most
    people chose; a place comes last.
    """
    known, best = known_names(catalogue), dict[str, Reason]()
    found = []
    for each in reasons:
        is_taste = not (each.tag.is_bare or each.tag.is_practical)
        if _is_pressed(each, pressed) or (is_taste and _is_own(each, catalogue)):
            found.append(each)
            now = best.get(each.tag.feature)
            if each.tag in known and (now is None or known[each.tag] > known[now.tag]):
                best[each.tag.feature] = each
    found = [r for r in found if r.tag not in known or best[r.tag.feature] is r]
    there = [r for r in found if r.tag.is_place and not _is_pressed(r, pressed)]
    found = [r for r in found if r not in there]
    # What was pressed and names come first, labels last.
    ranks = {r.tag: 0 if _is_pressed(r, pressed) or r.tag in known else 2 for r in found}
    found.sort(key=lambda r: min(ranks[r.tag], 1 if r.tag.is_kind or r.tag in stated else 2))
    return (found + there[:1])[:N_TAGS]


def _known_reasons(entry: Recommendation, personal: PersonalModel) -> list[Reason]:
    """Return the tags of what is known of the person that the item has and that speak for it."""
    model, profile = personal.catalogue.model, personal.profile
    D, place = model.decoder_, model.items_.index_of(entry.item_id)
    row = slice(D.indptr[place], D.indptr[place + 1])
    added = dict(zip(D.indices[row].tolist(), D.data[row].tolist(), strict=True))
    shares, found = {r.tag: r.share for r in entry.reasons if isinstance(r, Reason)}, []
    for each in personal.statements:
        places = [place for tag in each.tags if (place := profile.place_of(tag)) in added]
        part = sum(float(profile.values[place]) * added[place] for place in places)
        if each.kind == "known" and part > 0 and not each.tags[0].discovered:
            tags = tuple(profile.tags[place] for place in places)
            share, own = max(shares.get(tag, 0.0) for tag in tags), each.evidence
            found.append(Reason(tags[0], part, share, part, tags=tags, own=own.own, of=own.of))
    return found


def find_alike(
    item_id: ItemId, viewed: Mapping[ItemId, float], told: Sequence[Reason], personal: PersonalModel
) -> Alike | None:
    """Return the viewed item that tells most why an item is there, of those that are most alike.

    It is None if nothing can be told of any, but a tag is told.

    Parameters
    ----------
    viewed
        What each viewed item adds to the score, times how alike it is.
    told
        The tags that are told.
    """
    order = sorted((i for i in viewed if viewed[i] > 0), key=lambda i: -viewed[i])[:_N_FIRST]
    near = [i for i in order if viewed[i] >= _NEAR * viewed[order[0]]]
    alike = [_compare(item_id, each, told, personal) for each in near]
    # Of equal ones one that has a told tag too, the nearest of a series, and the most alike.
    first = min(alike, key=lambda each: (each.tells, not each.has_told, each.apart), default=None)
    return None if first and told and first.tells == Tells.NOTHING else first


def _compare(
    item_id: ItemId, viewed: ItemId, told: Sequence[Reason], personal: PersonalModel
) -> Alike:
    """Return what a listed and a viewed item have in common beside what was told."""
    catalogue, model = personal.catalogue, personal.catalogue.model
    places = [model.items_.index_of(each) for each in (viewed, item_id)]
    bits = {tag: _bits(tag, personal) for tag in shared_tags(catalogue, item_id, viewed)}
    shared = _telling(bits, told, main_names(catalogue, item_id), personal)
    titles = [model.title(i) or "" for i in places]
    in_series = in_one_series(*titles)
    apart = volumes_apart(*titles) if in_series else 0.0
    decade, other = (decade_of(catalogue, i) for i in places)
    if decade != other or decade_bits(catalogue)[decade] < _SHARED_BITS:
        decade = None
    together = model.companions_.of(*places) if model.companions_ else None
    # What was told counts too, if both have it.
    said = {tag for reason in told for tag in reason.tags}
    kinds = [bits[tag] for tag in bits if tag.is_kind and (tag in shared or tag in said)]
    has_told = not said.isdisjoint(bits)
    enough = _CLEAR_BESIDE if has_told else _CLEAR_BITS
    are_narrow = max(kinds, default=0) >= _NARROW_BITS or sum(kinds) >= enough
    # A director or an author says enough, and so do two names.
    names = [tag for tag in shared if tag in main_names(catalogue, item_id)]
    has_name = len(names) > 1 or any(tag.feature in makers(catalogue) for tag in names)
    if in_series:
        tells = Tells.SERIES
    elif has_name:
        tells = Tells.NAME
    elif shared and are_narrow:
        tells = Tells.KIND
    elif together:
        tells = Tells.TOGETHER
    elif (decade and has_told) or any(not (told and tag.is_place) for tag in shared):
        tells = Tells.LITTLE
    else:
        tells = Tells.BESIDE if has_told else Tells.NOTHING
    return Alike(viewed, shared, decade, together, has_told, apart, tells)


def _telling(
    bits: Mapping[Tag, float],
    told: Sequence[Reason],
    names: Collection[Tag],
    personal: PersonalModel,
) -> tuple[Tag, ...]:
    """Return the shared tags that are told, two at most, which say something new each.

    Of the names of a feature it is the one that the history has most. Beside a name a broad kind
    says nothing more, nor a label beside a kind, nor a place beside one that it lies in.
    """
    counted = personal.count_in_history
    widest = max((personal.catalogue.bits(r.tag) for r in told if r.tag.is_place), default=0.0)
    said = [tag.value for reason in told for tag in reason.tags]
    able = [t for t in bits if bits[t] > 0 and not (t.is_place and bits[t] <= widest)]
    best = dict[str, Tag]()
    for tag in able:
        if tag in names and counted(tag) > counted(best.setdefault(tag.feature, tag)):
            best[tag.feature] = tag
    able = [best[tag.feature] if tag in names else tag for tag in able]
    by_value = {tag.value: tag for tag in reversed(able)}
    new = [by_value[value] for value in differing_names([t.value for t in able], N_SHARED, said)]
    if not new:
        return ()
    first, *others = new
    if first in names:
        others = [t for t in others if t in names or (t.is_kind and bits[t] >= _NARROW_BITS)]
    elif first.is_kind:
        others = [t for t in others if t.is_kind or t.is_place]
    elif first.is_place:
        others = []
    return (first, *others)


def _describe_alike(found: Alike, personal: PersonalModel, texts: Texts, *, is_own: bool) -> Markup:
    """Return a viewed item with what it has to do with the listed one."""
    catalogue, title = personal.catalogue, bold(personal.catalogue.title(found.item_id))
    if is_own:
        name = texts.html("{title}, which you viewed", title=title)
    else:
        name = texts.html("{title}, which they viewed", title=title)
    told = list[str]()
    if found.tells == Tells.SERIES:
        told.append(texts("same series"))
    elif found.tells < Tells.NOTHING:
        shared = joint_names(found.shared, catalogue, texts, full=False)
        if found.decade and found.tells != Tells.TOGETHER and len(shared) < N_SHARED:
            shared.append(texts("the {year}s", year=found.decade))
        if shared:
            told.append(texts("both {tags}", tags=texts.join(shared)))
    if found.together and found.tells == Tells.TOGETHER:
        share, others = found.together.share, found.together.others
        (n, of), (m, out_of) = small_numbers(share), small_numbers(others)
        numbers = {"n": n, "of": texts.integer(of), "m": m, "out_of": texts.integer(out_of)}
        told.append(
            texts("{n} in {of} who chose it also chose this, {m} in {out_of} of all", **numbers)
        )
    if len(told) > 1:
        return texts.html("{item} ({why}; {more})", item=name, why=told[0], more=told[1])
    return texts.html("{item} ({why})", item=name, why=told[0]) if told else name


def _describe_against(
    entry: Recommendation, personal: PersonalModel, texts: Texts, *, is_own: bool
) -> Markup:
    """Return the first reason against an item that the person gave: disliked or pressed."""
    pressed = personal.presses if is_own else {}
    for reason in entry.reasons:
        if isinstance(reason, ViewedReason) and reason.contribution < 0:
            title = bold(reason.title or str(reason.item_id))
            if is_own:
                return texts.html("{title}, which you disliked", title=title)
            return texts.html("{title}, which they disliked", title=title)
        if isinstance(reason, Reason) and reason.contribution < 0 and _is_pressed(reason, pressed):
            return _describe_tags(reason, personal, texts, is_own=is_own)
    return Markup()


def _bits(tag: Tag, personal: PersonalModel) -> float:
    """Return how much it tells why an item is there that it shares a tag with a viewed one.

    What most of the history has does not tell it, nor when or for what price it is, nor a label
    that the person does not lean to. A broad kind without a leaning tells half as much.
    """
    bits, most = personal.catalogue.bits(tag), max(3, _MOST_OF_HISTORY * len(personal.history))
    if tag.is_practical or personal.count_in_history(tag) > most:
        return 0.0
    is_narrow = tag.is_kind and bits >= _SHARED_BITS
    if is_narrow or tag in known_names(personal.catalogue) or personal.leans_to(tag):
        return bits
    return bits / 2 if tag.is_kind else 0.0


def _describe_tags(
    reason: Reason, personal: PersonalModel, texts: Texts, *, is_own: bool
) -> Markup:
    """Return the tags of a reason, with how many items of the history carry them.

    Discovered tags are left out where metadata name the same.
    """
    tags = [tag for tag in reason.tags if not tag.discovered] or list(reason.tags)
    is_pressed = is_own and _is_pressed(reason, personal.presses)
    if is_pressed:
        tags = [tag for tag in reason.tags if tag in personal.presses]
    elif reason.tag.is_place:
        # A region and its town: the number is that of the region.
        tags = [_widest(reason.tag, personal.catalogue)]
    name = bold(" / ".join(joint_names(tags, personal.catalogue, texts)))
    if reason.like:
        name = bold(texts("items like {titles}", titles=texts.join(reason.like)))
    if is_pressed:
        steps = sum(personal.presses.get(tag, 0) for tag in reason.tags)
        return texts.html("{tag}, which you pressed {steps}", tag=name, steps=texts.steps(steps))
    if reason.is_guess:
        return texts.html("{tag} (a guess)", tag=name)
    if not reason.own or not is_own:
        return name
    return texts.html("{tag} ({n} of your {all})", tag=name, n=reason.own, all=reason.of)


def _widest(tag: Tag, catalogue: Catalogue) -> Tag:
    """Return the tag on most items among those that are near-equal to a tag."""
    group, place = catalogue.model.tag_table_.near_equal_group, catalogue.tag_index[tag]
    alike = np.flatnonzero(group == group[place]) if group[place] >= 0 else np.array([place])
    return catalogue.model.tags_[int(alike[catalogue.tag_sizes[alike].argmax()])]


def _is_own(reason: Reason, catalogue: Catalogue) -> bool:
    """Whether the history has the tags often, 2 of 5, 3 of 6, 5 of 40, and more than others do."""
    own, of = reason.own or 0, reason.of or 0
    others = choice_rates(catalogue)[catalogue.tag_index[reason.tag]]
    root = _LEAST_ROOTS[reason.tag not in known_names(catalogue)] * math.sqrt(of)
    enough = own > 1 and own >= min(_LEAST_SHARE * of, max(3, root))
    return enough and own >= _STANDS_OUT * others * of


def _is_pressed(reason: Reason, presses: Mapping[Tag, int]) -> bool:
    """Whether the person's own presses are why a reason is there."""
    return any(presses.get(tag, 0) * reason.contribution > 0 for tag in reason.tags)


@cached_per_catalogue(_MAX_CACHED)
def shared_tags(catalogue: Catalogue, one: ItemId, other: ItemId) -> list[Tag]:
    """Return declared tags of two items that at most one in eight has, those that tell most first.

    Of a kind, such as a genre, more may. Names come first, those of the feature with fewest names
    before others, and of a feature those that most people chose: the director goes before Arnold
    Schwarzenegger, and he before the rest of the cast. Then come the rarest, and places last. Bare
    numbers, such as years, are left out.
    """
    own, others = (declared_tags(catalogue, item) for item in (one, other))
    found = [
        tag
        for tag in own
        if tag in others
        and not tag.is_bare
        and catalogue.bits(tag) >= (_KIND_BITS if tag.is_kind else _SHARED_BITS)
    ]
    known, names = known_names(catalogue), main_names(catalogue, one)
    n_names = Counter(tag.feature for tag in names)

    def order(tag: Tag) -> tuple[int, int, float]:
        rank = 3 if tag.is_place else 0 if tag in names else 1 if tag.is_kind else 2
        return rank, n_names[tag.feature], -known.get(tag, catalogue.bits(tag))

    return sorted(found, key=order)


@cached_per_catalogue(_MAX_CACHED)
def main_names(catalogue: Catalogue, item_id: ItemId) -> set[Tag]:
    """Return the names that an item is known by: not those of a long list, such as a whole cast."""
    known = known_names(catalogue)
    names = [tag for tag in declared_tags(catalogue, item_id) if tag in known]
    counts = Counter(tag.feature for tag in names)
    return {tag for tag in names if counts[tag.feature] <= _FEW_NAMES and not tag.is_credit}


@cached_per_catalogue(1)
def makers(catalogue: Catalogue) -> set[str]:
    """Return the features of names of which most items have one, such as the director."""
    features, number = number_features(catalogue.model.tags_)
    items = catalogue.model.tag_table_.carriers.items
    stated = np.repeat(number, np.diff(items.indptr)) * items.shape[1] + items.indices
    n_names = np.bincount(stated // items.shape[1], minlength=len(features))
    n_items = np.bincount(np.unique(stated) // items.shape[1], minlength=len(features))
    named = {tag.feature for tag in known_names(catalogue)}
    few = n_names <= _MAKERS * n_items
    return {name for name, is_few in zip(features, few, strict=True) if is_few and name in named}


@cached_per_catalogue(_MAX_CACHED)
def declared_tags(catalogue: Catalogue, item_id: ItemId) -> dict[Tag, None]:
    """Return the tags of an item that metadata state, in the order of the model's."""
    model, D = catalogue.model, catalogue.model.decoder_
    place = model.items_.index_of(item_id)
    columns = D.indices[D.indptr[place] : D.indptr[place + 1]]
    own = (model.tags_[j] for j in columns[columns < model.tag_table_.n_personal].tolist())
    return dict.fromkeys(tag for tag in own if not tag.discovered)


@cached_per_catalogue(1)
def decade_bits(catalogue: Catalogue) -> dict[int | None, float]:
    """Return how much it tells that an item is of a decade: log2(items / items of it)."""
    n_items = len(catalogue.model.items_)
    counts = Counter(decade_of(catalogue, place) for place in range(n_items))
    return {decade: math.log2(n_items / n) for decade, n in counts.items()}


@cached_per_catalogue(1)
def known_names(catalogue: Catalogue) -> dict[Tag, float]:
    """Return the share of all choices of each tag that is a name."""
    model, rates = catalogue.model, choice_rates(catalogue)
    names = are_names(model.tags_, catalogue.tag_sizes, len(model.items_))
    return {model.tags_[j]: float(rates[j]) for j in np.flatnonzero(names).tolist()}


@cached_per_catalogue(1)
def choice_rates(catalogue: Catalogue) -> NDArray[Any]:
    """Return the share of all choices that have each tag."""
    model = catalogue.model
    return model.tag_table_.carriers.rates(model.item_table_.popularity)

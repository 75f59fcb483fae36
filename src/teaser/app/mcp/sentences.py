"""The sentences that tell results: names with their ids, so that a later call can use them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from teaser.app.api import responses
from teaser.app.api.responses import Filters, LiftAnswer, Person, Steps, WordsAnswer
from teaser.app.state import Event, parts_of
from teaser.data.tags import Tag
from teaser.explain import (
    Difference,
    Explanation,
    affinity_text,
    general_sentence,
    join_names,
    join_values,
    share_text,
    tell_reasons,
)
from teaser.recommend import Recommendation
from teaser.steer import Variation
from teaser.steer.similarity import Similar

if TYPE_CHECKING:
    from teaser.app.mcp.tools import Pressed

# The most parts of a difference that sentences name; the result has all.
_MOST_PARTS = 8


def name_of(item_id: int | str, title: str | None) -> str:
    """Return the name of an item: its title and its id."""
    return f"{title} ({item_id})" if title and title != str(item_id) else str(item_id)


def list_lines(entries: Sequence[Recommendation]) -> list[str]:
    """Return a line for each item of a list, with its main reasons."""
    if not entries:
        return ["No item is left: conditions, hidden items or viewed ones exclude all of them."]
    return [
        f"{n}. {name_of(entry.item_id, entry.title)}, match {share_text(entry.match)}: "
        f"{'; '.join(tell_reasons(entry.reasons)) or general_sentence(entry.general_share)}."
        for n, entry in enumerate(entries, 1)
    ]


def variation_lines(found: Variation) -> list[str]:
    """Return what a list started from, then its items."""
    said = f"{name_of(found.item_id, found.title)} as a start presses {_presses(found.start)}"
    return [f"{said}. Nothing is stored.", *list_lines(found.recommendations)]


def difference_lines(found: Difference) -> list[str]:
    """Return which item stands above the other, then the parts that decide it."""
    name = name_of(found.item_id, found.title)
    other = name_of(found.other_id, found.other_title)
    parts = [
        f"{label}: {part.contribution:.2f} against {part.other_contribution:.2f}, "
        f"so {part.difference:+.2f}."
        for part, label in zip(found.parts, found.labels(), strict=True)
        if part.difference
    ]
    scores = f"{name} has a score of {found.score:.2f}, {other} one of {found.other_score:.2f}."
    return [found.sentence(), scores, *parts[:_MOST_PARTS]]


def explanation_lines(found: Explanation) -> list[str]:
    """Return the score of an item as a sum, then every reason."""
    parts = [f"{found.general:.2f} from general appeal", f"{found.from_tags:.2f} from tags"]
    parts += [f"{found.from_viewed:.2f} from viewed items"] if found.viewed else []
    parts += [f"{found.boost:.2f} from boosts"] if found.boost else []
    reasons = tell_reasons([r for r in found.reasons if r.contribution != 0])
    return [
        f"{name_of(found.item_id, found.title)} has a score of {found.score:.2f}: "
        f"{join_names(parts)}. Its match is {share_text(found.match)}.",
        *([f"{general_sentence(found.general_share).capitalize()}."] if found.general else []),
        *(f"{sentence}." for sentence in reasons),
    ]


def profile_lines(found: responses.Profile, said: Iterable[str]) -> list[str]:
    """Return plain statements about a profile, then the leanings of each feature."""
    lines = [
        *said,
        f"The certainty of the profile is {share_text(found.certainty)}; the affinity with general "
        f"appeal is {affinity_text(found.general)}.",
    ]
    for feature in found.features:
        tags = [
            f"{tag.value} {affinity_text(tag.affinity if tag.leaning is None else tag.leaning)}"
            + _pressed(tag.presses)
            for tag in feature.tags
        ]
        if tags:
            impact = share_text(feature.impact)
            lines.append(f"{feature.feature} (impact {impact}): {', '.join(tags)}.")
    return lines


def search_lines(found: responses.Found) -> list[str]:
    """Return the items and tags of a search, or that there are none."""
    items = [name_of(item.item_id, item.title) for item in found.items]
    tags = [f"{tag.tag} ({_count(tag.n_items, 'item')})" for tag in found.tags]
    lines = [f"Items: {'; '.join(items)}."] if items else []
    lines += [f"Tags: {'; '.join(tags)}."] if tags else []
    return lines or ["No name of an item or a tag contains all of these words."]


def card_lines(card: responses.Card) -> list[str]:
    """Return what the data say of an item."""
    lines = [f"{name_of(card.item_id, card.title)}."]
    if card.description:
        lines.append(card.description)
    if card.date:
        lines.append(f"It is on {card.date:%d %B %Y}.")
    lines += [f"{feature}: {', '.join(values)}." for feature, values in card.facts.items()]
    if card.placed_by:
        lines.append(f"It is new, and placed by its {card.placed_by}.")
    if card.link:
        lines.append(f"Its page is {card.link}")
    return lines


def similar_lines(item: str, found: Sequence[Similar]) -> list[str]:
    """Return a line for each similar item, with the tags that both have."""
    if not found:
        return [f"No item shares a tag with {item}."]
    return [
        f"{n}. {name_of(other.item_id, other.title)}, similarity {share_text(other.similarity)}: "
        f"both have {join_values([tag for tag, _ in other.shared])}."
        for n, other in enumerate(found, 1)
    ]


def lift_lines(item: str, k: int, found: LiftAnswer) -> list[str]:
    """Return the fewest presses that bring an item up, as instructions."""
    lift = found.lift
    if not found.finished:
        return [f"No presses that bring {item} among the first {k} were found quickly."]
    if lift is None:
        return [f"No ten presses bring {item} among the first {k}, or it was viewed."]
    if not lift.presses:
        return [f"{item} is in place {lift.rank_before} already: no press is needed."]
    presses = _presses({press.tag: press.steps for press in lift.presses})
    return [
        f"Press {presses}: {item} then rises from place {lift.rank_before} to "
        f"{lift.rank_after}. Nothing was pressed yet."
    ]


def press_lines(found: "Pressed") -> list[str]:
    """Return what a press moved, and whether it was stored."""
    if found.note and not found.stored:
        return [found.note]
    before, after = affinity_text(found.affinity_before), affinity_text(found.affinity_after)
    stored = (
        "It is stored, and undo takes it back."
        if found.stored
        else "Nothing is stored: give these presses with the next call."
    )
    return [
        f"The affinity with {found.tag} goes from {before} to {after}.",
        f"Net presses: {presses_text(found.presses)}. {stored}",
        *([found.note] if found.note else []),
    ]


def person_lines(person: Person) -> list[str]:
    """Return the state of a person in a few sentences."""
    viewed, hidden = _count(len(person.history), "viewed item"), len(person.hidden)
    lines = [f"The state has {viewed} and {_count(hidden, 'hidden item')}."]
    if person.history:
        lines.append(f"The last views: {', '.join(map(str, person.history[-5:]))}.")
    lines.append(f"Net presses: {presses_text(person.presses)}.")
    unknown = [*map(str, person.unknown_items), *person.unknown_tags, *person.unknown_columns]
    named = {
        "The current list": [person.feed] if person.feed else [],
        "Conditions of the list": _conditions(person.filters),
        "Never shown": person.hidden_tags,
        "Ends by itself": [f"{end.name} at {end.until:%Y-%m-%d %H:%M %Z}" for end in person.ends],
        "Facts about the person": person.about,
        "The present model does not have": [*unknown, *person.unknown_about],
    }
    lines += [f"{what}: {', '.join(names)}." for what, names in named.items() if names]
    if not person.profiling:
        lines.append("Lists are without profile: neither views nor presses count.")
    return [*lines, person.note] if person.note else lines


def _conditions(filters: Filters) -> list[str]:
    """Return the conditions of a list as wishes write them."""
    return [
        *(f"only {tag}" for tag in filters.only),
        *(f"without {tag}" for tag in filters.without),
        *(f"at_most {name} {number:g}" for name, number in filters.at_most.items()),
        *(f"at_least {name} {number:g}" for name, number in filters.at_least.items()),
        *([f"when {filters.when}"] if filters.when else []),
    ]


def reading_lines(found: WordsAnswer, labels: Iterable[str]) -> list[str]:
    """Return what was understood of a request, what was not, and what contradicts."""
    named = zip(labels, found.wishes, strict=True)
    lines = [f"Understood: {label} ({wish.wish})." for label, wish in named]
    if found.unknown:
        lines.append(f"Not understood: {', '.join(found.unknown)}.")
    lines += [f"Only one can hold: {one}, or {other}." for one, other in found.contradictions]
    if not found.wishes:
        lines.append("No wish was found in it.")
    return [*lines, "Nothing is applied yet."]


def event_text(event: Event) -> str:
    """Return an action in a few words, or several as a list."""
    if event.kind == "several":
        return join_names([event_text(part) for part in parts_of(event)])
    presses = event.data.get("presses")
    if presses:
        return _presses(presses)
    kind = event.kind.replace("_", " ")
    item = event.data.get("item", event.data.get("tag"))
    return kind if item is None else f"{kind} {item}"


def presses_text(presses: Sequence[Steps]) -> str:
    """Return net presses as a list in words."""
    return ", ".join(f"{press.tag} {press.steps:+d}" for press in presses) or "none"


def steps_text(steps: int) -> str:
    """Return the steps of a press in words: once or several times + or -."""
    times = "once" if abs(steps) == 1 else "twice" if abs(steps) == 2 else f"{abs(steps)} times"
    return f"{'+' if steps > 0 else '-'} {times}"


def _presses(presses: Mapping[Tag, int] | Mapping[str, int]) -> str:
    return join_names([f"{steps_text(n)} on {tag}" for tag, n in presses.items()])


def _pressed(presses: int) -> str:
    return f" (pressed {presses:+d})" if presses else ""


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"

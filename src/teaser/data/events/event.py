"""Composes events, each from a random stream of its own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

from teaser.data.events.label import draw_labels
from teaser.data.events.occasion import Occasion, draw_hour, draw_occasion
from teaser.data.events.offer import Offer, offers
from teaser.data.events.picture import draw_picture
from teaser.data.events.town import neighbours, towns
from teaser.data.events.wording import describe, draw_title, draw_words


@dataclass(frozen=True)
class GeneratedEvent:
    """An event as it is listed; ``appeal`` is the log of its popularity."""

    town_index: int
    occasion: Occasion
    title: str
    description: str
    labels: tuple[str, ...]
    picture: str
    appeal: float


def compose_events(n_events: int, seed: int, first: date) -> list[GeneratedEvent]:
    """Compose events with distinct titles, in the year from ``first``."""
    taken: set[str] = set()
    rng = np.random.default_rng([seed, 1])
    size = np.array([town.population + 6 for town in towns()]) ** 0.8
    town_indices = rng.choice(len(towns()), size=n_events, p=size / size.sum())
    weights = np.array([offer.weight for offer in offers()])
    drawn = rng.choice(len(offers()), size=n_events, p=weights / weights.sum())
    return [
        _compose(int(town), offers()[offer], first, taken, np.random.default_rng([seed, 2, index]))
        for index, (town, offer) in enumerate(zip(town_indices, drawn, strict=True))
    ]


def _compose(
    town_index: int, offer: Offer, first: date, taken: set[str], rng: np.random.Generator
) -> GeneratedEvent:
    town = towns()[town_index]
    occasion = draw_occasion(offer, town, first, rng)
    words = draw_words(occasion, neighbours(town_index), rng)
    title = draw_title(occasion, words, taken, rng)
    occasion = draw_hour(occasion, rng)
    labels = draw_labels(occasion, rng)
    description = describe(occasion, labels, words, rng)
    picture = draw_picture(offer.type, offer.theme, rng)
    appeal = occasion.type.draw + occasion.kind.size + 0.1 * np.log(town.population / 50)
    return GeneratedEvent(
        town_index=town_index,
        occasion=occasion,
        title=title,
        description=description,
        labels=labels,
        picture=picture,
        appeal=float(appeal + rng.normal(0, 0.6)),
    )

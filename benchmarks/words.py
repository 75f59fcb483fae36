"""The time to read a request in words at 3,500 tags and 20,000 items.

It is processor time, and its share of what one list of the same model costs, in one run.
"""

import argparse
from itertools import product
from time import process_time

import numpy as np
import polars as pl

from teaser import Category, Dataset, ListOf, Teaser
from teaser.words import Vocabulary, read

REQUESTS = [
    ("en", "more jazz around Ghent, no workshops, cheaper, this weekend"),
    ("en", "something like item 1234 but with more keyword 77 and much less keyword 801"),
    (
        "en",
        "concerst in Gent with dragons, unicorns and expositons under 25 euros before Christmas",
    ),
    ("nl", "veel minder sport, veel meer dans en toneel in de buurt van Antwerpen, max 20 euro"),
    ("fr", "pas trop de conférences, plutôt des expos photo à Liège le 12 décembre, pas cher"),
]
THEMES = ("Jazz", "Folk", "Rock", "Dance", "Theatre", "Workshop", "Sport", "Lecture", "Photography")
TOWNS = ("Ghent", "Antwerp", "Liège", "Bruges")


def model_of(n_items: int, n_tags: int, rng: np.random.Generator) -> Teaser:
    """Return a model of items with a theme, a town, a price and keywords of two words."""
    n_words = n_tags - len(THEMES) - len(TOWNS)
    parts = [f"{a}{b}" for a, b in product("bcdfghklmnprst", "aeiou")]
    syllables = rng.choice(parts, size=(n_words, 4))
    keywords = [f"{a}{b} {c}{d}{i}" for i, (a, b, c, d) in enumerate(syllables.tolist())]
    carried = rng.integers(0, n_words, size=(n_items, 5)).tolist()
    carried[0] = list(range(n_words))  # every keyword is a tag
    items = pl.DataFrame(
        {
            "item_id": [f"i{i}" for i in range(n_items)],
            "title": [f"Item {i} {keywords[i % n_words]}" for i in range(n_items)],
            "theme": [THEMES[i % len(THEMES)] for i in range(n_items)],
            "town": [TOWNS[i % len(TOWNS)] for i in range(n_items)],
            "price": (rng.random(n_items) * 50).tolist(),
            "date": ["2026-12-01"] * n_items,
            "keyword": [[keywords[j] for j in row] for row in carried],
        }
    )
    chosen = rng.integers(0, n_items, size=4 * n_items).tolist()
    users = [f"u{i % (n_items // 5)}" for i in range(len(chosen))]
    interactions = pl.DataFrame({"user_id": users, "item_id": [f"i{i}" for i in chosen]}).unique(
        maintain_order=True
    )
    rules = (Category("theme"), Category("town"), ListOf("keyword"))
    return Teaser(tol=0.3).fit(Dataset.from_tables(interactions, items, rules=rules))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--tags", type=int, default=3_500)
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    model = model_of(given.items, given.tags, np.random.default_rng(0))
    start = process_time()
    vocabulary = Vocabulary.from_model(model)
    built = process_time() - start
    for language, text in REQUESTS:
        read(text, vocabulary, language=language)  # known words are made at first need
    start = process_time()
    for _ in range(given.repeats):
        model.recommend(["i1", "i2", "i3"], k=20)
    listed = (process_time() - start) / given.repeats
    print(f"{len(model.tags_):,} tags, {len(model.items_):,} items; vocabulary {built:.1f} s")
    print("| request | ms | share of one list |")
    print("|---|---|---|")
    for language, text in REQUESTS:
        start = process_time()
        for _ in range(given.repeats):
            read(text, vocabulary, language=language)
        taken = (process_time() - start) / given.repeats
        print(f"| {text} | {1e3 * taken:.1f} | {taken / listed:.2f} |")


if __name__ == "__main__":
    main()

"""Recognise columns that count attention, such as ratings_count: popularity, not content."""

import re

import numpy as np
import polars as pl

from teaser.data.reading.likely_ids import snake_case

# Above this absolute rank correlation with the item counts, a number is popularity.
MAX_CORRELATION = 0.6
# With fewer items a rank correlation says little.
_MIN_ITEMS = 30

_THINGS = (
    "attendee", "booking", "bookmark", "borrow", "borrower", "buyer", "checkout", "click",
    "comment", "customer", "dislike", "download", "downvote", "fan", "favorite", "favourite",
    "follow", "follower", "hit", "impression", "install", "interaction", "like", "listen",
    "listener", "loan", "member", "order", "owner", "participant", "play", "purchase",
    "rater", "rating", "reader", "review", "reviewer", "sale", "scrobble", "seller", "share",
    "stream", "subscriber", "upvote", "user", "view", "viewer", "visit", "visitor", "vote",
    "voter", "watch", "watcher", "watchlist", "wish", "wishlist",
)  # fmt: skip
_COUNTERS = (
    "amount", "cnt", "count", "counts", "counter", "n", "nb", "no", "nr", "num", "number",
    "qty", "quantity", "sum", "times", "total",
)  # fmt: skip
_MEANS = {
    "average", "avg", "mean", "median", "percent", "pct", "per", "ratio", "rate", "score",
}  # fmt: skip
_ALWAYS = {
    "hotness", "rank", "ranked", "ranking", "ranks", "salesrank", "trending",
}  # fmt: skip
_THING = "|".join(_THINGS)
_COUNTER = "|".join(_COUNTERS)
_TOGETHER = re.compile(
    rf"(?:{_COUNTER})(?:of)?(?:{_THING})s?|(?:{_THING})s?(?:{_COUNTER})|users?rated"
)


def names_attention(name: str) -> bool:
    """Whether a column of numbers counts attention, by its name.

    So do counts of ratings, reviews, views and the like (ratings_count, numVotes, members,
    ratings_5), ranks, and popularity. An average, such as average_rating, does not: it measures
    quality.
    """
    words = snake_case(name).split("_")
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    if any(word in _ALWAYS or word.startswith("popular") for word in words):
        return True
    if _MEANS & set(words):
        return False
    if any(_TOGETHER.fullmatch(word) for word in words):
        return True
    things = [word for word in words if word.removesuffix("s") in _THINGS]
    counters = set(_COUNTERS) & set(words)
    return bool(things) and (bool(counters) or _is_plural(words[-1]))


def _is_plural(word: str) -> bool:
    return word.endswith("s") and word.removesuffix("s") in _THINGS


def rank_correlation(numbers: pl.Series, counts: pl.Series) -> float:
    """Return Spearman's correlation of a column with the item counts, missing cells left out.

    It is 0 with fewer than 30 items, or if one of both does not vary.
    """
    pairs = pl.DataFrame({"number": numbers, "count": counts}).drop_nulls()
    if pairs.height < _MIN_ITEMS:
        return 0.0
    ranks = pairs.select(pl.all().rank("average")).to_numpy()
    if (ranks.std(axis=0) == 0).any():
        return 0.0
    return float(np.corrcoef(ranks, rowvar=False)[0, 1])

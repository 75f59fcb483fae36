"""Public data sets, one file each."""

from teaser.data.sources.source import (
    Source,
    detect,
    read_amazon,
    read_amazon_video_games,
    read_goodbooks,
    read_movielens,
    read_movielens_1m,
    read_source,
)

__all__ = [
    "Source",
    "detect",
    "read_amazon",
    "read_amazon_video_games",
    "read_goodbooks",
    "read_movielens",
    "read_movielens_1m",
    "read_source",
]

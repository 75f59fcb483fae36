"""Public data sets, one file each, databases and JSON-LD; importing registers the sets' readers."""

from teaser.data.sources.amazon import read_amazon, read_amazon_video_games
from teaser.data.sources.folder import Source, detect, read_source
from teaser.data.sources.goodbooks import read_goodbooks
from teaser.data.sources.jsonld import read_events
from teaser.data.sources.movielens import read_movielens, read_movielens_1m
from teaser.data.sources.sql import read_query

__all__ = [
    "Source",
    "detect",
    "read_amazon",
    "read_amazon_video_games",
    "read_events",
    "read_goodbooks",
    "read_movielens",
    "read_movielens_1m",
    "read_query",
    "read_source",
]

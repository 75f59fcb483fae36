"""Public data sets, one file each; importing this package registers their readers."""

from teaser.data.sources.amazon import read_amazon, read_amazon_video_games
from teaser.data.sources.folder import Source, detect, read_source
from teaser.data.sources.goodbooks import read_goodbooks
from teaser.data.sources.movielens import read_movielens, read_movielens_1m

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

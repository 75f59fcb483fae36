"""A request in words becomes wishes: presses, filters, dates and what else steers a list."""

from teaser.words.period import Period
from teaser.words.read import read
from teaser.words.reading import Reading
from teaser.words.vocabulary import Vocabulary
from teaser.words.wish import Wish

__all__ = ["Period", "Reading", "Vocabulary", "Wish", "read"]

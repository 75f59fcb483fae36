"""A request in words becomes wishes: presses, filters, dates and what else steers a list."""

from teaser.words.interpreter import read
from teaser.words.vocabulary import Vocabulary
from teaser.words.wishes import Period, Reading, Wish

__all__ = ["Period", "Reading", "Vocabulary", "Wish", "read"]

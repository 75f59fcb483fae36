"""Accuracy of models on users they were not fitted to, and the effect of presses."""

from teaser.evaluate.card import card
from teaser.evaluate.check import Check, check_model
from teaser.evaluate.metrics import Metric, PairedDifference, Summary, paired_bootstrap
from teaser.evaluate.protocol import (
    ALL_METRICS,
    PAPER_METRICS,
    Evaluation,
    compare,
    evaluate,
    recommend_lists,
)
from teaser.evaluate.simulation import Simulation, simulate
from teaser.model.recipe import Recipe, Trial

__all__ = [
    "ALL_METRICS",
    "PAPER_METRICS",
    "Check",
    "Evaluation",
    "Metric",
    "PairedDifference",
    "Recipe",
    "Simulation",
    "Summary",
    "Trial",
    "card",
    "check_model",
    "compare",
    "evaluate",
    "paired_bootstrap",
    "recommend_lists",
    "simulate",
]

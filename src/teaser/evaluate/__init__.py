"""Accuracy of models on users they were not fitted to, and the effect of presses."""

from teaser.evaluate.advice import Advice
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
from teaser.evaluate.truth import PressEffect, Truth, truth
from teaser.model.recipe import Recipe, Trial

__all__ = [
    "ALL_METRICS",
    "PAPER_METRICS",
    "Advice",
    "Check",
    "Evaluation",
    "Metric",
    "PairedDifference",
    "PressEffect",
    "Recipe",
    "Simulation",
    "Summary",
    "Trial",
    "Truth",
    "card",
    "check_model",
    "compare",
    "evaluate",
    "paired_bootstrap",
    "recommend_lists",
    "simulate",
    "truth",
]

"""Accuracy of models on users they were not fitted to, and the effect of presses."""

from teaser.evaluate.metrics import Difference, Metric, Summary, paired_bootstrap
from teaser.evaluate.protocol import (
    ALL_METRICS,
    PAPER_METRICS,
    Evaluation,
    compare,
    evaluate,
    recommend_lists,
)
from teaser.evaluate.simulation import Simulation, simulate

__all__ = [
    "ALL_METRICS",
    "PAPER_METRICS",
    "Difference",
    "Evaluation",
    "Metric",
    "Simulation",
    "Summary",
    "compare",
    "evaluate",
    "paired_bootstrap",
    "recommend_lists",
    "simulate",
]

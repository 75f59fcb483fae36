"""What the figures of a study say, in sentences that claim no more than the intervals allow."""

from collections.abc import Mapping
from typing import Any

from teaser.evaluate.metrics import Difference
from teaser.evaluate.report.paper import STRENGTH
from teaser.evaluate.report.results import Results, Scenario, improvement, is_clear, signed
from teaser.evaluate.report.table import printed
from teaser.profile import DEFAULT_STEERING

TARGET, SPOKEN = "ndcg@100", "nDCG@100"


def headlines(study: Results) -> list[str]:
    """Return the sentences for the top of a report."""
    said = [
        _against(study, study.of_kind("Teaser"), study.of_kind("EASE")),
        _against(study, study.of_kind("Product"), study.of_kind("EASE")),
        _against(study, study.of_kind("Teaser"), study.of_kind("WMFS")),
        _best(study),
        _presses(study),
        _lists(study),
    ]
    return [sentence for sentence in said if sentence]


def _against(
    study: Results, model: Mapping[str, Any] | None, other: Mapping[str, Any] | None
) -> str:
    """Say which share of another model's accuracy a model reaches."""
    if model is None or other is None:
        return ""
    ours, theirs = study.value(model, TARGET), study.value(other, TARGET)
    if ours is None or theirs is None or theirs.mean <= 0:
        return ""
    name, reference = study.labels[model["name"]], study.labels[other["name"]]
    gap = study.gap(other["name"], model["name"], TARGET)
    return (
        f"{name} reaches {100 * ours.mean / theirs.mean:.0f} % of {reference}'s {SPOKEN}: "
        f"{printed(ours.mean)} against {printed(theirs.mean)} on {ours.n:,} people; "
        f"{_verdict(gap)}."
    )


def _verdict(gap: Difference | None) -> str:
    if gap is None:
        return "the difference was not examined"
    interval = f"{signed(gap.mean, 3)}, 95 % interval {signed(gap.low, 3)} to {signed(gap.high, 3)}"
    if not is_clear(gap):
        return f"the difference ({interval}) may be chance"
    return f"the {'gain' if gap.mean > 0 else 'loss'} ({interval}) is more than chance"


def _best(study: Results) -> str:
    """Say which model is the most accurate, and whether the next one can be told apart."""
    found = [(v.mean, m) for m in study.models if (v := study.value(m, TARGET)) is not None]
    if len(found) < 2:
        return ""
    found.sort(key=lambda pair: -pair[0])
    (value, first), (_, second) = found[:2]
    gap = study.gap(second["name"], first["name"], TARGET)
    apart = "clearly before" if is_clear(gap) else "but cannot be told from"
    return (
        f"The most accurate of {len(found)} models is {study.labels[first['name']]} "
        f"({printed(value)}), {apart} {study.labels[second['name']]}."
    )


def _presses(study: Results) -> str:
    """Say what presses do to TEASER on the default scale, and on the paper's."""
    model = study.of_kind("Teaser")
    if model is None:
        return ""
    parts = []
    for n_tags, text in ((1, "on one tag"), (2, "on two tags")):
        change = _change(study, model["name"], n_tags, DEFAULT_STEERING.scale)
        if change is not None:
            parts.append(f"{text} {_moved(change)}")
    if not parts:
        return ""
    paper = _change(study, model["name"], 1, "paper")
    beside = f"; on the paper's scale one tag {_moved(paper)}" if paper is not None else ""
    return (
        f"Three presses of + change {study.labels[model['name']]}'s {SPOKEN}: "
        f"{', '.join(parts)}{beside}."
    )


def _change(study: Results, name: str, n_tags: int, scale: str) -> Difference | None:
    found = study.pressed(name, Scenario(n_tags, STRENGTH, scale, DEFAULT_STEERING.step))
    return None if found is None else improvement(found)


def _moved(change: Difference) -> str:
    interval = f"{signed(change.low)} to {signed(change.high)}"
    doubt = "" if is_clear(change) else ", which may be chance"
    return f"{signed(change.mean)} % ({interval}{doubt})"


def _lists(study: Results) -> str:
    """Say how far into the catalogue the lists of TEASER go, beside those of EASE."""
    models = [study.of_kind("Teaser"), study.of_kind("EASE")]
    reach = [None if m is None else study.value(m, "coverage@20") for m in models]
    tail = [None if m is None else study.value(m, "long_tail@20") for m in models]
    names = [study.labels[m["name"]] for m in models if m is not None]
    if None in reach or None in tail:
        return ""
    covered, rare = ([f"{100 * v.mean:.0f} %" for v in found if v] for found in (reach, tail))
    return (
        f"The first 20 recommendations of all people together reach {covered[0]} of the catalogue "
        f"with {names[0]} and {covered[1]} with {names[1]}; {rare[0]} and {rare[1]} of them are "
        "from the long tail."
    )

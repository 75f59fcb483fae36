"""The findings of a study in sentences that claim no more than the intervals allow."""

from teaser.evaluate.metrics import METRIC_TITLES, Difference
from teaser.evaluate.report.tables.number import format_signed, format_value
from teaser.evaluate.report.tables.paper import STRENGTH
from teaser.evaluate.report.tables.reported import ReportedStudy
from teaser.evaluate.study.results import TARGET, ModelResult, Scenario
from teaser.profile import DEFAULT_STEERING

_TITLE = METRIC_TITLES[TARGET]


def headlines(study: ReportedStudy) -> list[str]:
    """Return the sentences for the top of a report."""
    teaser, ease, product, wmfs = map(study.results.of_kind, ("Teaser", "EASE", "Product", "WMFS"))
    sentences = [
        _compared(study, teaser, ease),
        _compared(study, product, ease),
        _compared(study, teaser, wmfs),
        _most_accurate(study),
        _feedback(study, teaser),
        _lists(study, teaser, ease),
    ]
    return [sentence for sentence in sentences if sentence]


def _compared(study: ReportedStudy, model: ModelResult | None, other: ModelResult | None) -> str:
    """Return which share of another model's accuracy a model reaches."""
    if model is None or other is None:
        return ""
    ours, theirs = model.value(TARGET), other.value(TARGET)
    if ours is None or theirs is None or theirs.mean <= 0:
        return ""
    gap = study.results.gap(other.name, model.name, TARGET)
    return (
        f"{study.labels[model.name]} reaches {100 * ours.mean / theirs.mean:.0f} % of "
        f"{study.labels[other.name]}'s {_TITLE}: {format_value(ours.mean)} against "
        f"{format_value(theirs.mean)} on {ours.n:,} users; {_verdict(gap)}."
    )


def _verdict(gap: Difference | None) -> str:
    if gap is None:
        return "the difference was not examined"
    mean, low, high = (format_signed(each, 3) for each in (gap.mean, gap.low, gap.high))
    interval = f"{mean}, 95 % interval {low} to {high}"
    if not gap.is_clear:
        return f"the difference ({interval}) may be chance"
    return f"the {'gain' if gap.mean > 0 else 'loss'} ({interval}) is more than chance"


def _most_accurate(study: ReportedStudy) -> str:
    """Return which model is the most accurate, and whether it clearly differs from the next."""
    found = [(v.mean, m) for m in study.models if (v := m.value(TARGET)) is not None]
    if len(found) < 2:
        return ""
    (value, first), (_, second) = sorted(found, key=lambda pair: -pair[0])[:2]
    gap = study.results.gap(second.name, first.name, TARGET)
    clear = "clearly before" if gap and gap.is_clear else "but not clearly before"
    return (
        f"The most accurate of {len(found)} models is {study.labels[first.name]} "
        f"({format_value(value)}), {clear} {study.labels[second.name]}."
    )


def _feedback(study: ReportedStudy, model: ModelResult | None) -> str:
    """Return what presses do to a model on the default scale, and on the paper's."""
    if model is None:
        return ""

    def change(n_tags: int, scale: str) -> str:
        scenario = Scenario(n_tags, STRENGTH, scale, DEFAULT_STEERING.step)
        found = study.results.simulation(model.name, scenario)
        return _percent(found.improvement()) if found else ""

    default = {n: change(n, DEFAULT_STEERING.scale) for n in (1, 2)}
    words = {1: "on one tag", 2: "on two tags"}
    parts = [f"{words[n]} {text}" for n, text in default.items() if text]
    if not parts:
        return ""
    paper = change(1, "paper")
    beside = f"; on the paper's scale one tag {paper}" if paper else ""
    return (
        f"Three presses of + change {study.labels[model.name]}'s {_TITLE}: "
        f"{', '.join(parts)}{beside}."
    )


def _percent(change: Difference | None) -> str:
    if change is None:
        return ""
    interval = f"{format_signed(change.low)} to {format_signed(change.high)}"
    doubt = "" if change.is_clear else ", which may be chance"
    return f"{format_signed(change.mean)} % ({interval}{doubt})"


def _lists(study: ReportedStudy, *models: ModelResult | None) -> str:
    """Return how many of the items the lists of TEASER reach, beside those of EASE."""
    found = [(m, m.value("coverage@20"), m.value("long_tail@20")) for m in models if m]
    shares = [
        (study.labels[model.name], f"{100 * reach.mean:.0f} %", f"{100 * tail.mean:.0f} %")
        for model, reach, tail in found
        if reach and tail
    ]
    if len(shares) < 2:
        return ""
    (name, reach, tail), (other, other_reach, other_tail) = shares
    return (
        f"The first 20 recommendations of all users together reach {reach} of the items "
        f"with {name} and {other_reach} with {other}; {tail} and {other_tail} of them are "
        "from the long tail."
    )

"""The findings of a study in sentences that claim no more than the intervals allow."""

from teaser.evaluate.metrics import METRIC_TITLES, Difference
from teaser.evaluate.report.tables.number import format_percent, format_signed, format_value
from teaser.evaluate.report.tables.paper import STRENGTH
from teaser.evaluate.report.tables.reported import ReportedStudy
from teaser.evaluate.simulation import AMONG
from teaser.evaluate.study.results import TARGET, ModelResult, Scenario
from teaser.profile import DEFAULT_STEERING

_TITLE = METRIC_TITLES[TARGET]


def headlines(study: ReportedStudy) -> list[str]:
    """Return the sentences for the top of a report."""
    teaser, ease, product, wmfs = map(study.results.of_kind, ("Teaser", "EASE", "Product", "WMFS"))
    best = study.results.recommended
    sentences = [
        _compared(study, teaser, ease),
        _compared(study, best, ease),
        _compared(study, _tags_alone(study), ease),
        _compared(study, product, ease),
        _compared(study, teaser, wmfs),
        _most_accurate(study),
        _parts(study, best or teaser),
        _dial(study),
        _feedback(study, teaser),
        _feedback(study, best),
        _lists(study, best or teaser, ease),
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


def _tags_alone(study: ReportedStudy) -> ModelResult | None:
    """Return the most accurate model with discovered tags and without viewed items."""
    found = [
        (value.mean, model)
        for model in study.models
        if model.discovered and not model.parts and not model.shares.get("viewed")
        if (value := model.value(TARGET)) is not None
    ]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _parts(study: ReportedStudy, model: ModelResult | None) -> str:
    """Return where the scores of a model come from."""
    if model is None or not model.shares:
        return ""
    told = {
        "declared": "declared tags",
        "discovered": "discovered tags",
        "viewed": "viewed items",
        "general": "general appeal",
        "popularity": "popularity",
    }
    shares = [f"{format_percent(model.shares.get(p, 0.0))} from {name}" for p, name in told.items()]
    return (
        f"The scores of {study.labels[model.name]}'s first 20 recommendations are "
        f"{', '.join(shares[:-1])} and {shares[-1]}: {format_percent(model.tag_share)} from tags."
    )


def _dial(study: ReportedStudy) -> str:
    """Return how much can come from tags at EASE's accuracy, and near the best."""
    dial = study.dial
    if dial is None or dial.ease is None:
        return ""
    near = f"{dial.near}, {format_percent(dial.recommended.tag_share)} of the scores come from tags"
    if dial.at_ease is None:
        return f"No setting with tags reaches EASE's accuracy on validation users; {near}."
    return (
        f"At EASE's accuracy or better on validation users, "
        f"{format_percent(dial.at_ease.tag_share)} of the scores can come from tags; {near}."
    )


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

    def change(n_tags: int, scale: str, among: str) -> str:
        scenario = Scenario(n_tags, STRENGTH, scale, DEFAULT_STEERING.step, among)
        found = study.results.simulation(model.name, scenario)
        return _percent(found.improvement()) if found else ""

    counts = {1: "one", 2: "two"}
    parts, paper = [], ""
    for among in AMONG:
        # Of a model without discovered tags, all tags are declared.
        kind = f"{among} " if among != "all" and model.discovered else ""
        for n, count in counts.items():
            if text := change(n, DEFAULT_STEERING.scale, among):
                parts.append(f"on {count} {kind}tag{'s' if n > 1 else ''} {text}")
        paper = paper or change(1, "paper", among)
    if not parts:
        return ""
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

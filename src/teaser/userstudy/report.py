"""The report of a study: one page with tables and pictures, and the figures as csv."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from teaser.evaluate import report as experiments
from teaser.evaluate.report.pictures import SERIES, SOFT, Picture, colour_rules, finish, new_figure
from teaser.templates import environment
from teaser.userstudy.analyse import Contrast, Outcome, StudyAnalysis, power

_EFFECTS = (0.2, 0.3, 0.5)


def write_report(found: StudyAnalysis, out: str | Path) -> Path:
    """Write the report of a study, and return the path of its page.

    The folder gets `index.html`, which needs no other file, `outcomes.csv` with every mean and
    difference, and the pictures under `pictures/`.
    """
    folder = Path(out)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    pictures = draw_pictures(found)
    for picture in pictures:
        path = folder / "pictures" / f"{picture.name}.svg"
        path.write_text(picture.standalone(), encoding="utf-8")
    outcome_table(found).write_csv(folder / "outcomes.csv")
    page = folder / "index.html"
    page.write_text(render_report(found, pictures), encoding="utf-8")
    return page


def outcome_table(found: StudyAnalysis) -> pl.DataFrame:
    """Return every difference in one frame, with the means of both arms."""
    rows = []
    for outcome in found.outcomes:
        means = {arm.arm: arm.mean for arm in outcome.arms}
        rows += [
            {"outcome": outcome.name, "is_primary": outcome.is_primary, **asdict(each)}
            | {"mean": means[each.arm], "mean_other": means[each.other], "mode": found.mode}
            for each in outcome.contrasts
        ]
    return pl.DataFrame(rows, infer_schema_length=None)


def render_report(found: StudyAnalysis, pictures: list[Picture]) -> str:
    """Return the page of a report: one file without links."""
    here, shared = Path(__file__).parent, Path(experiments.__file__).parent
    templates = environment(here / "templates", shared / "templates")
    templates.filters |= {"number": _number, "p": _p_value, "signed": _signed}
    study = found.study
    values: dict[str, Any] = {
        "found": found,
        "study": study,
        "title": study.words(study.title, study.languages[0]),
        "planned": [o for o in found.outcomes if o.is_primary],
        "others": [o for o in found.outcomes if not o.is_primary],
        "sentences": [
            _sentence(o, c, found) for o in found.outcomes if o.is_primary for c in o.contrasts
        ],
        "pictures": pictures,
        "powers": [(e, *power(study, study.people, e)) for e in _EFFECTS],
        "variables": colour_rules(),
    }
    return templates.get_template("study_report.html").render(values)


def _sentence(outcome: Outcome, contrast: Contrast, found: StudyAnalysis) -> str:
    """Return what a planned difference is, as a sentence."""
    more = "more" if contrast.difference > 0 else "less"
    size = f"{_number(abs(contrast.difference))} {more} ({_number(contrast.low)} to "
    size += f"{_number(contrast.high)}), effect size {_signed(contrast.effect)}"
    p = f"p = {_p_value(contrast.p_corrected)} after correction"
    verdict = "This is more than chance" if found.is_clear(contrast) else "This may be chance"
    return f"{outcome.label}: {contrast.arm} against {contrast.other}: {size}. {verdict} ({p})."


def draw_pictures(found: StudyAnalysis) -> list[Picture]:
    """Return the pictures of a report: effect sizes, means of the arms, who came how far."""
    drawn = [_draw_effects(found), _draw_means(found), _draw_funnel(found)]
    return [picture for picture in drawn if picture is not None]


def _interval(axes: Any, place: int, low: float, middle: float, high: float, colour: str) -> None:
    """Draw a dot with its interval."""
    axes.plot([low, high], [place, place], color=colour)
    axes.plot([middle], [place], "o", color=colour)
    axes.grid(False, axis="y")


def _draw_effects(found: StudyAnalysis) -> Picture | None:
    rows = [(o, c) for o in found.outcomes for c in o.contrasts if c.effect][::-1]
    if not rows:
        return None
    with new_figure("study-effects", 1.0 + 0.28 * len(rows)) as figure:
        axes = figure.subplots()
        for place, (outcome, each) in enumerate(rows):
            unit = each.difference / each.effect
            low, high = sorted((each.low / unit, each.high / unit))
            colour = SERIES[0] if outcome.is_primary else SERIES[7]
            _interval(axes, place, low, each.effect, high, colour)
        axes.axvline(0, color=SOFT, linewidth=0.8)
        axes.set_yticks(range(len(rows)), [f"{o.name}: {c.arm}" for o, c in rows])
        axes.set_xlabel(f"difference to {found.study.baseline}, in standard deviations")
        return finish(
            figure,
            title="Effect sizes",
            caption="With 95 % intervals, not corrected. Planned outcomes are in colour.",
            alt="; ".join(f"{o.name}, {c.arm}: {_signed(c.effect)}" for o, c in rows[::-1]),
        )


def _draw_means(found: StudyAnalysis) -> Picture | None:
    outcomes = [o for o in found.outcomes if o.is_primary] or list(found.outcomes[:3])
    if not outcomes:
        return None
    with new_figure("study-means", 0.9 + 0.3 * len(found.study.arms)) as figure:
        panels = figure.subplots(1, len(outcomes), sharey=True, squeeze=False)[0]
        names = [arm.name for arm in found.study.arms][::-1]
        for axes, outcome in zip(panels, outcomes, strict=True):
            for arm in outcome.arms:
                place = names.index(arm.arm)
                _interval(axes, place, arm.low, arm.mean, arm.high, SERIES[1])
            axes.set_title(outcome.name)
            axes.margins(x=0.15, y=0.25)
        panels[0].set_yticks(range(len(names)), names)
        return finish(
            figure,
            title="Means of the arms",
            caption="With 95 % intervals of each arm alone.",
            alt="; ".join(
                f"{o.name}, {a.arm}: {_number(a.mean)}" for o in outcomes for a in o.arms
            ),
        )


def _draw_funnel(found: StudyAnalysis) -> Picture:
    names, counts = zip(*found.funnel[::-1], strict=True)
    with new_figure("study-funnel", 0.7 + 0.24 * len(names)) as figure:
        axes = figure.subplots()
        axes.barh(range(len(names)), counts, height=0.6, color=SERIES[2])
        axes.set_yticks(range(len(names)), names)
        axes.set_xlabel("people who came to the page")
        axes.grid(False, axis="y")
        return finish(
            figure,
            title="How far people came",
            caption="Arms by their place in each person's order.",
            alt="; ".join(f"{name}: {n}" for name, n in found.funnel),
        )


def _number(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.2f}".replace("-", "\u2212")


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "\u2212")


def _p_value(value: float | None) -> str:
    if value is None or value != value:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"

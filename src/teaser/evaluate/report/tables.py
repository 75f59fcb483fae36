"""The tables of a report as frames of text, and the studies as a report shows them."""

import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl

from teaser.errors import DataError, ParameterError, closest
from teaser.evaluate.metrics import METRIC_TITLES, PairedDifference, Summary
from teaser.evaluate.simulation import AMONG
from teaser.evaluate.study.data import DataSummary
from teaser.evaluate.study.results import (
    DIAL_SUFFIX,
    TARGET,
    DialResults,
    DialSetting,
    ModelResult,
    Scenario,
    SimulationResult,
    StudyResults,
    find_value,
    read_results,
)
from teaser.explain import PARTS
from teaser.profile import DEFAULT_STEERING

ResultsLike = str | Path | StudyResults | DialResults
Row = list[str]

BETTER, WORSE, NONE, MINUS = "▲", "▼", "–", "\N{MINUS SIGN}"
REFERENCE = "EASE"

# What the paper's two tables have.
PAPER = (
    "J. De Pauw, K. Ruymbeek, B. Goethals: Modelling Users with Item Metadata for Explainable "
    "and Interactive Recommendation, tables 1 and 2"
)
METRICS = ("recall@20", "recall@100", "ndcg@100")
PAPER_SCALE, PAPER_STRENGTH = "paper", 3
# What the models learned from and had to find, by the kind of split.
_SPLITS = {
    "users": "Strong generalisation: models are tested on users they were not fitted to.",
    "last": "Split by last interaction: models are fitted to all but the last interactions of the "
    "users, and tested on the last one of the same users.",
    "time": "Split by time: models are fitted to all interactions before a point in time, and "
    "tested on what users chose from then on.",
}
_PAPER_ROWS = ("EASE", "EDLAE", "ItemKNN", "WMF", "TEASER", "WMF-S", "TEASER × EASE")


def format_value(value: float) -> str:
    """Return a value of a metric."""
    return f"{value:.3f}".replace("-", MINUS)


def format_signed(value: float, digits: int = 1) -> str:
    """Return a number with + or a minus sign; without either if it rounds to zero."""
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{'+' if value > 0 else MINUS}{text}"


def format_seconds(value: float) -> str:
    """Return a duration with its unit."""
    if value < 100:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 6000 else f"{value / 3600:.1f} h"


def format_memory(value: float) -> str:
    """Return a number of bytes with its unit."""
    return f"{value / 1e9:.1f} GB" if value >= 1e9 else f"{value / 1e6:.0f} MB"


def format_parameter(value: object) -> str:
    """Return the value of a parameter; a number with few digits."""
    if value == {}:  # the options of an extension, none of which is given
        return "its defaults"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:g}" if is_number else str(value)


def format_presses(n_tags: int, strength: int, among: str = "all") -> str:
    """Return how many tags are pressed how often, such as "two declared tags +3"."""
    count = {1: "one", 2: "two", 3: "three"}.get(n_tags, f"{n_tags}")
    kind = "" if among == "all" else f"{among} "
    return f"{count} {kind}tag{'' if n_tags == 1 else 's'} {format_signed(strength, 0)}"


def format_percent(share: float | None) -> str:
    """Return a share in percent, and nothing where there is none."""
    return "" if share is None else f"{100 * share:.0f} %"


@dataclass(frozen=True)
class PaperColumn:
    """One data set of the paper's tables.

    Attributes
    ----------
    static
        The `METRICS` by model, without feedback (table 1).
    pressed
        The same by number of tags, each pressed three times, and model (table 2).
    """

    title: str
    static: Mapping[str, Sequence[float]]
    pressed: Mapping[str, Mapping[str, Sequence[float]]]
    users: int
    items: int
    tags: int
    interaction_density: float
    tag_density: float

    def figure(self, model: str, metric: str, n_tags: int = 0) -> float | None:
        """Return one figure, or None where the paper has none."""
        rows = self.pressed.get(str(n_tags), {}) if n_tags else self.static
        if model not in rows or metric not in METRICS:
            return None
        return rows[model][METRICS.index(metric)]


PAPER_COLUMNS: Mapping[str, PaperColumn] = {
    name: PaperColumn(**entries)
    for name, entries in tomllib.loads(
        Path(__file__).with_name("paper.toml").read_text(encoding="utf-8")
    ).items()
}


@dataclass(frozen=True, eq=False)
class ReportedStudy:
    """The results of a study, and those of its dial if there are any.

    Models are named and ordered as in the paper.
    """

    results: StudyResults = field(repr=False)
    dial: DialResults | None = field(default=None, repr=False)

    @property
    def key(self) -> str:
        """A name for files and anchors."""
        return self.results.key

    @property
    def title(self) -> str:
        """The title of the study in one line; that of a quick run says so."""
        return " ".join(self.results.heading.split())

    @property
    def paper(self) -> PaperColumn | None:
        """The paper's column to show beside, if the study names one."""
        name = self.results.paper
        if not name:
            return None
        if name not in PAPER_COLUMNS:
            raise ParameterError(
                f"The study {self.results.study!r} names the paper's column {name!r}, which does "
                f"not exist. Known: {', '.join(PAPER_COLUMNS)}.{closest(name, PAPER_COLUMNS)}"
            )
        return PAPER_COLUMNS[name]

    @cached_property
    def models(self) -> tuple[ModelResult, ...]:
        """The models, baselines first, each group in the order of the paper."""

        def place(model: ModelResult) -> tuple[bool, int]:
            row = self._paper_row(model)
            return model.interactive, _PAPER_ROWS.index(row) if row else len(_PAPER_ROWS)

        return tuple(sorted(self.results.models, key=place))

    @cached_property
    def labels(self) -> dict[str, str]:
        """The label of each model in tables, by its name in the study."""
        labels: dict[str, str] = {}
        for model in self.results.models:
            if model.parts and _letters(model.name) in ("product", _letters("".join(model.parts))):
                labels[model.name] = " × ".join(labels.get(part, part) for part in model.parts)
            else:
                known = (row for row in _PAPER_ROWS if _letters(row) == _letters(model.name))
                labels[model.name] = next(known, model.name)
        return labels

    def labelled(self, label: str) -> ModelResult | None:
        """Return the model of a label, if the study has it."""
        return next((m for m in self.models if self.labels[m.name] == label), None)

    def paper_value(self, model: ModelResult, metric: str, n_tags: int = 0) -> str:
        """Return the paper's figure in brackets; only the first model of a kind has one."""
        row = self._paper_row(model)
        first = next(m for m in self.results.models if self._paper_row(m) == row)
        if self.paper is None or row is None or first.name != model.name:
            return ""
        figure = self.paper.figure(row, metric, n_tags)
        return "" if figure is None else f"*({format_value(figure)})*"

    def _paper_row(self, model: ModelResult) -> str | None:
        """Return the paper's name of this kind of model, if it is in its tables."""
        if model.parts:
            named = {m.name: m.kind for m in self.results.models}
            kinds = [named.get(part) for part in model.parts]
            return _PAPER_ROWS[-1] if kinds == ["Teaser", "EASE"] else None
        return next((row for row in _PAPER_ROWS if _letters(row) == _letters(model.kind)), None)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def read_studies(sources: Sequence[ResultsLike]) -> list[ReportedStudy]:
    """Read the results of several studies.

    Parameters
    ----------
    sources
        JSON files of studies and of dials in any order, folders of them, or results. The dial
        that lies beside a study's file is read with it.
    """
    studies: list[StudyResults] = []
    dials: dict[str, DialResults] = {}
    for source in _files(sources):
        found = read_results(source) if isinstance(source, str | Path) else source
        if isinstance(found, DialResults):
            dials[found.key] = found
            continue
        studies.append(found)
        if isinstance(source, str | Path):
            beside = Path(source).with_suffix(DIAL_SUFFIX)
            dial = read_results(beside) if beside.exists() else None
            if isinstance(dial, DialResults):
                dials.setdefault(found.key, dial)
    keys = [study.key for study in studies]
    for key in keys:
        if keys.count(key) > 1:
            raise ParameterError(f"The study {key} is given {keys.count(key)} times; give it once.")
    for key, dial in dials.items():
        if key not in keys:
            raise ParameterError(
                f"The dial of {dial.study!r} is given without the results of the study. "
                f"Give its {dial.study}.json too."
            )
    if not studies:
        raise ParameterError("A report needs the results of at least one study.")
    return [ReportedStudy(s, dials.get(s.key)) for s in studies]


def _files(sources: Sequence[ResultsLike]) -> list[ResultsLike]:
    """Return the sources with every folder replaced by the results of studies in it."""
    files: list[ResultsLike] = []
    for source in sources:
        if not isinstance(source, str | Path) or not Path(source).is_dir():
            files.append(source)
            continue
        found = [p for p in sorted(Path(source).glob("*.json")) if not p.match(f"*{DIAL_SUFFIX}")]
        if not found:
            raise DataError(f"There are no results of a study (*.json) in {source}.")
        files += found
    return files


def one_step(studies: Sequence[ReportedStudy]) -> list[Scenario]:
    """Return the simulated feedback of studies with one step of each scale, the default first."""
    first: dict[tuple[int, int, str, str], Scenario] = {}
    for s in (s for study in studies for s in study.results.scenarios):
        first.setdefault((s.n_tags, s.strength, s.scale, s.among), s)
    return list(first.values())


@dataclass(frozen=True, eq=False)
class Table:
    """A table with its caption and notes.

    Attributes
    ----------
    frame
        Texts with Markdown: `**best**`, `*(of the paper)*`. The first column names the rows. A
        row whose other columns are null is a heading. A column is named `STUDY` newline `COLUMN`.
    """

    name: str
    caption: str
    frame: pl.DataFrame
    notes: tuple[str, ...] = ()

    @classmethod
    def build(
        cls,
        name: str,
        caption: str,
        columns: Sequence[tuple[str, str]],
        rows: Sequence[Row],
        notes: Sequence[str] = (),
        *,
        first: str = "models",
    ) -> "Table":
        """Return a table of pairs of study and column, and rows of texts; a short row is padded."""
        names = [first]
        for study, column in columns:
            # Studies may have the same title.
            same = (f"{study}{f' ({n})' if n > 1 else ''}\n{column}" for n in count(1))
            names.append(next(name for name in same if name not in names))
        padded = [[*row, *[None] * (len(names) - len(row))] for row in rows]
        schema = dict.fromkeys(names, pl.String)
        return cls(name, caption, pl.DataFrame(padded, schema=schema, orient="row"), tuple(notes))

    @property
    def blocks(self) -> dict[str, list[str]]:
        """The columns by study, without the first."""
        found: dict[str, list[str]] = {}
        for name in self.frame.columns[1:]:
            study, column = name.split("\n")
            found.setdefault(study, []).append(column)
        return found

    def to_markdown(self) -> str:
        """Return the table with its caption and notes as Markdown."""
        heads = [f"**{self.frame.columns[0]}**"]
        for study, columns in self.blocks.items():
            title = f"**{literal(study)}**<br>" if study else ""
            heads += [title + literal(columns[0]), *map(literal, columns[1:])]
        rule = _line(["---", *["---:"] * (len(heads) - 1)])
        lines = [literal(self.caption), "", _line(heads), rule]
        for head, *cells in self.frame.iter_rows():
            is_group = bool(cells) and all(cell is None for cell in cells)
            name = f"**{literal(head)}:**" if is_group else literal(head)
            lines.append(_line([name, *(cell or "" for cell in cells)]))
        notes = (line for note in self.notes for line in ("", literal(note)))
        return "\n".join([*lines, *notes]) + "\n"


def splits_in_words(studies: Sequence[ReportedStudy]) -> list[str]:
    """Return what was held out, a sentence for each kind of split among the studies."""
    titles: dict[str, list[str]] = {}
    for study in studies:
        titles.setdefault(study.results.split.kind, []).append(study.title)
    return [
        _SPLITS[kind] if len(titles) == 1 else f"{', '.join(named)}: {_SPLITS[kind]}"
        for kind, named in titles.items()
    ]


def make_tables(studies: Sequence[ReportedStudy]) -> list[Table]:
    """Return all tables that compare models and have something to show."""
    made = (
        accuracy_table(studies),
        advantage_table(studies),
        parts_table(studies),
        truth_table(studies),
        dial_table(studies),
        feedback_table(studies),
        beyond_table(studies),
    )
    return [table for table in made if table is not None and table.frame.width > 1]


def accuracy_table(studies: Sequence[ReportedStudy]) -> Table:
    """Return the paper's first table: accuracy without feedback, and the data below."""
    rows: list[Row] = []
    for title, interactive in (("static baselines", False), ("interactive models", True)):
        found = [
            [label, *(_accuracy_cell(study, label, m) for study in studies for m in METRICS)]
            for label in model_labels(studies, interactive=interactive)
        ]
        rows += [[title], *found] if found else []
    notes = _paper_notes(studies, reasons=True)
    if any(s.results.first(REFERENCE) and len(s.models) > 1 for s in studies):
        notes.insert(
            0,
            f"{BETTER} clearly better and {WORSE} clearly worse than {REFERENCE}: the 95 % "
            "interval of the paired bootstrap over the same users leaves out zero. Not corrected "
            "for the number of comparisons.",
        )
    return Table.build(
        "accuracy",
        f"Accuracy without feedback. {' '.join(splits_in_words(studies))} "
        "Best of each column in bold; ± is the standard error over users.",
        [(study.title, METRIC_TITLES[m]) for study in studies for m in METRICS],
        [*_bold_columns(rows), *_data_rows(studies)],
        notes,
    )


def advantage_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return how much better the recommended model is than every other; None without one."""
    studies = [study for study in studies if study.results.recommended]
    best = [study.labels[m.name] for study in studies if (m := study.results.recommended)]
    labels = [label for each in (False, True) for label in model_labels(studies, interactive=each)]
    rows = [
        [label, *(cell for study in studies for cell in _advantage_cells(study, label))]
        for label in labels
        if any(study.labelled(label) and label != b for study, b in zip(studies, best, strict=True))
    ]
    title = METRIC_TITLES[TARGET]
    return None if not rows else Table.build(
        "advantage",
        f"How much more {title} the recommended model reaches than each other model, in percent "
        "of the other's, with the 95 % interval of the paired bootstrap over the same users.",
        [(study.title, column) for study in studies for column in (title, "recommended, %")],
        rows,
        [
            f"{BETTER} the recommended model is clearly better, {WORSE} clearly worse: the "
            "interval leaves out zero. Not corrected for the number of comparisons."
        ],
    )  # fmt: skip


def parts_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return the share of each part of the scores; None where no study has measured them."""
    studies = [study for study in studies if any(model.shares for model in study.models)]
    rows = []
    for label in model_labels(studies, interactive=True):
        found = [study.labelled(label) for study in studies]
        if any(model is not None and model.shares for model in found):
            rows.append([label, *(cell for model in found for cell in _share_cells(model))])
    products = dict.fromkeys(s.labels[m.name] for s in studies for m in s.models if m.parts)
    return None if not rows else Table.build(
        "parts",
        "Where the scores of the first 20 recommendations come from, in percent: general appeal, "
        "which is the same for everybody; declared and discovered tags; popularity's own column; "
        "viewed items. From tags: declared and discovered together.",
        [(study.title, column) for study in studies for column in (*PARTS, "from tags")],
        rows,
        [f"{name}: of the part with tags." for name in products],
    )  # fmt: skip


def truth_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return whether what is said of test users is true; None where no study has measured it."""
    rows: list[Row] = []
    for study in studies:
        found = [model for model in study.models if model.truth is not None]
        if found:
            rows.append([study.title])
            rows += [[study.labels[model.name], *_truth_cells(model)] for model in found]
    return None if not rows else Table.build(
        "truth",
        "What is said of test users, and what presses do. Known, guessed, away: how often people "
        "of whom a tag was said chose such items afterwards, over the average person's rate; the "
        "naive profile says as many tags, by their rates in the history. Agree: what is known that "
        "agrees with the own history. With reason, against: entries of the first 20 that have a "
        "reason about the person, and tags in these against the leaning. +1, +3: people whose "
        "first 20 change by presses. +5: entries with the tag, before and after.",
        [("", column) for column in _TRUTH_COLUMNS],
        rows,
    )  # fmt: skip


_TRUTH_COLUMNS = (
    *("said", "known", "naive", "guessed", "away", "naive away", "agree, %"),
    *("with reason, %", "against, %", "+1, %", "+3, %", "+5"),
)


def _truth_cells(model: ModelResult) -> Row:
    told = model.truth
    if told is None:
        return [NONE] * len(_TRUTH_COLUMNS)
    ratios = (told.known, told.naive_known, told.guessed, told.away, told.naive_away)
    press = told.plus
    shares = (
        *(told.agreement, told.with_reason, told.against_leaning),
        *((None, None) if press is None else (press.changed_by_one, press.changed_by_three)),
    )
    return [
        f"{told.n_said:.1f}",
        *(NONE if ratio is None else f"{ratio:.2f}" for ratio in ratios),
        *(NONE if share is None else f"{100 * share:.0f}" for share in shares),
        NONE if press is None else f"{press.carried:.1f} to {press.carried_after_five:.1f}",
    ]


def dial_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return the best setting of each kind, and those with most from tags; None without a dial."""
    rows: list[Row] = []
    titles = []
    for study in studies:
        if study.dial is not None:
            titles.append(METRIC_TITLES.get(study.dial.metric, study.dial.metric))
            rows.append([study.title])
            rows += [_dial_row(name, each) for name, each in notable_settings(study.dial).items()]
    columns = (" / ".join(dict.fromkeys(titles)), "from tags", *_DIAL_PARTS)
    return None if not rows else Table.build(
        "dial",
        "The dial between tags and viewed items, on validation users: accuracy, and where the "
        "scores of the first recommendations come from. From tags: declared and discovered, "
        "without general appeal. Of personal: tags / (tags + viewed items).",
        [("", column) for column in (*columns, "of personal", "parameters")],
        rows,
        first="settings",
    )  # fmt: skip


def notable_settings(dial: DialResults) -> dict[str, DialSetting]:
    """Return the best setting of each kind and those with most from tags, by what they are."""
    names = {
        "EASE": "EASE",
        "NeighbourEASE": "EASE on neighbours",
        "TEASER": "tags alone, most accurate",
        "remainder": "tags, then neighbours, most accurate",
    }
    found: dict[str, DialSetting] = {}
    for kind, name in names.items():
        if some := [setting for setting in dial.settings if setting.kind == kind]:
            found[name] = max(some, key=lambda setting: setting.value)
    found[f"most from tags {dial.near}"] = dial.recommended
    if dial.at_ease is not None:
        found["most from tags at EASE's accuracy or better"] = dial.at_ease
    return found


def feedback_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return the paper's second table: accuracy after simulated presses; None without any."""
    studies = [study for study in studies if study.results.simulations]
    if not studies:
        return None
    columns = (*(METRIC_TITLES[m] for m in METRICS), "change in %")
    # Changes are not set in bold, as in the paper.
    plain = [1 + i for i in range(len(columns) * len(studies)) if (i + 1) % len(columns) == 0]
    rows: list[Row] = []
    rivals = [
        study.labels[model.name]
        for study in studies
        for model in study.models
        if not model.interactive and model.name in {s.model for s in study.results.simulations}
    ]
    labels = list(dict.fromkeys([*rivals, *model_labels(studies, interactive=True)]))
    for scenario in (None, *sorted(one_step(studies), key=_paper_order)):
        block = [
            [
                label,
                *(cell for study in studies for cell in _feedback_cells(study, label, scenario)),
            ]
            for label in labels
        ]
        block = [row for row in block if any(cell != NONE for cell in row[1:])]
        head = "no simulation" if scenario is None else _heading(scenario)
        rows += [[head], *_bold_columns(block, without=plain)]
    return Table.build(
        "feedback",
        "Accuracy when each user presses tags of the held-out items (+) or tags of "
        f"recommended items that no held-out item has ({MINUS}), mean of the draws; and the "
        "relative change of nDCG@100 with its 95 % interval. Best of each column and block in "
        "bold.",
        [(study.title, column) for study in studies for column in columns],
        rows,
        [
            *(f"{name}: a press adds a bonus to the items of its tag." for name in set(rivals)),
            *_feedback_notes(studies),
            *_paper_notes(studies, reasons=False),
        ],
    )


def beyond_table(studies: Sequence[ReportedStudy]) -> Table:
    """Return properties of the lists, and the metrics with the plain denominators."""
    models = [model for study in studies for model in study.models]
    metrics = [
        m for m in METRIC_TITLES if m not in METRICS and any(model.value(m) for model in models)
    ]
    rows: list[Row] = []
    for study in studies:
        rows.append([study.title])
        rows += [
            [study.labels[model.name], *(value_text(model.value(m)) for m in metrics)]
            for model in study.models
        ]
    return Table.build(
        "beyond",
        "Properties of the lists, and accuracy by the plain denominators. Coverage: share of all "
        "items that is in any user's first 20. Diversity: mean distance in tags between two items "
        "of a list, from 0 to 1. Long tail: share of a list outside the most popular items that "
        "together make half of all choices. Uncapped: divided by all held-out items, not by at "
        "most k of them as Liang et al. (2018) do, and as the first table does.",
        [("", METRIC_TITLES[m]) for m in metrics],
        rows,
    )


def cost_table(study: ReportedStudy) -> Table:
    """Return the parameters that were chosen, and what fitting and scoring took."""
    users = max(1, study.results.split.test_users)
    rows = []
    for model in study.models:
        given = ", ".join(f"{k} = {format_parameter(v)}" for k, v in model.parameters.items())
        given = "those of its parts" if model.parts else given
        rows.append(
            [
                study.labels[model.name],
                literal(given) or "the defaults",
                f"{len(model.trials) or NONE}",
                format_seconds(model.fit.seconds),
                format_memory(model.fit.peak_memory),
                NONE if model.fit.iterations is None else f"{model.fit.iterations}",
                f"{1000 * model.scoring_seconds / users:.2f}",
            ]
        )
    heads = ("parameters chosen", "cells tried", "fit", "memory", "iterations", "ms per user")
    return Table.build(
        "cost",
        "Parameters chosen by the validation users, and what the chosen fit took. Memory is the "
        "peak of the whole process; ms per user is scoring, ranking and measuring.",
        [(study.title, head) for head in heads],
        rows,
    )


def model_labels(studies: Sequence[ReportedStudy], *, interactive: bool) -> list[str]:
    """Return the labels of all models of a group, those of the study with most models first."""
    return list(
        dict.fromkeys(
            study.labels[model.name]
            for study in sorted(studies, key=lambda each: -len(each.models))
            for model in study.models
            if model.interactive == interactive
        )
    )


def value_text(found: Summary | None) -> str:
    """Return a mean with its standard error."""
    if found is None:
        return NONE
    if math.isnan(found.error):
        return format_value(found.mean)
    digits = ".3f" if found.error >= 0.0005 or found.error == 0 else ".1g"
    return f"{format_value(found.mean)} ± {found.error:{digits}}"


def change_text(change: PairedDifference) -> str:
    """Return a change with its interval, and a mark where it is clear."""
    interval = f"[{format_signed(change.low)}, {format_signed(change.high)}]"
    return _joined(format_signed(change.mean), interval, mark(change))


def mark(gap: PairedDifference | None) -> str:
    """Return a mark where a difference is clear."""
    if gap is None or not gap.is_clear:
        return ""
    return BETTER if gap.low > 0 else WORSE


def bold_best(cells: Sequence[str]) -> Row:
    """Return cells with the highest figure at the start of a cell in bold."""
    values = [_figure(cell) for cell in cells]
    top = max(values, default=-math.inf)
    return [
        re.sub(r"^\S+", lambda m: f"**{m[0]}**", cell) if value == top > -math.inf else cell
        for cell, value in zip(cells, values, strict=True)
    ]


def _bold_columns(rows: Sequence[Row], without: Sequence[int] = ()) -> list[Row]:
    """Return rows with the best of every column in bold; headings are left as they are."""
    figures = [row for row in rows if len(row) > 1]
    if len(figures) < 2:
        return list(rows)
    columns = [
        list(column) if i == 0 or i in without else bold_best(column)
        for i, column in enumerate(zip(*figures, strict=True))
    ]
    marked = iter(zip(*columns, strict=True))
    return [row if len(row) == 1 else list(next(marked)) for row in rows]


def _figure(cell: str) -> float:
    """Return the number that a cell begins with; -inf where it is not a number."""
    try:
        return float(cell.partition(" ")[0].replace(MINUS, "-"))
    except ValueError:
        return -math.inf


def _accuracy_cell(study: ReportedStudy, label: str, metric: str) -> str:
    model = study.labelled(label)
    if model is None:
        return NONE
    reference = study.results.first(REFERENCE)
    gap = study.results.gap(reference.name, model.name, metric) if reference else None
    return _joined(value_text(model.value(metric)), mark(gap), study.paper_value(model, metric))


def _advantage_cells(study: ReportedStudy, label: str) -> tuple[str, str]:
    model, best = study.labelled(label), study.results.recommended
    reached = None if model is None else model.value(TARGET)
    if model is None or best is None or reached is None:
        return NONE, NONE
    gap = study.results.gap(model.name, best.name, TARGET)
    if gap is None or reached.mean <= 0:
        return value_text(reached), NONE
    return value_text(reached), change_text(gap.times(100 / reached.mean))


def _share_cells(model: ModelResult | None) -> Row:
    if model is None or not model.shares:
        return [NONE] * (len(PARTS) + 1)
    shares = (*(model.shares.get(part, 0.0) for part in PARTS), model.tag_share or 0.0)
    return [f"{100 * share:.0f}" for share in shares]


_DIAL_PARTS = ("general", "declared", "discovered", "viewed")


def _dial_row(name: str, setting: DialSetting) -> Row:
    shares = [setting.shares.get(part) for part in _DIAL_PARTS]
    given = ", ".join(f"{key} = {value:g}" for key, value in setting.parameters.items())
    percents = (setting.tag_share, *shares, setting.personal_share)
    reached = value_text(Summary(setting.value, setting.error, 0))
    return [name, reached, *(format_percent(share) or NONE for share in percents), given]


def _data_rows(studies: Sequence[ReportedStudy]) -> list[Row]:
    """Return the properties of the data sets, in the first column of each study."""
    texts: dict[str, Callable[[DataSummary], str]] = {
        "# users": lambda data: f"{data.users:,}",
        "# items": lambda data: f"{data.items:,}",
        "interaction density": lambda data: f"{100 * data.interaction_density:.3f} %",
        "# tags": lambda data: f"{data.tags:,}",
        "tag density": lambda data: f"{100 * data.tag_density:.3f} %",
        "features": lambda data: literal(", ".join(data.features)),
    }

    def row(head: str, values: Sequence[str]) -> Row:
        return [head, *(cell for v in values for cell in (v, *[""] * (len(METRICS) - 1)))]

    return [
        ["data"],
        *(row(head, [text(s.results.data) for s in studies]) for head, text in texts.items()),
        row("# test users", [f"{s.results.split.test_users:,}" for s in studies]),
    ]


def _feedback_cells(study: ReportedStudy, label: str, scenario: Scenario | None) -> Row:
    """Return a model's accuracy without feedback, or after it, and the change."""
    model = study.labelled(label)
    pressed = model is not None and any(s.model == model.name for s in study.results.simulations)
    found = study.results.simulation(model.name, scenario) if model and scenario else None
    if model is None or not pressed or (scenario is not None and found is None):
        return [NONE] * (len(METRICS) + 1)
    if scenario is None or found is None:
        values = [_joined(value_text(model.value(m)), study.paper_value(model, m)) for m in METRICS]
        return [*values, ""]
    # The paper's tags are all declared.
    in_paper = (scenario.strength, scenario.scale) == (PAPER_STRENGTH, PAPER_SCALE)
    in_paper = in_paper and scenario.among != "discovered"
    values = [
        _joined(
            value_text(find_value(found.metrics, m)),
            study.paper_value(model, m, scenario.n_tags) if in_paper else "",
        )
        for m in METRICS
    ]
    return [*values, _change_cell(found)]


def _change_cell(simulated: SimulationResult | None) -> str:
    change = simulated.improvement() if simulated else None
    return NONE if change is None else change_text(change)


def _paper_order(s: Scenario) -> tuple[Any, ...]:
    return AMONG.index(s.among), s.strength < 0, s.scale == PAPER_SCALE, abs(s.strength), s.n_tags


def _heading(scenario: Scenario) -> str:
    scales = {PAPER_SCALE: ", on the paper's scale", DEFAULT_STEERING.scale: ""}
    scale = scales.get(scenario.scale, f", scale {scenario.scale}")
    step = "" if scenario.has_default_step else f", step {scenario.step_text}"
    return format_presses(scenario.n_tags, scenario.strength, scenario.among) + scale + step


def _feedback_notes(studies: Sequence[ReportedStudy]) -> list[str]:
    notes = [
        f"{BETTER} clear gain, {WORSE} clear loss: the 95 % interval of the paired bootstrap "
        "leaves out zero."
    ]
    for study in studies:
        without = {
            format_presses(s.n_tags, s.strength, s.among): s.without_tags
            for s in study.results.simulations
            if s.without_tags
        }
        users = f"{study.results.split.test_users:,}"
        counts = "; ".join(f"{text}: {n:,} of {users}" for text, n in without.items())
        if counts:
            notes.append(f"{study.title}: users without a tag to press keep their list ({counts}).")
    return notes


def _paper_notes(studies: Sequence[ReportedStudy], *, reasons: bool) -> list[str]:
    """Return what the figures in brackets are; with `reasons` also how comparable they are."""
    notes = []
    for study in studies:
        if (paper := study.paper) is not None:
            notes.append(
                f"{study.title}: in brackets the paper's figures for {paper.title} "
                f"({paper.users:,} users, {paper.items:,} items, {paper.tags:,} tags)."
            )
        if reasons and study.results.note:
            notes.append(f"{study.title}: {study.results.note}")
    return notes


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def literal(text: str) -> str:
    """Return a text in one line, in which Markdown finds no markup, link or end of a cell."""
    return re.sub(r"[\\`*\[<|]", r"\\\g<0>", " ".join(text.split()))

"""The tables of a report as frames of text, and the studies as a report shows them."""

import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from teaser.errors import DataError, ParameterError
from teaser.evaluate.metrics import METRIC_TITLES, PairedDifference, Summary
from teaser.evaluate.protocol import PAPER_METRICS
from teaser.evaluate.study.results import (
    DIAL_SUFFIX,
    NEW_ITEMS_SUFFIX,
    TARGET,
    DialResults,
    DialSetting,
    ModelResult,
    Scenario,
    StudyResults,
    find_value,
    read_results,
)
from teaser.evaluate.truth import Truth
from teaser.explain import PARTS
from teaser.files import say_bytes
from teaser.profile import DEFAULT_STEERING

ResultsLike = str | Path | StudyResults | DialResults
Row = list[str]


def _read_toml(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


BETTER, WORSE, NONE, MINUS = "▲", "▼", "–", "\N{MINUS SIGN}"
REFERENCE = "EASE"

# What the paper's two tables have.
PAPER = (
    "J. De Pauw, K. Ruymbeek, B. Goethals: Modelling Users with Item Metadata for Explainable "
    "and Interactive Recommendation, tables 1 and 2"
)
METRICS = PAPER_METRICS
PAPER_SCALE, PAPER_STRENGTH = "paper", 3
# The captions of the tables, and what their marks mean.
CAPTIONS: Mapping[str, str] = _read_toml("captions.toml")
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


# By data set: its title, users, items and tags; and, by number of tags that are each pressed three
# times and by model, the `METRICS`: 0 without feedback (table 1), 1 and 2 (table 2).
PAPER_COLUMNS: Mapping[str, Mapping[str, Any]] = _read_toml("paper.toml")


@dataclass(frozen=True, eq=False)
class ReportedStudy:
    """The results of a study, and those of its dial if there are any.

    Models are ordered as in the paper.
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
        title = " ".join(self.results.title.split())
        return f"{title} (quick run)" if self.results.quick else title

    @property
    def paper(self) -> Mapping[str, Any] | None:
        """The paper's column to show beside, if the study names one."""
        name = self.results.paper
        if name and name not in PAPER_COLUMNS:
            raise ParameterError(
                f"The study {self.results.study!r} names the paper's column {name!r}, which does "
                f"not exist. Known: {', '.join(PAPER_COLUMNS)}."
            )
        return PAPER_COLUMNS.get(name or "")

    @cached_property
    def models(self) -> tuple[ModelResult, ...]:
        """The models, baselines first, each group in the order of the paper."""

        def place(model: ModelResult) -> tuple[bool, int]:
            row = self._paper_row(model)
            return model.interactive, _PAPER_ROWS.index(row) if row else len(_PAPER_ROWS)

        return tuple(sorted(self.results.models, key=place))

    def model(self, name: str) -> ModelResult | None:
        """Return the model of a name, if the study has it."""
        return next((model for model in self.models if model.name == name), None)

    def paper_value(self, model: ModelResult, metric: str, n_tags: int = 0) -> str:
        """Return the paper's figure in brackets; only the first model of a kind has one."""
        row = self._paper_row(model)
        first = next(m for m in self.results.models if self._paper_row(m) == row)
        if self.paper is None or row is None or first.name != model.name:
            return ""
        figures = self.paper["pressed"].get(str(n_tags), {}).get(row)
        return f"*({format_value(figures[METRICS.index(metric)])})*" if figures else ""

    def _paper_row(self, model: ModelResult) -> str | None:
        """Return the paper's name of this kind of model, if it is in its tables."""
        if model.parts:
            named = {m.name: m.kind for m in self.results.models}
            kinds = [named.get(part) for part in model.parts]
            return _PAPER_ROWS[-1] if kinds == ["Teaser", "EASE"] else None
        same = (row for row in _PAPER_ROWS if row.replace("-", "").lower() == model.kind.lower())
        return next(same, None)


def read_studies(sources: Sequence[ResultsLike]) -> list[ReportedStudy]:
    """Read the results of several studies.

    Parameters
    ----------
    sources
        JSON files of studies and of dials in any order, folders of them, or results. The dial
        that lies beside a study's file is read with it.
    """
    files = [file for source in sources for file in _files(source)]
    found = [read_results(each) if isinstance(each, Path) else each for each in files]
    studies = {each.key: each for each in found if isinstance(each, StudyResults)}
    dials = {each.key: each for each in found if isinstance(each, DialResults)}
    if not studies or dials.keys() - studies.keys():
        raise ParameterError(
            f"A report needs the results of studies, not of dials alone; found {len(studies)} of "
            f"studies and {', '.join(dials) or 'none'} of dials. Give the NAME.json of each too."
        )
    return [ReportedStudy(study, dials.get(key)) for key, study in studies.items()]


def _files(source: ResultsLike) -> list[Path | StudyResults | DialResults]:
    """Return the files of a folder, or one file and that of its dial if there is one."""
    if not isinstance(source, str | Path):
        return [source]
    path = Path(source)
    if not path.is_dir():
        beside = path.with_suffix(DIAL_SUFFIX)
        return [path, beside] if beside.exists() else [path]
    # The results for new items have tables of their own, which `evaluate` prints.
    found = sorted(p for p in path.glob("*.json") if not p.name.endswith(NEW_ITEMS_SUFFIX))
    if not found:
        raise DataError(f"There are no results of a study (*.json) in {path}.")
    return [*found]


def one_step(studies: Sequence[ReportedStudy]) -> list[Scenario]:
    """Return the simulated feedback of studies with one step of each scale, the default first."""
    first: dict[tuple[int, int, str, str], Scenario] = {}
    for s in (s for study in studies for s in study.results.scenarios):
        first.setdefault((s.n_tags, s.strength, s.scale, s.among), s)
    return sorted(first.values(), key=lambda each: each.order)


@dataclass(frozen=True, eq=False)
class Table:
    """A table with its caption and notes.

    Attributes
    ----------
    first
        The heading of the first column, which names the rows.
    blocks
        The titles of studies, each with its columns; an empty title for columns of no study in
        particular.
    rows
        Texts with Markdown: `**best**`, `*(of the paper)*`. A row of one text is a heading.
    """

    name: str
    caption: str
    first: str
    blocks: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def build(
        cls,
        name: str,
        studies: Sequence["ReportedStudy | None"],
        columns: Sequence[str],
        rows: Sequence[Row],
        notes: Sequence[str] = (),
        *,
        first: str = "models",
        **values: str,
    ) -> "Table":
        """Return a table with these columns for each study, and rows of texts.

        The columns are of no study in particular where it is None.

        Parameters
        ----------
        values
            What its caption names in braces.
        """
        blocks = tuple((study.title if study else "", tuple(columns)) for study in studies)
        return cls(name, CAPTIONS[name].format(**values), first, blocks, tuple(rows), tuple(notes))

    @property
    def width(self) -> int:
        """The number of columns."""
        return 1 + sum(len(columns) for _, columns in self.blocks)

    def to_markdown(self) -> str:
        """Return the table with its caption and notes as Markdown."""
        heads = [f"**{self.first}**"]
        for study, columns in self.blocks:
            title = f"**{literal(study)}**<br>" if study else ""
            heads += [title + literal(columns[0]), *map(literal, columns[1:])]
        rule = _line(["---", *["---:"] * (self.width - 1)])
        lines = [literal(self.caption), "", _line(heads), rule]
        for head, *cells in self.rows:
            name = literal(head) if cells else f"**{literal(head)}:**"
            lines.append(_line([name, *(cells or [""] * (self.width - 1))]))
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
    return [table for table in made if table is not None and table.width > 1]


def accuracy_table(studies: Sequence[ReportedStudy]) -> Table:
    """Return the paper's first table: accuracy without feedback, and the data below."""

    def cells(study: ReportedStudy, model: ModelResult) -> Row:
        reference = study.results.first(REFERENCE)
        row = []
        for metric in METRICS:
            gap = study.results.gap(reference.name, model.name, metric) if reference else None
            paper = study.paper_value(model, metric)
            row.append(_joined(value_text(model.value(metric)), mark(gap), paper))
        return row

    rows: list[Row] = []
    for title, interactive in (("static baselines", False), ("interactive models", True)):
        names = _names(studies, interactive=interactive)
        rows += [[title], *_side_by_side(studies, names, cells)] if names else []
    notes = _paper_notes(studies, reasons=True)
    if any(s.results.first(REFERENCE) and len(s.models) > 1 for s in studies):
        notes.insert(0, CAPTIONS["against_reference"])
    return Table.build(
        "accuracy",
        studies,
        [METRIC_TITLES[m] for m in METRICS],
        [*_bold_columns(rows), *_data_rows(studies)],
        notes,
        splits=" ".join(splits_in_words(studies)),
    )


def advantage_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return how much better the recommended model is than every other; None without one."""
    studies = [study for study in studies if study.results.recommended]
    title = METRIC_TITLES[TARGET]

    def cells(study: ReportedStudy, model: ModelResult) -> Row | None:
        best, reached = study.results.recommended, model.value(TARGET)
        if best is None or best == model or reached is None:
            return None
        gap = study.results.gap(model.name, best.name, TARGET)
        if gap is None or reached.mean <= 0:
            return [value_text(reached), NONE]
        return [value_text(reached), change_text(gap.times(100 / reached.mean))]

    names = [name for each in (False, True) for name in _names(studies, interactive=each)]
    rows = _side_by_side(studies, names, cells)
    columns, notes = (title, "recommended, %"), [CAPTIONS["against_others"]]
    return Table.build("advantage", studies, columns, rows, notes, title=title) if rows else None


def parts_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return the share of each part of the scores; None where no study has measured them."""
    studies = [study for study in studies if any(model.shares for model in study.models)]

    def cells(study: ReportedStudy, model: ModelResult) -> Row | None:
        shares = (*(model.shares.get(part, 0.0) for part in PARTS), model.tag_share or 0.0)
        return [f"{100 * share:.0f}" for share in shares] if model.shares else None

    rows = _side_by_side(studies, _names(studies, interactive=True), cells)
    products = dict.fromkeys(m.name for s in studies for m in s.models if m.parts)
    columns = (*PARTS, "from tags")
    notes = [f"{name}: of the part with tags." for name in products]
    return Table.build("parts", studies, columns, rows, notes) if rows else None


def truth_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return whether what is said of test users is true; None where no study has measured it."""
    columns = (
        *("said", "known", "naive", "guessed", "away", "naive away", "agree, %"),
        *("with reason, %", "against, %", "+1, %", "+3, %", "+5"),
    )
    groups = [
        [[m.name, *_truth_cells(m.truth)] for m in study.models if m.truth] for study in studies
    ]
    return _one_below_another("truth", columns, studies, groups)


def _truth_cells(told: Truth) -> Row:
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
    parts = ("general", "declared", "discovered", "viewed")

    def row(name: str, setting: DialSetting) -> Row:
        shares = (setting.tag_share, *map(setting.shares.get, parts), setting.personal_share)
        given = ", ".join(f"{key} = {value:g}" for key, value in setting.parameters.items())
        reached = value_text(Summary(setting.value, setting.error, 0))
        return [name, reached, *(format_percent(share) or NONE for share in shares), given]

    dials = [study.dial for study in studies]
    titles = dict.fromkeys(METRIC_TITLES.get(d.metric, d.metric) for d in dials if d)
    columns = (" / ".join(titles), "from tags", *parts, "of personal", "parameters")
    groups = [[row(*each) for each in _notable_settings(d).items()] if d else [] for d in dials]
    return _one_below_another("dial", columns, studies, groups, first="settings")


def _notable_settings(dial: DialResults) -> dict[str, DialSetting]:
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
    pressed = {s.model for study in studies for s in study.results.simulations}
    rivals = [name for name in _names(studies, interactive=False) if name in pressed]
    names = list(dict.fromkeys([*rivals, *_names(studies, interactive=True)]))
    rows: list[Row] = []
    for scenario in (None, *one_step(studies)):
        block = _side_by_side(studies, names, partial(_feedback_cells, scenario))
        head = "no simulation" if scenario is None else _heading(scenario)
        # Changes are not set in bold, as in the paper.
        rows += [[head], *_bold_columns(block, every=len(columns))]
    notes = [f"{name}: a press adds a bonus to the items of its tag." for name in rivals]
    notes += [*_feedback_notes(studies), *_paper_notes(studies, reasons=False)]
    return Table.build("feedback", studies, columns, rows, notes)


def _feedback_cells(
    scenario: Scenario | None, study: ReportedStudy, model: ModelResult
) -> Row | None:
    """Return a model's accuracy without feedback, or after it, and the change."""
    if scenario is None:
        if all(each.model != model.name for each in study.results.simulations):
            return None
        values = [_joined(value_text(model.value(m)), study.paper_value(model, m)) for m in METRICS]
        return [*values, ""]
    found = study.results.simulation(model.name, scenario)
    if found is None:
        return None
    # The paper's tags are all declared.
    in_paper = (scenario.strength, scenario.scale) == (PAPER_STRENGTH, PAPER_SCALE)
    in_paper = in_paper and scenario.among != "discovered"
    papers = [study.paper_value(model, m, scenario.n_tags) if in_paper else "" for m in METRICS]
    reached = [value_text(find_value(found.metrics, m)) for m in METRICS]
    values = [_joined(*pair) for pair in zip(reached, papers, strict=True)]
    change = found.improvement()
    return [*values, NONE if change is None else change_text(change)]


def beyond_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return properties of the lists, and the metrics with the plain denominators."""
    measured = {name for s in studies for m in s.models for name in m.metrics if m.value(name)}
    metrics = [m for m in METRIC_TITLES if m in measured and m not in METRICS]
    groups = [
        [[m.name, *(value_text(m.value(name)) for name in metrics)] for m in study.models]
        for study in studies
    ]
    return _one_below_another("beyond", [METRIC_TITLES[m] for m in metrics], studies, groups)


def cost_table(study: ReportedStudy) -> Table:
    """Return the parameters that were chosen, and what fitting and scoring took."""
    users = max(1, study.results.split.test_users)
    rows = []
    for model in study.models:
        given = ", ".join(f"{k} = {format_parameter(v)}" for k, v in model.parameters.items())
        given = "those of its parts" if model.parts else literal(given) or "the defaults"
        iterations = NONE if model.fit.iterations is None else f"{model.fit.iterations}"
        cost = (format_seconds(model.fit.seconds), say_bytes(model.fit.peak_memory), iterations)
        scoring = f"{1000 * model.scoring_seconds / users:.2f}"
        rows.append([model.name, given, f"{len(model.trials) or NONE}", *cost, scoring])
    heads = ("parameters chosen", "cells tried", "fit", "memory", "iterations", "ms per user")
    return Table.build("cost", [study], heads, rows)


def _names(studies: Sequence[ReportedStudy], *, interactive: bool) -> list[str]:
    """Return the names of all models of a group, those of the study with most models first."""
    return list(
        dict.fromkeys(
            model.name
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


def _side_by_side(
    studies: Sequence[ReportedStudy],
    names: Sequence[str],
    cells: Callable[[ReportedStudy, ModelResult], Row | None],
) -> list[Row]:
    """Return a row for each model that some study has cells for, with those of every study."""
    rows: list[Row] = []
    for name in names:
        models = [(study, study.model(name)) for study in studies]
        found = [cells(study, model) if model else None for study, model in models]
        width = max((len(each) for each in found if each), default=0)
        if width:
            rows.append([name, *(cell for each in found for cell in each or [NONE] * width)])
    return rows


def _one_below_another(
    name: str,
    columns: Sequence[str],
    studies: Sequence[ReportedStudy],
    groups: Sequence[list[Row]],
    *,
    first: str = "models",
) -> Table | None:
    """Return a table with the rows of each study below its title; None without any row."""
    pairs = zip(studies, groups, strict=True)
    rows = [row for study, group in pairs if group for row in ([study.title], *group)]
    return Table.build(name, [None], columns, rows, first=first) if rows else None


def _bold_columns(rows: list[Row], *, every: int = 0) -> list[Row]:
    """Set the highest figure of each column in bold, but of every so many columns the last."""
    figures = [row for row in rows if len(row) > 1]
    for i in range(1, len(figures[0]) if len(figures) > 1 else 1):
        top = max(_figure(row[i]) for row in figures)
        for row in figures if not every or i % every else ():
            if _figure(row[i]) == top > -math.inf:
                row[i] = re.sub(r"^\S+", r"**\g<0>**", row[i])
    return rows


def _figure(cell: str) -> float:
    """Return the number that a cell begins with; -inf where it is not a number."""
    try:
        return float(cell.partition(" ")[0].replace(MINUS, "-"))
    except ValueError:
        return -math.inf


def _data_rows(studies: Sequence[ReportedStudy]) -> list[Row]:
    """Return the properties of the data sets, in the first column of each study."""
    found = [(study.results.data, study.results.split.test_users) for study in studies]
    texts = {
        "# users": [f"{data.users:,}" for data, _ in found],
        "# items": [f"{data.items:,}" for data, _ in found],
        "interaction density": [f"{100 * data.interaction_density:.3f} %" for data, _ in found],
        "# tags": [f"{data.tags:,}" for data, _ in found],
        "tag density": [f"{100 * data.tag_density:.3f} %" for data, _ in found],
        "features": [literal(", ".join(data.features)) for data, _ in found],
        "# test users": [f"{test_users:,}" for _, test_users in found],
    }
    empty = [""] * (len(METRICS) - 1)
    rows = [[head, *(c for v in values for c in (v, *empty))] for head, values in texts.items()]
    return [["data"], *rows]


def _heading(scenario: Scenario) -> str:
    scales = {PAPER_SCALE: ", on the paper's scale", DEFAULT_STEERING.scale: ""}
    scale = scales.get(scenario.scale, f", scale {scenario.scale}")
    step = "" if scenario.has_default_step else f", step {scenario.step_text}"
    return format_presses(scenario.n_tags, scenario.strength, scenario.among) + scale + step


def _feedback_notes(studies: Sequence[ReportedStudy]) -> list[str]:
    notes = [CAPTIONS["gains"]]
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
                f"{study.title}: in brackets the paper's figures for {paper['title']} "
                f"({paper['users']:,} users, {paper['items']:,} items, {paper['tags']:,} tags)."
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

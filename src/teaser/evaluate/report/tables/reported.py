"""A study as a report shows it: models named and ordered as in the paper, its figures beside."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from teaser.errors import DataError, ParameterError, closest
from teaser.evaluate.report.tables.number import format_value
from teaser.evaluate.report.tables.paper import COLUMNS, INTERACTIVE, STATIC, Column
from teaser.evaluate.study.groups import GROUPS_SUFFIX, ShownGroup, read_groups
from teaser.evaluate.study.results import (
    DIAL_SUFFIX,
    DialResults,
    ModelResult,
    Scenario,
    StudyResults,
    read_results,
)

Source = str | Path | StudyResults | DialResults

_ORDER = (*STATIC, *INTERACTIVE)


@dataclass(frozen=True, eq=False)
class ReportedStudy:
    """The results of a study, those of its dial if there are any, and some discovered groups."""

    results: StudyResults = field(repr=False)
    dial: DialResults | None = field(default=None, repr=False)
    groups: tuple[ShownGroup, ...] = field(default=(), repr=False)

    @property
    def key(self) -> str:
        """A name for files and anchors."""
        return self.results.key

    @property
    def title(self) -> str:
        """The title of the study; that of a quick run says so."""
        return self.results.heading

    @property
    def paper(self) -> Column | None:
        """The paper's column to show beside, if the study names one."""
        name = self.results.paper
        if not name:
            return None
        if name not in COLUMNS:
            raise ParameterError(
                f"The study {self.results.study!r} names the paper's column {name!r}, which does "
                f"not exist. Known: {', '.join(COLUMNS)}.{closest(name, COLUMNS)}"
            )
        return COLUMNS[name]

    @cached_property
    def models(self) -> tuple[ModelResult, ...]:
        """The models, baselines first, each group in the order of the paper."""

        def place(model: ModelResult) -> tuple[bool, int]:
            row = _paper_row(model, self.results.models)
            return model.interactive, _ORDER.index(row) if row else len(_ORDER)

        return tuple(sorted(self.results.models, key=place))

    @cached_property
    def labels(self) -> dict[str, str]:
        """The label of each model in tables, by its name in the study."""
        labels: dict[str, str] = {}
        for model in self.results.models:
            labels[model.name] = _label(model, labels)
        return labels

    def labelled(self, label: str) -> ModelResult | None:
        """Return the model of a label, if the study has it."""
        return next((m for m in self.models if self.labels[m.name] == label), None)

    def paper_name(self, model: ModelResult) -> str | None:
        """Return the row of the paper for a model; only the first model of a kind has one."""
        row = _paper_row(model, self.results.models)
        first = next(m for m in self.results.models if _paper_row(m, self.results.models) == row)
        return row if first.name == model.name else None

    def paper_value(self, model: ModelResult, metric: str, n_tags: int = 0) -> str:
        """Return the paper's figure of the same model, printed; empty where it has none."""
        row = self.paper_name(model)
        figure = self.paper.figure(row, metric, n_tags) if self.paper and row else None
        return "" if figure is None else format_value(figure)


def read_studies(sources: Sequence[Source]) -> list[ReportedStudy]:
    """Read the results of several studies.

    Parameters
    ----------
    sources
        JSON files of studies and of dials in any order, folders of them, or results. The dial
        and the groups that lie beside a study's file are read with it.
    """
    studies: list[StudyResults] = []
    dials: dict[str, DialResults] = {}
    groups: dict[str, tuple[ShownGroup, ...]] = {}
    for source in _files(sources):
        found = read_results(source) if isinstance(source, str | Path) else source
        if isinstance(found, DialResults):
            dials[found.key] = found
            continue
        studies.append(found)
        if isinstance(source, str | Path):
            groups[found.key] = read_groups(Path(source).with_suffix(GROUPS_SUFFIX))
            if (beside := _dial_beside(Path(source))) is not None:
                dials.setdefault(found.key, beside)
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
    return [ReportedStudy(s, dials.get(s.key), groups.get(s.key, ())) for s in studies]


def one_step(studies: Sequence[ReportedStudy]) -> list[Scenario]:
    """Return the simulated feedback of studies with one step of each scale, the default first."""
    first: dict[tuple[int, int, str, str], Scenario] = {}
    for s in (s for study in studies for s in study.results.scenarios):
        first.setdefault((s.n_tags, s.strength, s.scale, s.among), s)
    return list(first.values())


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


def paper_notes(studies: Sequence[ReportedStudy], *, reasons: bool) -> list[str]:
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


def _files(sources: Sequence[Source]) -> list[Source]:
    """Return the sources with every folder replaced by the results of studies in it."""
    files: list[Source] = []
    for source in sources:
        if not isinstance(source, str | Path) or not Path(source).is_dir():
            files.append(source)
            continue
        found = [p for p in sorted(Path(source).glob("*.json")) if not _is_dial(p)]
        if not found:
            raise DataError(f"There are no results of a study (*.json) in {source}.")
        files += found
    return files


def _is_dial(path: Path) -> bool:
    return path.name.endswith(DIAL_SUFFIX)


def _dial_beside(path: Path) -> DialResults | None:
    """Return what `teaser tune` wrote beside the results of a study, if it did."""
    beside = path.with_suffix(DIAL_SUFFIX)
    found = read_results(beside) if beside.exists() else None
    return found if isinstance(found, DialResults) else None


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _paper_row(model: ModelResult, models: Sequence[ModelResult]) -> str | None:
    """Return the paper's name of this kind of model, if it is in its tables."""
    if model.parts:
        kinds = [m.kind for part in model.parts for m in models if m.name == part]
        return INTERACTIVE[2] if kinds == ["Teaser", "EASE"] else None
    return next((row for row in _ORDER if _letters(row) == _letters(model.kind)), None)


def _label(model: ModelResult, known: Mapping[str, str]) -> str:
    """Return the paper's spelling of a name such as `teaser` or `product`; else the name."""
    if model.parts and _letters(model.name) in ("product", _letters("".join(model.parts))):
        return " × ".join(known.get(part, part) for part in model.parts)
    return next((row for row in _ORDER if _letters(row) == _letters(model.name)), model.name)

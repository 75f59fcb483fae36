"""The table of the dial: the settings of each study that matter most."""

from collections.abc import Sequence

from teaser.evaluate.metrics import METRIC_TITLES, Summary
from teaser.evaluate.report.tables.number import format_percent
from teaser.evaluate.report.tables.reported import ReportedStudy
from teaser.evaluate.report.tables.table import NONE, Block, Cell, Row, Table, value_cell
from teaser.evaluate.study.results import DialResults, DialSetting

_PARTS = ("general", "declared", "discovered", "viewed")
_BEST = {
    "EASE": "EASE",
    "NeighbourEASE": "EASE on neighbours",
    "TEASER": "tags alone, most accurate",
    "remainder": "tags, then neighbours, most accurate",
}


def dial_table(studies: Sequence[ReportedStudy]) -> Table | None:
    """Return the best setting of each kind, and those with most from tags; None without a dial."""
    rows: list[Row] = []
    titles = []
    for study in studies:
        if study.dial is None:
            continue
        titles.append(METRIC_TITLES.get(study.dial.metric, study.dial.metric))
        rows.append(Row(study.title, is_group=True))
        rows += [_row(name, setting) for name, setting in notable(study.dial).items()]
    if not rows:
        return None
    columns = (" / ".join(dict.fromkeys(titles)), "from tags", *_PARTS, "of personal", "parameters")
    return Table(
        name="dial",
        caption="The dial between tags and viewed items, on validation users: accuracy, and where "
        "the scores of the first recommendations come from. From tags: declared and discovered, "
        "without general appeal. Of personal: tags / (tags + viewed items).",
        first="settings",
        blocks=(Block("", columns),),
        rows=tuple(rows),
    )


def notable(dial: DialResults) -> dict[str, DialSetting]:
    """Return the best setting of each kind and those with most from tags, by what they are."""
    found: dict[str, DialSetting] = {}
    for kind, name in _BEST.items():
        some = [setting for setting in dial.settings if setting.kind == kind]
        if some:
            found[name] = max(some, key=lambda setting: setting.value)
    found[f"most from tags {dial.near}"] = dial.recommended
    if dial.at_ease is not None:
        found["most from tags at EASE's accuracy or better"] = dial.at_ease
    return found


def _row(name: str, setting: DialSetting) -> Row:
    shares = [setting.shares.get(part) for part in _PARTS]
    given = ", ".join(f"{key} = {value:g}" for key, value in setting.parameters.items())
    told = (setting.tag_share, *shares, setting.personal_share)
    cells = [Cell(format_percent(share) or NONE) for share in told]
    reached = value_cell(Summary(setting.value, setting.error, 0))
    return Row(name, (reached, *cells, Cell(given)))

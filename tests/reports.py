"""Results of studies as tests of reports change them: plain JSON, read as a report reads it."""

import json
from collections.abc import Mapping
from typing import Any

from teaser.evaluate.report.tables import ReportedStudy
from teaser.evaluate.study.data import DataSummary
from teaser.evaluate.study.results import DialResults, DialSetting, StudyResults, parse_results

Content = dict[str, Any]


def reported(content: Mapping[str, Any]) -> ReportedStudy:
    """Return a study of the JSON of its results."""
    found = parse_results(json.dumps(dict(content)))
    assert isinstance(found, StudyResults)
    return ReportedStudy(found)


def a_setting(kind: str, value: float, share: float) -> DialSetting:
    """Return a setting of a dial with made-up parameters."""
    parameters = {"l2_weights": 5.0, "remainder.l2": 1e4}
    return DialSetting(kind, parameters, value, error=0.01, tag_share=share, seconds=1.0)


SETTINGS = (
    a_setting("EASE", 0.42, 0.0),
    a_setting("EASE", 0.41, 0.0),
    a_setting("remainder", 0.423, 0.6),
    a_setting("remainder", 0.40, 0.5),
    a_setting("remainder", 0.413, 0.79),
    a_setting("TEASER", 0.342, 1.0),
)


def a_dial() -> DialResults:
    """Return the results of a dial with made-up settings."""
    return DialResults(
        study="some",
        title="Some <study>",
        quick=False,
        data=DataSummary(10, 20, 5, 40, 0.2, 0.1, {"type": 5}),
        versions={"teaser": "0"},
        commit="",
        metric="ndcg@100",
        users=1500,
        shown=20,
        within=0.01,
        settings=SETTINGS,
        recommended=SETTINGS[2],
    )

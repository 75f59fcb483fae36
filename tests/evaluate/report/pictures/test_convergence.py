"""The picture of convergence."""

import re

from reports import Content, reported

from teaser.evaluate.report.pictures.convergence import draw_convergence
from teaser.evaluate.report.pictures.drawing import Picture


def test_lines_have_a_point_for_each_iteration_and_fall(
    content: Content, pictures: dict[str, Picture]
) -> None:
    svg = pictures["convergence"].svg
    paths = re.findall(r'<path d="([^"]*)" clip-path[^>]*stroke: var\(--series-0\)', svg)
    run = next(run for run in content["convergence"] if run["solver"] == "cg")
    points = [re.findall(r"[ML] ([\d.]+) ([\d.]+)", path) for path in paths]
    assert [len(each) for each in points] == [len(run["residuals"])] * 2
    assert run["residuals"][-1] < run["residuals"][0]
    for each in points:
        assert float(each[-1][1]) > float(each[0][1])  # y grows downwards


def test_the_text_alternative_holds_the_iterations(
    content: Content, pictures: dict[str, Picture]
) -> None:
    for run in content["convergence"]:
        assert f"after {len(run['residuals'])} iterations" in pictures["convergence"].alt


def test_without_residuals_there_is_no_picture(content: Content) -> None:
    assert draw_convergence(reported({**content, "convergence": []})) is None

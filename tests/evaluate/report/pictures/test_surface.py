"""The picture of the search shows every cell, and frames the best."""

import re

from reports import Content, reported, texts_of

from teaser.evaluate.report.pictures.drawing import Picture, style
from teaser.evaluate.report.pictures.surface import draw_surface


def teaser_of(content: Content) -> Content:
    return next(m for m in content["models"] if m["kind"] == "Teaser")


def surface(content: Content) -> Picture | None:
    with style("test"):
        return draw_surface(reported(content))


def texts(picture: Picture | None) -> list[str]:
    assert picture is not None
    return texts_of(picture)


def test_every_cell_is_shown(content: Content) -> None:
    trials = teaser_of(content)["trials"]
    found = texts(surface(content))
    assert len(trials) == 6
    assert sorted(t for t in found if "." in t) == sorted(f"{t['value']:.4f}" for t in trials)
    assert {"l2_weights", "l2_encoder", "50", "200", "100", "500", "2000"} <= set(found)


def test_the_frame_is_around_the_best(content: Content) -> None:
    best = max(teaser_of(content)["trials"], key=lambda t: t["value"])
    best["value"] += 0.01
    picture = surface(content)
    assert picture is not None
    frames = re.findall(r'<path d="M ([\d.]+) ([\d.]+)[^"]*"[^>]*stroke: var\(--ink\)', picture.svg)
    assert len(frames) == 1
    shown = re.search(
        rf'<text style="[^"]*" x="([\d.]+)" y="([\d.]+)"[^>]*>{best["value"]:.4f}<', picture.svg
    )
    assert shown is not None
    left, bottom = map(float, frames[0])
    x, y = float(shown[1]), float(shown[2])
    assert left < x < left + 130
    assert bottom - 60 < y < bottom
    chosen = ", ".join(f"{k} = {v:g}" for k, v in best["parameters"].items())
    assert picture.alt.endswith(f"the best is {chosen}.")


def test_of_three_parameters_the_third_is_at_its_best(content: Content) -> None:
    trials = teaser_of(content)["trials"]
    better = [
        {
            **t,
            "parameters": {**t["parameters"], "content_weight": 1.0},
            "value": t["value"] + 0.1,
        }
        for t in trials
    ]
    for t in trials:
        t["parameters"]["content_weight"] = 0.0
    teaser_of(content)["trials"] = [*better, *trials]
    picture = surface(content)
    found = [t for t in texts(picture) if "." in t]
    assert sorted(found) == sorted(f"{t['value']:.4f}" for t in better)
    assert picture is not None
    assert "Of content_weight the best value is shown." in picture.caption


def test_one_parameter_is_a_line(content: Content) -> None:
    model = teaser_of(content)
    model["trials"] = [t for t in model["trials"] if t["parameters"]["l2_weights"] == 50]
    found = texts(surface(content))
    assert "l2_encoder" in found
    assert "validation nDCG@100" in found
    assert "l2_weights" not in found


def test_a_sampled_grid_has_gaps(content: Content) -> None:
    model = teaser_of(content)
    model["trials"] = model["trials"][1:]
    assert len([t for t in texts(surface(content)) if "." in t]) == 5


def test_without_a_grid_search_there_is_no_picture(content: Content) -> None:
    for kept in (1, 0):
        teaser_of(content)["trials"] = teaser_of(content)["trials"][:kept]
        assert surface(content) is None


def test_cells_that_failed_are_left_out(content: Content) -> None:
    teaser_of(content)["trials"][0]["value"] = None
    assert len([t for t in texts(surface(content)) if "." in t]) == 5

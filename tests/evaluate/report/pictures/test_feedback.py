"""The picture of simulated feedback."""

from reports import Content, reported, texts_of

from teaser.evaluate.report.pictures.drawing import Picture, style
from teaser.evaluate.report.pictures.feedback import draw_gain


def test_every_model_and_scenario_has_a_row(pictures: dict[str, Picture]) -> None:
    found = texts_of(pictures["gain"])
    for text in ("one tag +3", "two tags +3", "one tag −3", "two tags −3"):
        assert found.count(text) == 1
    assert found.count("TEASER") == found.count("WMF-S") == 4
    assert "EASE" not in found


def test_the_text_alternative_holds_every_gain(
    content: Content, pictures: dict[str, Picture]
) -> None:
    for each in content["simulations"]:
        assert f"{abs(each['gain']['ndcg@100']['mean']):.3f}" in pictures["gain"].alt


def test_without_simulations_there_is_no_picture(content: Content) -> None:
    assert draw_gain(reported({**content, "simulations": []})) is None


def test_kinds_of_tags_are_apart_and_only_models_that_were_pressed(content: Content) -> None:
    for each in content["simulations"]:
        each["among"] = "declared"
    found = [
        {**s, "among": "discovered"}
        for s in content["simulations"]
        if s["model"] == "teaser" and s["n_tags"] == 1 and s["scale"] == "robust"
    ]
    study = reported({**content, "simulations": [*content["simulations"], *found]})
    with style("test"):
        drawn = draw_gain(study)
    assert drawn is not None
    words = texts_of(drawn)
    assert words.count("one declared tag +3") == words.count("one discovered tag +3") == 1
    assert "two discovered tags +3" not in words
    assert (words.count("TEASER"), words.count("WMF-S")) == (6, 4)

"""The picture of simulated feedback."""

from reports import Content, reported, texts_of

from teaser.evaluate.report.pictures.drawing import Picture
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

"""The pictures of models: their figures are those of the results."""

from reports import Content, reported, texts_of

from teaser.evaluate.report.pictures.accuracy import draw_by_tags, draw_tail
from teaser.evaluate.report.pictures.drawing import Picture, style


def test_the_text_alternatives_hold_the_figures(
    content: Content, pictures: dict[str, Picture]
) -> None:
    for model in content["models"]:
        assert f"{model['metrics']['ndcg@100']['mean']:.3f}" in pictures["accuracy"].alt
        assert f"{100 * model['popularity_curve'][4]:.0f} %" in pictures["tail"].alt
    for each in content["by_tags"]:
        text = f"{each['metrics']['ndcg@100']['mean']:.3f} with {each['n_tags']:,} tags"
        assert text in pictures["tags"].alt


def test_a_curve_that_is_missing_is_left_out(content: Content) -> None:
    for model in content["models"]:
        if model["kind"] != "EASE":
            del model["popularity_curve"]
    with style("test"):
        picture = draw_tail(reported(content))
    assert picture is not None
    assert "EASE" in texts_of(picture)
    assert "TEASER" not in texts_of(picture)
    del next(m for m in content["models"] if m["kind"] == "EASE")["popularity_curve"]
    assert draw_tail(reported(content)) is None


def test_without_cuts_of_tags_there_is_no_picture_of_them(content: Content) -> None:
    assert draw_by_tags(reported({**content, "by_tags": []})) is None

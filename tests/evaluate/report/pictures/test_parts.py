"""The picture of the parts of scores."""

from reports import Content, reported, texts_of

from teaser.evaluate.report.pictures.drawing import style
from teaser.evaluate.report.pictures.parts import draw_parts

SHARES = {"general": 0.25, "declared": 0.4, "discovered": 0.3, "popularity": 0.0, "viewed": 0.05}


def test_every_model_with_tags_has_a_bar(content: Content) -> None:
    for model in content["models"]:
        if model["name"] in ("teaser", "wmf-s"):
            model["shares"] = SHARES
    with style("test"):
        found = draw_parts(reported(content))
    assert found is not None
    words = texts_of(found)
    for text in ("TEASER", "WMF-S", "declared tags", "discovered tags", "general appeal"):
        assert text in words
    # Neither a model without shares, nor a part that nobody has.
    assert "EASE" not in words
    assert "popularity" not in words
    told = "declared tags 40 %, discovered tags 30 %, viewed items 5 %, general appeal 25 %."
    assert found.alt == f"TEASER: {told} WMF-S: {told}"


def test_without_shares_there_is_no_picture(content: Content) -> None:
    assert draw_parts(reported(content)) is None

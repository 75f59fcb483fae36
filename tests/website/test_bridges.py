"""The classes of the bridges, described from their source."""

from website import python_reference


def test_bridges_are_described_without_their_frameworks() -> None:
    names = {page.name: names for page, names in python_reference.names_by_page().items()}
    wanted = {"teaser.bridges.lenskit.TeaserScorer", "teaser.bridges.rectools.TeaserModel"}
    assert wanted <= set(names["bridges"])
    page = python_reference.reference_pages()["bridges.md"]
    assert ".. py:class:: teaser.bridges.lenskit.TeaserScorer(**options)\n\n   Score items" in page
    assert "\n   :ivar model_:" in page
    assert "   .. py:method:: train(data, options)\n\n      Fit a model" in page

"""What decides here: the page says what is promoted, and whether views teach the next model."""

from collections.abc import Callable

from app.conftest import TestClient

PATH = "/about-recommendations"


def test_it_says_what_is_promoted(serve: Callable[..., TestClient]) -> None:
    assert "promotes nothing" in serve().get(PATH).text
    page = serve(boost="i9:2; town=Ghent:0.5").get(PATH).text
    assert "Event 9 and Ghent" in page
    assert "promotes nothing" not in page


def test_it_says_whether_the_site_learns(serve: Callable[..., TestClient]) -> None:
    assert "does not learn from what you do here" in serve(learn=False).get(PATH).text
    assert "also learns from what you view here" in serve(learn=True).get(PATH).text

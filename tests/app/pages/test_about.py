"""What decides here: the figures of the model, in three languages; what is promoted; the switch."""

import re
from collections.abc import Callable

import pytest
from app.conftest import TestClient

from teaser import Teaser
from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.app.pages.about import share_rows

PATH = "/about-recommendations"


class TestFigures:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_are_those_of_the_model(self, client: TestClient, model: Teaser, language: str) -> None:
        found = model.transparency_
        assert found is not None
        page = client.get(PATH, headers={"accept-language": language}).text
        texts = texts_in(language)
        rows = re.findall(
            r'scope="row">([^<]+)<svg.*?<rect width="([\d.]+)".*?<td class="n">([^<]+)</td>', page
        )
        parts = share_rows(found, texts)
        assert [row[0] for row in rows] == [part.label for part in parts]
        for (_, width, shown), part in zip(rows, parts, strict=True):
            assert float(width) == pytest.approx(100 * part.share, abs=0.051)
            if part.share >= 0.005:
                assert shown == texts.percent(part.share)
        assert sum(part.share for part in parts) == pytest.approx(1, abs=1e-6)
        for number in (found.impacts.n_people, found.sources.n_interactions, found.impacts.k):
            assert texts.integer(number) in page
        assert texts.number(found.impacts.press_change, 1) in page
        assert found.version in page
        assert texts.date(found.date) in page


class TestPage:
    def test_says_what_is_promoted(self, serve: Callable[..., TestClient]) -> None:
        assert "This site promotes nothing." in serve().get(PATH).text
        page = serve(boost="i9:2; town=Ghent:0.5").get(PATH).text
        assert "for everybody alike: Event 9 and Ghent." in page
        assert "promotes nothing" not in page

    def test_says_whether_the_site_learns(self, serve: Callable[..., TestClient]) -> None:
        assert "does not teach this recommender" in serve(learn=False).get(PATH).text
        assert "helps to teach the next version" in serve(learn=True).get(PATH).text

"""What decides here: the figures of the model, in three languages; what is promoted; the switch."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from app.conftest import OWN, TestClient

from teaser import Teaser
from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.app.pages.about import share_rows
from teaser.model import load
from teaser.transparency import Transparency

PATH = "/about-recommendations"


class TestFigures:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_are_those_of_the_model(self, client: TestClient, model: Teaser, language: str) -> None:
        found = model.transparency_
        assert found is not None
        page = client.get(PATH, headers={"accept-language": language}).text
        texts = texts_in(language)
        rows = re.findall(
            r'scope="row">([^<]+)<svg.*?<rect width="([\d.]+)".*?<td class="n">([^<]+)</td>',
            page,
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

    def test_tell_the_sources_and_what_is_not_used(self, client: TestClient, model: Teaser) -> None:
        found = model.transparency_
        assert found is not None
        page = client.get(PATH).text
        english = texts_in("en")
        for source in found.sources.features:
            name, columns = english.feature(source.feature), [*map(english.feature, source.columns)]
            # A column of the feature's own name is not named again.
            told = "" if columns == [name] else f", from {', '.join(columns)}"
            assert f"<li>{name}: {source.n_tags} tags{told}</li>" in page
        unused = page.split('id="unused"')[1].split("</section>")[0]
        used = {column for source in found.sources.features for column in source.columns}
        shown = {role for role, column in found.sources.shown_columns.items() if column not in used}
        only_shown = unused.split("what is only shown: ")[1].split("</li>")[0]
        assert only_shown.rstrip(".") == english.join([r for r in shown_order(found) if r in shown])
        for column in found.sources.unused_columns:
            assert english.feature(column) in unused

    def test_say_that_dates_order_and_filter_lists(
        self, serve: Callable[..., TestClient], events_folder: Path
    ) -> None:
        unused = (
            serve(model=events_folder).get(PATH).text.split('id="unused"')[1].split("</section>")[0]
        )
        assert "the date: it orders the list without your profile" in unused
        assert "date" not in unused.split("what is only shown: ")[1].split("</li>")[0]

    def test_a_model_without_figures_says_so(
        self, serve: Callable[..., TestClient], model: Teaser, tmp_path: Path
    ) -> None:
        page = serve(model=model_without_figures(model, tmp_path)).get(PATH).text
        assert "was not measured when this model was made" in page
        assert "Change it here" in page


def shown_order(found: Transparency) -> list[str]:
    """Return what columns are displayed as, but for the date, which orders lists."""
    return [role for role in found.sources.shown_columns if role != "date"]


def model_without_figures(model: Teaser, folder: Path) -> Path:
    """Save a model as earlier versions did."""
    model.save(folder / "now")
    loaded = load(folder / "now")
    assert isinstance(loaded, Teaser)
    loaded.transparency_ = None
    loaded.save(folder / "before")
    return folder / "before"


class TestPage:
    def test_is_linked_from_every_page_and_beside_the_list(self, client: TestClient) -> None:
        for path in ("/", "/privacy"):
            assert f'href="{PATH}"' in client.get(path).text
        assert f'href="{PATH}"' in client.get("/options").text.split("<footer")[0]

    def test_has_the_switch_and_the_ways_to_change(self, client: TestClient) -> None:
        client.headers.update(OWN)
        page = client.get(PATH).text
        for path in ("/export", "/import", "/delete", "/feeds", "/say", "/api/v1/transparency"):
            assert f'href="{path}"' in page
        assert 'name="profiling" value="appeal"' in page
        page = client.post("/act", data={"profiling": "appeal", "back": PATH}).text
        assert "Without your profile" in page
        assert 'name="profiling" value="on"' in page
        page = client.post("/act", data={"profiling": "on", "back": PATH}).text
        assert 'name="profiling" value="appeal"' in page

    def test_says_what_is_promoted(self, serve: Callable[..., TestClient]) -> None:
        assert "This site promotes nothing." in serve().get(PATH).text
        page = serve(boost="i9:2; town=Ghent:0.5").get(PATH).text
        assert "for everybody alike: Event 9 and Ghent." in page
        assert "promotes nothing" not in page

    def test_says_whether_the_site_learns(self, serve: Callable[..., TestClient]) -> None:
        assert "does not teach this recommender" in serve(learn=False).get(PATH).text
        assert "helps to teach the next version" in serve(learn=True).get(PATH).text

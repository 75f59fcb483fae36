"""Catalogue: pictures, filters, the owner's words."""

import logging
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Tag, Teaser
from teaser.app.catalogue import Catalogue, days_of, filter_mask
from teaser.app.search import check_words, read_words
from teaser.app.settings import Settings
from teaser.app.state import ListFilter
from teaser.data import demo
from teaser.errors import ParameterError

TODAY = date(2026, 11, 16)


@pytest.fixture(scope="module")
def dated() -> Catalogue:
    dataset = demo.dataset(n_events=120, n_users=200, start=TODAY)
    return Catalogue(Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset))


def slow(dated: Catalogue, filters: ListFilter) -> list[bool]:
    """Return whether each item passes, from its card and its row of the table."""
    rows = dated.model.table_.to_dicts()
    found = []
    for place, item_id in enumerate(dated.model.items_):
        card, row = dated.card(item_id), rows[place]
        features = {Tag.parse(text).feature for text in filters.only}
        only = {f: [Tag.parse(t).value for t in filters.only] for f in features}
        passes = all(set(card.facts.get(f, ())) & set(values) for f, values in only.items())
        for text in filters.without:
            tag = Tag.parse(text)
            passes &= tag.value not in card.facts.get(tag.feature, ())
        for column, bound in filters.at_most.items():
            passes &= row[column] is not None and row[column] <= bound
        for column, bound in filters.at_least.items():
            passes &= row[column] is not None and row[column] >= bound
        first, last = days_of(dated, filters, TODAY)
        passes &= first is None or (card.date is not None and card.date >= first)
        passes &= last is None or (card.date is not None and card.date <= last)
        found.append(bool(passes))
    return found


PRICES = st.dictionaries(st.just("price"), st.integers(0, 40), max_size=1)
PERIODS = st.sampled_from(["", "weekend", "month", "2026-11-20..", "..2026-11-30"])


@given(st.data(), PRICES, PRICES, PERIODS)
def test_the_items_that_pass_are_those_that_a_slow_look_finds(
    dated: Catalogue,
    data: st.DataObject,
    at_most: dict[str, int],
    at_least: dict[str, int],
    when: str,
) -> None:
    names = [str(t) for f in ("type", "town", "labels") for t in dated.features[f][:3]]
    only, without = (
        tuple(data.draw(st.lists(st.sampled_from(names), max_size=3, unique=True)))
        for _ in range(2)
    )
    filters = ListFilter(only, without, at_most, at_least, when)
    found = filter_mask(dated, filters, TODAY)
    assert found.tolist() == slow(dated, filters)


@pytest.fixture
def plain(model: Teaser) -> Catalogue:
    return Catalogue(model)


def test_the_owners_words_and_what_they_name_in_vain(
    plain: Catalogue, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "words.toml"
    path.write_text('[Ghent]\nen = ["arteveldetown"]\n[Atlantis]\nen = ["sunk"]\n')
    settings = Settings(model=tmp_path, synonyms=str(path))
    with caplog.at_level(logging.WARNING):
        reading = read_words(plain, "in Arteveldetown", "en", settings)
    assert [str(wish) for wish in reading.wishes] == ["only town=Ghent"]
    assert "Atlantis" in caplog.text


@pytest.mark.parametrize("wrong", [{"interpreter": "nobody"}, {"synonyms": "no/such/file.toml"}])
def test_wrong_settings_are_refused_at_the_start(wrong: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        check_words(Settings(model=tmp_path, **wrong))
    check_words(Settings(model=tmp_path))

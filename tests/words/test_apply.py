"""The list that wishes lead to."""

from datetime import date

import pytest
from words.catalogues import TODAY, event_model, film_model

from teaser import Tag
from teaser.errors import ContradictionError, ParameterError, UnknownNameError
from teaser.steer.variation import start_presses
from teaser.words.wishes import Wish, recommend_for


def ids(*wishes: str, k: int = 20, model_of: str = "events") -> list[object]:
    model = event_model() if model_of == "events" else film_model()
    found = recommend_for(model, map(Wish.parse, wishes), k=k, today=TODAY)
    return [each.item_id for each in found]


def test_without_wishes_it_is_the_plain_list() -> None:
    plain = [each.item_id for each in event_model().recommend((), k=20)]
    assert ids() == plain


def test_presses_and_starts_are_presses() -> None:
    model = event_model()
    expected = model.recommend((), {"theme=Jazz": 3}, k=20)
    assert ids("press +3 theme=Jazz") == [each.item_id for each in expected]
    start = model.recommend((), start_presses(model, "e0004"), k=20)
    assert ids("like e0004") == [each.item_id for each in start]


def test_filters_let_pass_what_they_say() -> None:
    table = event_model().table_
    rows = {row["item_id"]: row for row in table.iter_rows(named=True)}
    found = ids(
        "only town=Ghent", "only town=Bruges", "without type=Concert", "never type=Workshop",
        "at_most price 20", "at_least price 5", "when 2026-11-16..2027-03-01",
    )  # fmt: skip
    assert found
    for item_id in found:
        row = rows[item_id]
        assert row["town"] in ("Ghent", "Bruges")
        assert row["type"] not in ("Concert", "Workshop")
        assert 5 <= row["price"] <= 20
        assert date(2026, 11, 16) <= row["date"] <= date(2027, 3, 1)


def test_all_that_pass_are_listed() -> None:
    table = event_model().table_
    expected = table.filter((table["town"] == "Ghent") & (table["price"] <= 5))["item_id"]
    assert set(ids("only town=Ghent", "at_most price 5", k=2_000)) == set(expected)


def test_variety_mixes_the_list() -> None:
    assert ids("variety 0") == ids()
    assert ids("variety 0.6") != ids()


@pytest.mark.parametrize(
    ("wishes", "error"),
    [
        (["press +1 theme=Jazz", "without theme=Jazz"], ContradictionError),
        (["only theme=Opera"], UnknownNameError),
        (["like e9999"], UnknownNameError),
        (["at_most runtime 20"], ParameterError),
    ],
)
def test_what_cannot_be_is_refused(wishes: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        ids(*wishes)


def test_items_without_dates_have_no_days() -> None:
    with pytest.raises(ParameterError, match="no dates"):
        ids("when today", model_of="films")


def test_presses_end_at_their_limit() -> None:
    many = [f"press +3 theme=Jazz for {lasts}" for lasts in ("today", "week", "always")]
    limit = event_model().recommend((), {Tag("theme", "Jazz"): 5}, k=20)
    assert ids(*many) == [each.item_id for each in limit]

"""Views of the site as rows: known items only, enough of them, and nobody named."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from conftest import RULES, small_tables

from teaser import Category, Dataset
from teaser.app.people.learning import View, Visits
from teaser.data.matrix import Ids
from teaser.errors import ParameterError
from teaser.evaluate.refit.site_interactions import gather, join, no_views

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def visits(*items: str | int, **presses: int) -> Visits:
    times = (BEGIN + timedelta(hours=place) for place in range(len(items)))
    views = (View(item, 1.0, at) for item, at in zip(items, times, strict=True))
    return Visits(tuple(views), presses)


def test_rows_have_the_known_items_of_people_with_enough_views() -> None:
    items = Ids(["a", "b", "c"])
    found = gather(
        [visits("c", "a"), visits("a"), visits("a", "gone"), visits(), visits("b", "c", "gone")],
        items,
    )
    assert found.X.toarray().tolist() == [[1, 0, 1], [0, 1, 1]]
    assert (found.left_out, found.unknown_views, found.unknown_items) == (2, 2, 1)
    assert [line for line in found.lines() if "1 item that the data set does not have" in line]
    with pytest.raises(ParameterError, match="min_views"):
        gather([], items, min_views=0)


def test_an_item_named_in_two_ways_counts_once() -> None:
    found = gather([visits("17", 17, 4)], Ids([4, 17]))
    assert found.X.toarray().tolist() == [[1, 1]]


def test_presses_are_counted_by_tag_also_of_people_with_few_views() -> None:
    found = gather([visits("a", x=2), visits(x=-1, y=1)], Ids(["a"]))
    assert found.pressed == {"x": 2, "y": 1}


def test_views_until_a_moment_keep_the_rows() -> None:
    found = gather([visits("a", "b", "c"), visits("b", "a")], Ids(["a", "b", "c"]))
    assert found.until((BEGIN + timedelta(minutes=90)).timestamp()).X.toarray().tolist() == [
        [1, 1, 0],
        [1, 1, 0],
    ]
    early = found.until((BEGIN + timedelta(minutes=1)).timestamp())
    assert early.X.toarray().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert found.until(0.0).X.nnz == 0


def test_a_data_set_has_the_people_of_the_site_below_its_users() -> None:
    interactions, items = small_tables()
    users = interactions.select("user_id").unique(maintain_order=True)
    dataset = Dataset.from_tables(
        interactions,
        items,
        rules=RULES,
        positive="rating >= 4",
        negative="rating <= 3",
        users=users.with_columns(camp=users["user_id"].str.slice(-1)),
        user_rules=[Category("camp")],
    )
    site = gather([visits("i0", "i3")], dataset.items)
    joined = join(dataset, site)
    n = dataset.n_users
    assert (joined.n_users, joined.n_items) == (n + 1, dataset.n_items)
    assert (joined.X[:n] != dataset.X).nnz == 0
    assert [dataset.items[i] for i in joined.X[[n]].indices] == ["i0", "i3"]
    assert joined.Q is not None
    assert joined.disliked is not None
    assert joined.Q[[n]].nnz == joined.disliked[[n]].nnz == 0
    assert joined.users[0] == 0
    assert join(dataset, no_views(dataset.items)).n_users == n
    assert np.array_equal(joined.item_counts - dataset.item_counts, site.X.toarray()[0])

"""The protocol for new items: what models are shown, how items are ranked, what is compared."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import refused, said
from oracles import content_of

from teaser import Dataset
from teaser.data import demo
from teaser.data.split import split, split_time
from teaser.errors import DataError, ParameterError
from teaser.evaluate import new_items as protocol
from teaser.evaluate.new_items import evaluate_new_items, hold_out_items, measure


@pytest.fixture(scope="module")
def events() -> Dataset:
    return demo.dataset(seed=0, n_events=150, n_users=700)


def drawn(n_items: int) -> np.ndarray:
    return np.random.default_rng(0).random(n_items) < 0.2


def test_models_see_nothing_of_new_items_and_people_all_that_they_chose_of_others(
    events: Dataset,
) -> None:
    parts = split(events, n_validation=100, n_test=200, rng=0)
    is_new = drawn(events.n_items)
    data = hold_out_items(parts.training, parts.test, is_new)
    assert data.known.n_items == data.n_known == int((~is_new).sum())
    assert data.everything.X.nnz == data.known.X.nnz
    assert not set(data.known.items) & {events.items[i] for i in np.flatnonzero(is_new)}
    # The tags of new items are read from their metadata, and are those of the whole data set.
    places = [events.items.index_of(name) for name in data.everything.items]
    assert (events.S[places] != data.everything.S).nnz == 0
    for row, user in enumerate(data.fold.users):
        own = set(np.asarray(events.history(user)).tolist())
        shown, wanted = (
            {data.everything.items[i] for i in part[[row]].indices}
            for part in (data.fold.history, data.fold.held_out)
        )
        assert shown | wanted == own
        assert shown <= set(data.known.items)
        assert wanted
        assert not wanted & shown


def test_by_time_only_later_choices_are_to_be_found() -> None:
    data = demo.generate(seed=0, n_events=150, n_users=700)
    events = Dataset.from_tables(data.interactions, data.items, time="day")
    parts = split_time(events, rng=0)
    is_new = drawn(events.n_items)
    found = hold_out_items(parts.training, parts.test, is_new, by_time=True)
    order = [events.items.index_of(name) for name in found.everything.items]
    rows = [list(parts.test.users).index(user) for user in found.fold.users]
    earlier = parts.test.history[rows][:, order].maximum(0)
    later = parts.test.held_out[rows][:, order]
    n = found.n_known
    assert (found.fold.history[:, :n] != earlier[:, :n]).nnz == 0
    assert (found.fold.held_out[:, n:] != later[:, n:]).nnz == 0


def test_content_alone_is_ranked_as_by_hand(events: Dataset) -> None:
    parts = split(events, n_validation=100, n_test=200, rng=0)
    data = hold_out_items(parts.training, parts.test, drawn(events.n_items))
    scores = protocol._Placed(data, lambda _: None).tf_idf()
    T, n = content_of(data.everything.S.toarray()), data.n_known
    wanted = data.fold.history[:, :n].toarray() @ T[:n] @ T[n:].T
    np.testing.assert_allclose(scores(data.fold.history), wanted, atol=1e-9)
    # nDCG of one list: gains 1 / log2(1 + rank), over the best that is possible.
    lists = np.argsort(-wanted, axis=1, kind="stable")[:, :100]
    held_out = data.fold.held_out[:, n:].toarray() > 0
    discount = 1 / np.log2(2 + np.arange(100))
    gains = [
        (held_out[u, own] * discount[: len(own)]).sum() / discount[: held_out[u].sum()].sum()
        for u, own in enumerate(lists)
    ]
    found = measure("tf-idf", lambda rows: wanted, data, data.fold)
    np.testing.assert_allclose(found.values["ndcg@100"], gains, atol=1e-9)


def test_too_few_people_and_bad_shares_are_refused(events: Dataset) -> None:
    parts = split(events, n_validation=100, n_test=200, rng=0)
    with pytest.raises(DataError, match="0 users chose a new item and a known one"):
        hold_out_items(parts.training, parts.test, np.zeros(events.n_items, dtype=bool))
    shares: list[Any] = [0.0, 1.0, float("nan"), "half"]
    for share in shares:
        with pytest.raises(ParameterError, match="between 0 and 1"):
            evaluate_new_items(events, parts, share)
    bare = Dataset.from_tables({"user_id": ["a", "a", "b"], "item_id": ["x", "y", "x"]}, rules=())
    with pytest.raises(ParameterError, match="no tags"):
        evaluate_new_items(bare, parts, 0.2)


def test_the_command_compares_rivals_and_steps_and_says_the_best(tmp_path: Path) -> None:
    data = demo.generate(seed=0, n_events=150, n_users=700)
    events = Dataset.from_tables(data.interactions, data.items, time="day")
    events.save(tmp_path / "events")
    text = said("evaluate", tmp_path / "events", "--new-items", "0.2", "--out", tmp_path / "out")
    for name in ("tf-idf", "collective EASE", "declared tags", "+ predicted groups", "+ content"):
        assert name in text
    assert "20% of the items: 30 new items" in text
    assert "Best by validation users: " in text
    assert "first chosen after the first 90 %" in text or "No table by time." in text
    found = json.loads((tmp_path / "out" / "events-study.new-items.json").read_text())
    rows = {row["name"]: row for row in found["tables"][0]["rows"]}
    assert list(rows) == [
        *("tf-idf", "collective EASE", "TEASER, declared tags", "+ predicted groups"),
        *("+ predicted popularity", "+ content", "+ neighbours by content"),
    ]
    # The generated people choose by tags: a model that learned from them beats tags alone.
    best = max(rows.values(), key=lambda row: row["validation"])
    assert best["name"] not in ("tf-idf", "collective EASE")
    assert best["value"]["mean"] > rows["tf-idf"]["value"]["mean"]
    said_no = refused("evaluate", tmp_path / "events", "--new-items", "0.2", "--split", "time")
    assert "Leave --split out" in said_no

"""Which items people chose together is counted, and kept where it stands out."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from teaser import Dataset, Teaser, load
from teaser.explain import ViewedReason
from teaser.extensions import Remainder
from teaser.model.companions import (
    LEAST_BOTH,
    LEAST_EVIDENCE,
    LEAST_LIFT,
    count_companions,
)


def test_shares_are_counted_and_what_does_not_stand_out_is_left_out() -> None:
    rng = np.random.default_rng(3)
    taste = rng.random((300, 4)) @ rng.random((4, 90)) ** 6
    chosen = (rng.random((300, 90)) < taste / taste.max()).astype(float)
    found = count_companions(sp.csr_array(chosen * rng.uniform(0.5, 2, chosen.shape)))
    counts = chosen.sum(axis=0)
    assert_allclose(found.shares, counts / 300)
    n_told = 0
    for j in range(90):
        mine = chosen[:, j] == 1
        evidence = {}
        for i in range(90):
            both = float((chosen[:, i] * mine).sum())
            expected = counts[j] * counts[i] / 300
            if i != j and both >= LEAST_BOTH and both >= LEAST_LIFT * expected:
                evidence[i] = both * np.log(both / expected) - both + expected
        evidence = {i: told for i, told in evidence.items() if told >= LEAST_EVIDENCE}
        best = list(evidence)
        for i in range(90):
            told = found.of(j, i)
            assert (told is not None) == (i in best)
            if told is not None:
                n_told += 1
                both = float((chosen[:, i] * mine).sum())
                assert told.share == pytest.approx(both / counts[j])
                assert told.others == pytest.approx(counts[i] / 300)
        bits = found.bits(np.array([j]), np.arange(90))[0]
        lifts = [float((chosen[:, i] * mine).sum()) / counts[j] / found.shares[i] for i in best]
        assert_allclose(bits[best], np.log2(lifts), rtol=1e-5)
        assert bits.astype(bool).sum() == len(best)
    assert n_told > 50


def test_a_reason_about_a_viewed_item_says_how_many_chose_both(
    dataset: Dataset, tmp_path: Path
) -> None:
    model = Teaser(remainder=Remainder(neighbours=5)).fit(dataset)
    assert model.companions_ is not None
    told = {
        reason.together
        for item in dataset.items
        for entry in model.recommend([item])
        for reason in entry.reasons
        if isinstance(reason, ViewedReason)
    }
    assert any(told)
    first = next(each for each in told if each)
    assert first.share > first.others
    model.save(tmp_path / "model")
    again = load(tmp_path / "model", Teaser)
    assert again.companions_ is not None
    assert_allclose(again.companions_.rates.toarray(), model.companions_.rates.toarray())
    again.add_items({"new": ["type=film"]})
    assert again.companions_.of(0, len(again.items_) - 1) is None
    assert not again.companions_.bits(np.array([0]), np.array([len(again.items_) - 1])).any()

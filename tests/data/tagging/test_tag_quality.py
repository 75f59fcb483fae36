"""Tags that say little: near-equal ones, on one item, on nearly all."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from teaser.data import tags as tag_quality
from teaser.data.rules import Rules
from teaser.data.tags import Tag, near_equal_tags, no_tags, tag_warnings


def tags(n: int) -> list[Tag]:
    return [Tag("f", f"t{j}") for j in range(n)]


@given(seed=st.integers(0, 10_000), block=st.integers(1, 9))
def test_near_equal_tags_are_those_of_sets(seed: int, block: int) -> None:
    rng = np.random.default_rng(seed)
    S = (rng.random((12, 4)) < rng.random(4)).astype(np.float32)
    S = np.hstack([S, np.where(rng.random((12, 4)) < 0.05, 1 - S, S)])
    carriers = [set(np.flatnonzero(column).tolist()) for column in S.T]
    wanted = {}
    for i in range(8):
        for j in range(i + 1, 8):
            both, either = carriers[i] & carriers[j], carriers[i] | carriers[j]
            if len(both) > 1 and len(both) / len(either) > 0.8:
                wanted[i, j] = len(both) / len(either)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tag_quality, "_BLOCK", block)
        found = {(i, j): share for i, j, share in near_equal_tags(sp.csr_array(S))}
    assert found == pytest.approx(wanted)


def test_pairs_are_named_most_frequent_first_and_five_of_them() -> None:
    S = np.zeros((60, 9))
    for group, n_items in enumerate((3, 12, 8)):
        S[20 * group : 20 * group + n_items, 3 * group : 3 * group + 3] = 1
    (warning,) = tag_warnings(sp.csr_array(S), tags(9))
    assert warning.startswith("9 pairs of tags on nearly the same items: f=t3 and f=t4 (100 %), ")
    assert "f=t6 and f=t8 (100 %) and 4 more. " in warning
    assert warning.count(" %)") == 5


def test_weights_of_tags_make_no_difference() -> None:
    S = sp.csr_array(np.array([[0.5, 1], [0.25, 2], [0, 0]]))
    assert list(near_equal_tags(S)) == [(0, 1, 1.0)]


def test_tags_on_one_item_and_on_nearly_all() -> None:
    S = np.zeros((100, 4))
    S[:96, 0] = S[:95, 1] = S[3, 2] = S[10:20, 3] = 1
    pairs, alone, common = tag_warnings(sp.csr_array(S), tags(4))
    assert "f=t0 and f=t1 (99 %)" in pairs
    assert alone.startswith("1 tag on one item alone")
    assert "f=t2." in alone
    assert common.startswith("1 tag on nearly all items")
    assert "f=t0 (96 %)" in common


def test_good_tags_have_no_warning() -> None:
    S = sp.csr_array(np.array([[1, 0], [1, 1], [0, 1], [0, 0]]))
    assert tag_warnings(S, tags(2)) == ()


def test_no_tags_at_all_says_why_and_what_to_do() -> None:
    text = no_tags(Rules((), {}, {"isbn": "it looks like an identifier"}))
    assert "'isbn': it looks like an identifier" in text
    assert "DiscoveredTags()" in text
    assert "()" not in no_tags(Rules(())).replace("DiscoveredTags()", "")

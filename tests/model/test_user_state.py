"""Users of a batch one by one, and what may be given with them."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from teaser import Steering
from teaser.errors import ParameterError
from teaser.model.user_state import Scored, ScoreParts, UserStates, check_steered


def test_a_user_is_a_row_of_the_batch() -> None:
    rows = sp.csr_array(np.array([[0, 1, 0], [1, 0, 0.25]]))
    weights = np.array([1.0, 0.5]), np.array([3.0, 4.0]), np.array([0.0, 7.0])
    states = UserStates(rows, np.array([[0.1], [0.2]]), *weights)
    user = states[1]
    assert user.values.tolist() == [0.2]
    assert user.seen.tolist() == [0, 2]
    assert user.strengths.tolist() == [1, 0.25]
    assert (user.tags_weight, user.viewed_weight, user.offset) == (0.5, 4.0, 7.0)
    assert [state.seen.tolist() for state in states] == [[1], [0, 2]]
    last = states.at(slice(1, 2))
    assert last.rows.toarray().tolist() == [[1, 0, 0.25]]
    assert last[0].values.tolist() == [0.2]
    assert (last[0].tags_weight, last[0].viewed_weight, last[0].offset) == (0.5, 4.0, 7.0)


def test_a_match_is_relative_to_the_highest_score() -> None:
    scored = Scored(np.array([1.0, 4.0, -2.0]))
    assert [scored.match(i) for i in range(3)] == [0.25, 1.0, 0.0]
    assert Scored(np.array([-1.0, 0.0])).match(1) == 0.0


def test_presses_are_a_list_as_long_as_the_batch() -> None:
    check_steered(None, Steering(), 3)
    check_steered([None, {}], Steering(), 2)
    wrong: list[tuple[Any, Any, str]] = [
        ([None], Steering(), "2 histories and 1"),
        ({"town=Ghent": 1}, Steering(), "one mapping for each"),
        (None, "paper", "found 'paper'"),
    ]
    for presses, steering, said in wrong:
        with pytest.raises(ParameterError, match=said):
            check_steered(presses, steering, 2)


def test_shares_are_of_the_absolute_parts() -> None:
    parts = np.zeros((5, 1, 3))
    parts[:, 0, 0] = 1.0, -2.0, 0.0, 0.5, 0.5
    parts[:, 0, 1] = 0.0, 3.0, 1.0, 0.0, 0.0
    found = ScoreParts(parts, np.array([[True, True, True]]))
    assert found.scores.tolist() == [[0.0, 4.0, 0.0]]
    assert found["declared"].tolist() == [[-2.0, 3.0, 0.0]]
    assert found.shares()[:, 0, 0] == pytest.approx([0.25, 0.5, 0.0, 0.125, 0.125])
    # An item without any part counts nowhere.
    sums, n = found.sum_shares()
    assert n == 2
    assert sums == pytest.approx([0.25, 1.25, 0.25, 0.125, 0.125])

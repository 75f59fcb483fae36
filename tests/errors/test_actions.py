"""Errors of actions carry facts, and are caught as what they are."""

import pickle

import pytest

from teaser.errors import actions, base

FACTS: dict[base.ParameterError, dict[str, object]] = {
    actions.TagNotHiddenError("town=Ghent"): {"tag": "town=Ghent"},
    actions.FeedNameError("x" * 70, 60): {"name": "x" * 70, "limit": 60},
    actions.FeedExistsError("Friday"): {"name": "Friday"},
    actions.FeedLimitError(20): {"limit": 20},
    actions.WishLimitError(62, 50): {"n": 62, "limit": 50},
    actions.StateLimitError("hidden tags", 300, 200): {"kind": "hidden tags", "n": 300},
    actions.ImportedFileError("It is not JSON."): {"problem": "It is not JSON."},
    actions.ContradictionError("only a=b", "without a=b"): {
        "one": "only a=b",
        "other": "without a=b",
    },
}


@pytest.mark.parametrize("error", FACTS, ids=lambda error: type(error).__name__)
def test_errors_carry_facts_and_survive_pickling(error: base.ParameterError) -> None:
    for found in (error, pickle.loads(pickle.dumps(error))):
        assert {name: getattr(found, name) for name in FACTS[error]} == FACTS[error]
        assert str(found).endswith(".")
        assert all(str(fact) in str(found) for fact in FACTS[error].values())


def test_what_is_not_possible_now_is_an_action_error() -> None:
    for kind in (actions.FeedExistsError, actions.FeedLimitError, actions.TagNotHiddenError):
        assert issubclass(kind, actions.ActionError)
    assert issubclass(actions.TagNotHiddenError, actions.NotHiddenError)
    assert not issubclass(actions.ImportedFileError, actions.ActionError)

"""Options objects from plain tables and back."""

import json
from typing import Any

import pytest

from teaser import Teaser
from teaser.errors import ParameterError
from teaser.extensions import DiscoveredTags, LearnedDecoder, Remainder, SparseEncoder, Weights
from teaser.model.base import plain_parameters
from teaser.model.extensions.options import complete_saved, read_parameters

# What a model of an earlier version saved, with every extension left out.
EARLIER: dict[str, Any] = {
    "l2_weights": 5.0, "people": True, "decoder": "tags", "l2_decoder": 30.0, "rounds": 3,
    "density": None, "l2_remainder": None, "remainder_share": 1.0,
}  # fmt: skip


def test_tables_dotted_names_and_objects_mean_the_same() -> None:
    wanted = {"remainder": Remainder(l2=5.0, share=0.9), "tol": 1e-3}
    for given in (
        {"remainder": {"l2": 5.0, "share": 0.9}, "tol": 1e-3},
        {"remainder.l2": 5.0, "tol": 1e-3, "remainder.share": 0.9},
        {"remainder": {"l2": 5.0}, "remainder.share": 0.9, "tol": 1e-3},
        wanted,
    ):
        assert read_parameters(given) == wanted
    assert read_parameters({"decoder": {}, "sparse": None}) == {
        "decoder": LearnedDecoder(),
        "sparse": None,
    }


def test_a_model_is_made_again_of_its_plain_parameters() -> None:
    model = Teaser(
        l2_weights=7.0, decoder=LearnedDecoder(l2=3.0), sparse=SparseEncoder(), weights=Weights()
    )
    plain = plain_parameters(model.parameters())
    assert plain["decoder"] == {"l2": 3.0, "rounds": 3}
    assert plain["remainder"] is None
    assert Teaser.from_parameters(plain).parameters() == model.parameters()


def test_lists_of_json_and_toml_are_tuples() -> None:
    wanted = DiscoveredTags(grains=(50, 7.5))
    for given in ({"discovered": {"grains": [50, 7.5]}}, {"discovered.grains": [50, 7.5]}):
        assert read_parameters(given) == {"discovered": wanted}
    plain = json.loads(json.dumps(plain_parameters(Teaser(discovered=wanted).parameters())))
    assert plain["discovered"]["grains"] == [50, 7.5]
    assert Teaser.from_parameters(plain).discovered == wanted


def test_names_of_earlier_versions_are_read() -> None:
    assert read_parameters(EARLIER) == {"l2_weights": 5.0, "user_features": True}
    changes: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (
            {"l2_remainder": 9.0, "remainder_share": 0.8},
            {"remainder": Remainder(l2=9.0, share=0.8)},
        ),
        ({"decoder": "learned", "rounds": 2}, {"decoder": LearnedDecoder(l2=30.0, rounds=2)}),
        ({"density": 0.1}, {"sparse": SparseEncoder(density=0.1)}),
    ]
    for change, wanted in changes:
        found = read_parameters({**EARLIER, **change})
        assert found == {"l2_weights": 5.0, "user_features": True, **wanted}
    assert read_parameters({"l2_remainder": 9}) == {"remainder": Remainder(l2=9)}


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    for given, said in (
        ({"remainder.l3": 5.0}, r"remainder has no option 'l3'.*l2, neighbours, rounds, share"),
        ({"decoder": {"round": 5}}, r"'round'.*Closest: rounds"),
        ({"l2_wieghts": 5.0}, r"Teaser has no parameter 'l2_wieghts'.*l2_weights"),
        ({"remainder": Remainder(), "remainder.l2": 5.0}, r"remainder\.l2"),
        ({"remainder": 5.0, "remainder.l2": 5.0}, r"remainder\.l2"),
    ):
        with pytest.raises(ParameterError, match=said):
            Teaser.from_parameters(given)


def test_zero_stands_for_none_where_none_cannot_be_written() -> None:
    joint = {"remainder": Remainder(neighbours=None, l2=5.0)}
    for given in (
        {"remainder": {"l2": 5.0, "neighbours": 0}},
        {"remainder.l2": 5.0, "remainder.neighbours": 0},
    ):
        assert read_parameters(given) == joint
    # Only where None is a value: a penalty of zero stays one, and is refused.
    with pytest.raises(ParameterError, match=r"remainder\.l2"):
        read_parameters({"remainder": {"l2": 0}})["remainder"].check()


def test_a_saved_remainder_that_says_nothing_of_neighbours_was_a_joint_one() -> None:
    joint = Remainder(l2=9.0, neighbours=None)
    for saved in (
        {"remainder": {"l2": 9.0, "share": 1.0}},
        {"remainder": {"l2": 9.0, "neighbours": None, "rounds": 1, "share": 1.0}},
        {"l2_remainder": 9.0, "remainder_share": 1.0},
    ):
        assert read_parameters(complete_saved(saved)) == {"remainder": joint}
    near = {"remainder": {"l2": 9.0, "neighbours": 30, "rounds": 2, "share": 1.0}}
    assert read_parameters(complete_saved(near)) == {
        "remainder": Remainder(l2=9.0, neighbours=30, rounds=2)
    }
    assert read_parameters(complete_saved({"remainder": None})) == {"remainder": None}
    assert read_parameters(complete_saved(EARLIER)) == {"l2_weights": 5.0, "user_features": True}

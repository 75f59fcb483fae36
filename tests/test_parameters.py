"""Parameters of models: shown, set, copied, sent and read from tables."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn.base
from numpy.testing import assert_array_equal

import teaser
from teaser import Category, Dataset, Teaser
from teaser.baselines import EASE, Popularity, Product
from teaser.errors import NotFittedError, ParameterError
from teaser.extensions import DiscoveredTags, LearnedDecoder, Remainder, SparseEncoder, Weights
from teaser.testing import RULES, example_dataset, example_tables


def pasted(thing: Any) -> Any:
    return eval(repr(thing), {**vars(teaser), **vars(teaser.extensions), **vars(teaser.baselines)})  # noqa: S307


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (Teaser(), "Teaser()"),
        (Teaser(l2_weights=5), "Teaser(l2_weights=5)"),
        (Teaser(l2_weights=200, rng=None), "Teaser(rng=None)"),
        (Teaser(l2_encoder=np.float64(0.1)), "Teaser(l2_encoder=0.1)"),
        (Teaser(remainder=Remainder()), "Teaser(remainder=Remainder())"),
        (
            Teaser(remainder=Remainder(neighbours=None)),
            "Teaser(remainder=Remainder(neighbours=None))",
        ),
        (Teaser(user_features=False), "Teaser(user_features=False)"),
        (Popularity(), "Popularity()"),
        (
            Product(Teaser(tol=1e-2), EASE(l2=7.0)),
            "Product(tagged=Teaser(tol=0.01), other=EASE(l2=7.0))",
        ),
    ],
)
def test_the_text_of_a_model_names_what_is_not_default(model: Any, text: str) -> None:
    assert repr(model) == text
    again = pasted(model)
    assert repr(again) == text
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


@pytest.mark.parametrize(
    "options",
    [
        Weights(user_power=0.25, popularity_scale=0.5),
        DiscoveredTags(grains=(5, 20)),
        Remainder(l2=5.0, neighbours=None),
        LearnedDecoder(rounds=1),
        SparseEncoder(density=0.5),
    ],
    ids=lambda o: type(o).__name__,
)
def test_options_can_be_pasted_too(options: Any) -> None:
    assert pasted(options) == options
    assert pasted(type(options)()) == type(options)()
    assert repr(type(options)()) == f"{type(options).__name__}()"


def test_parameters_of_parts_have_long_names() -> None:
    model = Teaser(remainder=Remainder(l2=7.0), weights=Weights())
    found = model.get_params()
    assert found["remainder__l2"] == 7.0
    assert found["weights__user_power"] == 0.5
    assert found["l2_weights"] == 200.0
    assert not any(name.startswith("decoder__") for name in found)
    assert model.get_params(deep=False) == model.parameters()
    deep = Product(model, EASE(l2=3.0)).get_params()
    assert deep["tagged__remainder__l2"] == 7.0
    assert deep["other__l2"] == 3.0


def test_an_options_object_is_replaced_not_changed() -> None:
    shared = Remainder(l2=7.0)
    one, other = Teaser(remainder=shared), Teaser(remainder=shared)
    one.set_params(remainder__l2=9.0, l2_weights=4.0)
    assert one.remainder == Remainder(l2=9.0)
    assert one.l2_weights == 4.0
    assert other.remainder == shared == Remainder(l2=7.0)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"l2_weigths": 1}, "Teaser has no parameter 'l2_weigths'.*Closest: l2_weights"),
        ({"remainder__l2": 1.0}, "remainder is None, which has no 'l2'. Set remainder to"),
        ({"weights__userpower": 1.0}, "weights has no option 'userpower'.*Closest: user_power"),
        ({"nothing__l2": 1.0}, "no parameter 'nothing'"),
        ({"tol__l2": 1.0}, "tol is 0.001, which has no 'l2'"),
    ],
)
def test_what_cannot_be_set_is_named_and_nothing_changes(wrong: dict[str, Any], said: str) -> None:
    model = Teaser(weights=Weights())
    with pytest.raises(ParameterError, match=said):
        model.set_params(l2_encoder=1.0, **wrong)
    assert repr(model) == "Teaser(weights=Weights())"
    product = Product(model, EASE())
    with pytest.raises(ParameterError, match=said):
        product.set_params(
            **{f"tagged__{name}": value for name, value in wrong.items()}, other__l2=1.0
        )
    assert repr(product) == "Product(tagged=Teaser(weights=Weights()), other=EASE())"


def test_scikit_learn_clones_a_model() -> None:
    model = Teaser(l2_weights=5.0, l2_encoder=5.0, weights=Weights()).fit(example_dataset())
    other = sklearn.base.clone(model)
    assert repr(other) == repr(model)
    with pytest.raises(NotFittedError):
        other.check_fitted()
    product = sklearn.base.clone(Product(model, EASE()))
    assert product.tagged is not model
    with pytest.raises(NotFittedError):
        product.tagged.check_fitted()
    assert [repr(m) for m in sklearn.base.clone([model, EASE()])] == [repr(model), "EASE()"]


def test_a_clone_does_not_share_its_generator() -> None:
    model = Teaser(rng=np.random.default_rng(5))
    other = model.clone()
    assert other.rng is not model.rng
    assert isinstance(other.rng, np.random.Generator)
    drawn = other.rng.integers(2**31, size=3)
    assert isinstance(model.rng, np.random.Generator)
    assert (model.rng.integers(2**31, size=3) == drawn).all()


def test_models_can_be_sent_to_other_processes() -> None:
    model = Teaser(l2_weights=5.0, l2_encoder=5.0).fit(example_dataset())
    with ProcessPoolExecutor(1, get_context("spawn")) as others:
        sent = others.submit(Teaser.recommend, model, ["i1", "i4"])
        again = others.submit(model.clone().fit, example_dataset())
        assert sent.result() == model.recommend(["i1", "i4"])
        assert_array_equal(again.result().encoder_, model.encoder_)


def test_a_second_fit_forgets_added_items_user_features_and_the_recipe() -> None:
    interactions, items = example_tables()
    people = pl.DataFrame({"user_id": [f"u{n}" for n in range(300)], "age": ["young", "old"] * 150})
    with_users = Dataset.from_tables(
        interactions, items, users=people, rules=RULES, user_rules=[Category("age")]
    )
    plain = example_dataset()
    options: dict[str, Any] = {"l2_weights": 5.0, "l2_encoder": 5.0}
    options |= {"discovered": DiscoveredTags(grains=(8,)), "remainder": Remainder(neighbours=5)}
    model = Teaser(**options).fit(with_users)
    assert model.user_tags_
    model.add_items(items.head(1).with_columns(pl.lit("new").alias("item_id")))
    model.recipe_, model.dataset_path_ = (
        teaser.evaluate.Recipe((), "paper", "it was asked for"),
        "folder",
    )
    model.set_params(discovered=None, remainder=None)
    found = model.fit(plain).to_content()
    wanted = Teaser(l2_weights=5.0, l2_encoder=5.0).fit(plain).to_content()
    assert found.settings == wanted.settings
    assert found.arrays.keys() == wanted.arrays.keys()
    for name, array in wanted.arrays.items():
        assert_array_equal(found.arrays[name], array)
    assert model.groups_ is None
    assert model.remainder_ is None
    assert not model.user_tags_
    assert len(model.items_) == plain.n_items


def test_a_generator_goes_on_and_a_seed_begins_again() -> None:
    data = example_dataset()
    options: dict[str, Any] = {"l2_weights": 5.0, "discovered": DiscoveredTags(grains=(4,))}
    seeded = Teaser(rng=3, **options)
    assert_array_equal(seeded.fit(data).encoder_.copy(), seeded.fit(data).encoder_)
    generator = np.random.default_rng(3)
    before = generator.bit_generator.state
    Teaser(rng=generator, **options).fit(data)
    assert generator.bit_generator.state != before


def test_tables_dotted_names_and_objects_mean_the_same() -> None:
    wanted = {"remainder": Remainder(l2=5.0, neighbours=9), "tol": 1e-3}
    for given in (
        {"remainder": {"l2": 5.0, "neighbours": 9}, "tol": 1e-3},
        {"remainder.l2": 5.0, "tol": 1e-3, "remainder.neighbours": 9},
        {"remainder": {"l2": 5.0}, "remainder.neighbours": 9, "tol": 1e-3},
        wanted,
    ):
        assert Teaser.read_parameters(given) == wanted
    assert Teaser.read_parameters({"decoder": {}, "sparse": None}) == {
        "decoder": LearnedDecoder(),
        "sparse": None,
    }


def test_zero_stands_for_none_where_none_cannot_be_written() -> None:
    joint = {"remainder": Remainder(neighbours=None, l2=5.0)}
    for given in (
        {"remainder": {"l2": 5.0, "neighbours": 0}},
        {"remainder.l2": 5.0, "remainder.neighbours": 0},
    ):
        assert Teaser.read_parameters(given) == joint
    # Only where None is a value: a penalty of zero stays one, and is refused.
    with pytest.raises(ParameterError, match=r"remainder\.l2"):
        Teaser.read_parameters({"remainder": {"l2": 0}})["remainder"].check()

import pytest

import teaser
from teaser import Teaser
from teaser.baselines import EASE, Popularity, Product
from teaser.evaluate import Recipe, Trial
from teaser.extensions import Remainder
from teaser.notebook import draw_check, draw_groups
from teaser.testing import example_dataset

BAD = "<script>x</script>"


def test_models_draw_themselves_fitted_or_not(model: Teaser) -> None:
    assert "not fitted yet" in Teaser(remainder=Remainder(l2=5.0))._repr_html_()
    drawn = model._repr_html_()
    assert "40 items" in drawn
    assert f"{len(model.tags_)} tags" in drawn
    assert f"{model.iterations_} iterations" in drawn
    assert "<code>Teaser(l2_weights=5.0, l2_encoder=5.0, tol=1e-05)</code>" in drawn
    assert "Parameters (16)" in drawn
    assert "40 items" in Popularity().fit(example_dataset())._repr_html_()
    product = Product(model, EASE().fit(example_dataset()))
    assert "40 items" in product._repr_html_()
    assert "not fitted yet" in Product(Teaser(), EASE())._repr_html_()


@pytest.fixture
def recipe() -> Recipe:
    parts = {"general": 0.4, "declared": 0.6, "viewed": 0.0}
    tried = (
        Trial("Popularity", ndcg=0.1, share=0.25, seconds=0.1),
        Trial("EASE", ndcg=0.4, share=1.0),
        Trial("paper", ndcg=0.35, share=0.875, parts=parts),
        Trial("weighted", ndcg=0.3, share=0.75, parts=parts),
        Trial("neighbours", reason=f"too large {BAD}"),
    )
    return Recipe(tried, "paper", "It is the most readable.", 100)


def test_a_recipe_shows_every_trial_and_the_choice(recipe: Recipe) -> None:
    drawn = recipe._repr_html_()
    for said in ("paper (chosen)", "0.350", "88 %", "40 %"):
        assert said in drawn
    assert ">viewed</th>" not in drawn  # nobody has it
    assert "It is the most readable." in drawn
    assert "100 held-out users" in drawn
    assert "neighbours: too large &lt;script&gt;" in drawn


def test_a_recipe_without_trials_says_why() -> None:
    drawn = Recipe((), "as given", "The penalties were given.")._repr_html_()
    assert "The penalties were given." in drawn
    assert "<table" not in drawn


def test_a_fitted_model_carries_its_recipe() -> None:
    model = teaser.fit(example_dataset(), l2_weights=5.0, l2_encoder=5.0)
    assert "The penalties were given." in model._repr_html_()


def test_a_check_shows_parts_and_advice(model: Teaser) -> None:
    drawn = draw_check(
        {"general": 0.7, "declared": 0.3, "viewed": 0.0},
        lines=["Parts of the top-20", "First reasons: x.", f"  Advice {BAD}."],
        n_users=1000,
        top=20,
    )
    assert "top-20 of 1,000 people" in drawn
    assert "70 %" in drawn
    assert "viewed" not in drawn
    assert "<li>First reasons: x.</li><li><em>Advice &lt;script" in drawn
    own = teaser.evaluate.check_model(model, example_dataset(), stability=False)._repr_html_()
    assert "Stability was not measured." in own


def test_groups_are_shown_largest_first() -> None:
    groups = [("small", 2, ["a"]), (BAD, 9, ["b", "c"]), *((f"g{n}", 1, []) for n in range(40))]
    drawn = draw_groups(groups)
    assert drawn.index("&lt;script") < drawn.index("small")
    assert "b, c" in drawn
    assert "12 more." in drawn
    fitted = Teaser(discovered=teaser.extensions.DiscoveredTags(grains=(5,)), l2_weights=5.0)
    found = fitted.fit(example_dataset()).groups_
    assert found is not None
    assert f"{len(found)} discovered tags" in found._repr_html_()

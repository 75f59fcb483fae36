from teaser import Teaser
from teaser.baselines import EASE, Popularity, Product
from teaser.extensions import Remainder
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

from teaser import Teaser
from teaser.notebook import FeatureBars, TagBar, draw_profile

BAD = "<b onclick=x>"


def test_names_are_escaped() -> None:
    drawn = draw_profile(
        [FeatureBars(BAD, 1.0, [TagBar(BAD, 1.0)])], general=0.0, certainty=1.0, seen=1
    )
    assert "<b " not in drawn


def test_a_profile_draws_itself_with_every_press(model: Teaser) -> None:
    profile = model.profile(["i1", "i5"], {"labels=late": -1, "town=Deinze": 2})
    drawn = profile._repr_html_()
    for feature in ("Type", "Town", "Labels"):
        assert f'<th scope="row">{feature}</th>' in drawn
    assert '<td class="n">−1</td>' in drawn
    assert '<td class="n">+2</td>' in drawn

from teaser import Teaser
from teaser.notebook import FeatureBars, TagBar, draw_profile

BAD = "<b onclick=x>"


def test_features_come_with_impact_tags_and_presses() -> None:
    town = FeatureBars("town", 0.6, [TagBar("Ghent", 0.5, 2), TagBar("Liège", -0.25)], 7)
    drawn = draw_profile([town], general=0.9, certainty=0.8, seen=3)
    assert "from −1 to 1" not in drawn  # affinities of general appeal and of rare tags are larger
    assert "of a history of 3 items, certainty 0.8" in drawn
    assert '<span class="n">60 % of scores</span>' in drawn
    assert '<span class="n up">+0.50</span></td><td class="n">+2</td>' in drawn
    assert '<span class="n down">−0.25</span>' in drawn
    assert "7 more" in drawn
    assert drawn.index("general appeal") < drawn.index("town")
    assert '<th scope="row">Ghent</th>' in drawn


def test_a_model_without_general_appeal_shows_none() -> None:
    drawn = draw_profile([], general=None, certainty=0.2, seen=0)
    assert "general appeal" not in drawn
    assert "0 items" in drawn


def test_tiny_affinities_have_no_sign() -> None:
    drawn = draw_profile(
        [FeatureBars("f", 1.0, [TagBar("t", -0.001)])], general=None, certainty=1.0, seen=1
    )
    assert '<span class="n">0.00</span>' in drawn
    assert "1 item," in drawn


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

from teaser.notebook import FeatureBars, TagBar, draw_profile

BAD = "<b onclick=x>"


def test_names_are_escaped() -> None:
    drawn = draw_profile(
        [FeatureBars(BAD, 1.0, [TagBar(BAD, 1.0)])], general=0.0, certainty=1.0, seen=1
    )
    assert "<b " not in drawn

import re

from teaser.notebook.bar import share_bar, signed_bar, step_bar


def rects(bar: str) -> list[tuple[str, float, float]]:
    """Return class, start and width of each rectangle."""
    found = re.findall(
        r'<rect class="(\w+)" fill="#\w+" x="([-.\d]+)" y="\d" width="([.\d]+)"', bar
    )
    return [(kind, float(x), float(width)) for kind, x, width in found]


def test_a_signed_bar_goes_to_its_side() -> None:
    assert rects(signed_bar(0.5)) == [("up", 0.0, 50.0), ("axis", -1.0, 2.0)]
    assert rects(signed_bar(-0.25))[0] == ("down", -25.0, 25.0)
    assert rects(signed_bar(7.0))[0] == ("up", 0.0, 100.0)
    assert rects(signed_bar(-3.0, most=6.0))[0] == ("down", -50.0, 50.0)
    assert rects(signed_bar(1.0, most=0.0))[0] == ("up", 0.0, 0.0)


def test_a_share_fills_its_bar_at_one() -> None:
    assert rects(share_bar(0.3)) == [("quiet", 0.0, 30.0)]
    assert rects(share_bar(1.5)) == [("quiet", 0.0, 100.0)]
    assert rects(share_bar(-0.5)) == [("quiet", 0.0, 0.0)]


def test_steps_share_one_scale() -> None:
    assert rects(step_bar(0.0, 3.0, low=-1.0, high=3.0)) == [
        ("up", 50.0, 150.0),
        ("axis", 49.5, 1.0),
    ]
    assert rects(step_bar(3.0, 1.0, low=-1.0, high=3.0))[0] == ("down", 100.0, 100.0)
    assert rects(step_bar(0.0, -1.0, low=-1.0, high=3.0, total=True))[0] == ("total", 0.0, 50.0)
    assert rects(step_bar(0.0, 0.0, low=0.0, high=0.0))[0][2] == 1.0  # it can be seen


def test_bars_are_for_the_eye_alone() -> None:
    for bar in (signed_bar(1), share_bar(1), step_bar(0, 1, low=0, high=1)):
        assert 'aria-hidden="true" focusable="false"' in bar

import re

from teaser.notebook.style import ROOT, STYLE


def test_every_rule_is_about_our_outputs() -> None:
    rules = re.sub(r"@(media|container)[^{]*", "", STYLE)
    depth, outer = 0, ""
    for letter in rules:
        outer += letter if depth == 0 else ""
        depth += {"{": 1, "}": -1}.get(letter, 0)
    heads = [head.strip() for head in re.split(r"[{}]", outer) if head.strip()]
    assert heads
    for head in heads:
        assert all(f".{ROOT}.{ROOT}.{ROOT}" in part for part in head.split(",")), head


def test_light_and_dark_follow_the_host() -> None:
    for mark in ("data-jp-theme-light", "vscode-dark", "vscode-light", "data-md-color-scheme"):
        assert mark in STYLE
    assert "prefers-color-scheme" not in STYLE  # light-dark() does that
    assert "color-scheme: light dark" in STYLE


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_texts_contrast_with_their_ground() -> None:
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", STYLE)
    colours = {name: (light, dark) for name, light, dark in pairs}
    for text in ("ink", "soft", "teal", "orange"):
        for ground in ("card", "raised"):
            for scheme in (0, 1):
                assert contrast(colours[text][scheme], colours[ground][scheme]) >= 4.5
    for bar in ("teal-bar", "orange-bar", "soft"):
        for scheme in (0, 1):
            assert contrast(colours[bar][scheme], colours["card"][scheme]) >= 3

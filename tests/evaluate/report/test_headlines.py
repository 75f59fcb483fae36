"""The sentences say what the figures say, and no more."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from reports import SETTINGS, Content, a_dial, reported

from teaser.evaluate.report.headlines import headlines


def set_gap(content: Content, a: str, b: str, mean: float, low: float, high: float) -> None:
    for found in content["comparisons"]:
        if (found["a"], found["b"], found["metric"]) == (a, b, "ndcg@100"):
            found.update(mean=mean, low=low, high=high)


def set_value(content: Content, name: str, mean: float) -> None:
    model = next(m for m in content["models"] if m["name"] == name)
    model["metrics"]["ndcg@100"]["mean"] = mean


def said(content: Content, beginning: str) -> str:
    return next((s for s in headlines(reported(content)) if s.startswith(beginning)), "")


def test_the_share_of_ease_is_that_of_the_json(content: Content) -> None:
    values = {m["name"]: m["metrics"]["ndcg@100"]["mean"] for m in content["models"]}
    share = f"{100 * values['teaser'] / values['ease']:.0f} %"
    sentence = said(content, f"TEASER reaches {share} of EASE's nDCG@100")
    assert f"{values['teaser']:.3f} against {values['ease']:.3f} on 80 users" in sentence
    assert said(content, "TEASER × EASE reaches")
    assert said(content, "TEASER reaches 98 %") == "" or share == "98 %"


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        ((-0.007, -0.009, -0.005), "the loss (−0.007, 95 % interval −0.009 to −0.005) is more"),
        ((0.004, 0.001, 0.007), "the gain (+0.004, 95 % interval +0.001 to +0.007) is more"),
        ((-0.002, -0.006, 0.002), "(−0.002, 95 % interval −0.006 to +0.002) may be chance"),
    ],
)
def test_a_difference_is_called_what_its_interval_allows(
    content: Content, gap: tuple[float, float, float], words: str
) -> None:
    set_value(content, "ease", 0.420)
    set_value(content, "teaser", 0.420 + gap[0])
    set_gap(content, "ease", "teaser", *gap)
    assert words in said(content, "TEASER reaches")


def test_the_best_is_named_with_the_doubt(content: Content) -> None:
    for place, name in enumerate(("ease", "Popularity", "wmf-s", "product", "teaser")):
        set_value(content, name, 0.1 + 0.1 * place)
    set_gap(content, "teaser", "product", -0.1, -0.2, -0.05)
    assert said(content, "The most accurate") == (
        "The most accurate of 5 models is TEASER (0.500), clearly before TEASER × EASE."
    )
    set_gap(content, "teaser", "product", -0.1, -0.2, 0.05)
    assert "but not clearly before TEASER × EASE" in said(content, "The most accurate")


def test_presses_are_told_with_intervals_on_both_scales(content: Content) -> None:
    for each in content["simulations"]:
        robust, n = each["scale"] == "robust", each["n_tags"]
        mean = 0.02 * n if robust else -0.04
        each["metrics"]["ndcg@100"]["mean"] = 0.4 + mean
        each["gain"]["ndcg@100"].update(mean=mean, low=mean - 0.01, high=mean + 0.01)
    assert said(content, "Three presses") == (
        "Three presses of + change TEASER's nDCG@100: on one tag +5.0 % (+2.5 to +7.5), "
        "on two tags +10.0 % (+7.5 to +12.5); on the paper's scale one tag −10.0 % "
        "(−12.5 to −7.5)."
    )
    for each in content["simulations"]:
        each["gain"]["ndcg@100"].update(low=-0.1, high=0.1)
    assert said(content, "Three presses").count("may be chance") == 3


def test_what_was_not_run_is_not_spoken_of(
    content: Content, without: Callable[..., Content]
) -> None:
    assert said(without("simulations"), "Three presses") == ""
    assert "was not examined" in said(without("comparisons"), "TEASER reaches")
    alone = {**content, "models": [m for m in content["models"] if m["kind"] == "Popularity"]}
    assert headlines(reported(alone)) == []


def test_lists_are_told_by_their_own_figures(content: Content) -> None:
    values = {m["name"]: m["metrics"] for m in content["models"]}
    covered = {n: f"{100 * v['coverage@20']['mean']:.0f} %" for n, v in values.items()}
    rare = {n: f"{100 * v['long_tail@20']['mean']:.0f} %" for n, v in values.items()}
    sentence = said(content, "The first 20")
    assert f"reach {covered['teaser']} of the items with TEASER" in sentence
    assert f"and {covered['ease']} with EASE" in sentence
    assert f"{rare['teaser']} and {rare['ease']} of them" in sentence


SHARES = {"general": 0.25, "declared": 0.4, "discovered": 0.3, "popularity": 0.0, "viewed": 0.05}


def test_the_parts_of_scores_are_told_and_general_appeal_is_not_from_tags(
    content: Content,
) -> None:
    assert said(content, "The scores of") == ""
    next(m for m in content["models"] if m["name"] == "teaser")["shares"] = SHARES
    assert said(content, "The scores of") == (
        "The scores of TEASER's first 20 recommendations are 40 % from declared tags, 30 % from "
        "discovered tags, 5 % from viewed items, 25 % from general appeal and 0 % from "
        "popularity: 70 % from tags."
    )


def test_the_recommended_model_and_tags_alone_are_compared_with_ease(content: Content) -> None:
    teaser = next(m for m in content["models"] if m["name"] == "teaser")
    alone = {**teaser, "name": "alone", "discovered": 9, "shares": {**SHARES, "viewed": 0.0}}
    best = {**teaser, "name": "ours, recommended", "discovered": 9, "shares": SHARES}
    pressed = [
        {**s, "model": best["name"], "among": among}
        for s in content["simulations"]
        if s["model"] == "teaser" and s["scale"] == "robust" and s["n_tags"] == 1
        for among in ("declared", "discovered")
    ]
    content["models"] += [alone, best]
    content["simulations"] += pressed
    assert said(content, "alone reaches")
    assert said(content, "ours, recommended reaches")
    assert "of the items with ours, recommended" in said(content, "The first 20")
    told = said(content, "Three presses of + change ours, recommended's")
    assert "on one declared tag" in told
    assert "on one discovered tag" in told


def test_the_dial_is_told_at_the_accuracy_of_ease(content: Content) -> None:
    study = replace(reported(content), dial=a_dial())
    (sentence,) = (s for s in headlines(study) if "EASE's accuracy" in s)
    assert sentence == (
        "No setting with tags reaches EASE's accuracy on validation users; within 1 % of the "
        "best, 60 % of the scores come from tags."
    )
    study = replace(study, dial=replace(a_dial(), at_ease=SETTINGS[2]))
    (sentence,) = (s for s in headlines(study) if "EASE's accuracy" in s)
    assert sentence.startswith("At EASE's accuracy or better on validation users, 60 % of the")
    bare = replace(a_dial(), settings=SETTINGS[2:])
    assert not any("EASE's accuracy" in s for s in headlines(replace(study, dial=bare)))

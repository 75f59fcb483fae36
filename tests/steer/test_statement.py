"""What is said of a person: true by their own history, and easily denied."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teaser import Dataset, Tag, Teaser
from teaser.data import demo
from teaser.data.rules import Category, ListOf, Rules
from teaser.data.tags import DISCOVERED
from teaser.errors import ParameterError
from teaser.extensions import DiscoveredTags, Remainder
from teaser.profile import GENERAL, POPULARITY, Profile
from teaser.steer import Evidence, Statement, say, statements, undo_presses

JAZZ, ROCK, FOLK = (Tag("style", name) for name in ("Jazz", "Rock", "Folk"))
BEBOP = Tag("genres", "bebop")
N_ITEMS, STYLES = 120, ("Jazz", "Rock", "Folk", "Opera", "Techno")


@pytest.fixture(scope="module")
def taste() -> Teaser:
    """People who mostly choose one of five styles; some Jazz, and two others, are bebop."""
    rng = np.random.default_rng(3)
    styles = [STYLES[i % 5] for i in range(N_ITEMS)]
    labels = [
        [{"Jazz": "jazz", "Rock": "loud"}.get(style, "calm"), f"venue {i % 11}", "music"]
        + ["bebop"] * ((i >= 90 and style == "Jazz") or i in (112, 117))
        for i, style in enumerate(styles)
    ]
    items = pl.DataFrame(
        {"item": [f"i{i}" for i in range(N_ITEMS)], "style": styles, "genres": labels}
    )
    rows = []
    for user in range(400):
        own = [i for i in range(N_ITEMS) if i % 5 == user % 5]
        few = rng.choice(own, 6, replace=False).tolist()
        few += rng.choice(N_ITEMS, 3, replace=False).tolist()
        rows += [(f"u{user}", f"i{i}") for i in set(few)]
    seen = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    rules = Rules((Category("style"), ListOf("genres")))
    dataset = Dataset.from_tables(seen, items, user="user", item="item", rules=rules)
    return Teaser(l2_weights=20, l2_encoder=20, remainder=Remainder(neighbours=10)).fit(dataset)


def of_style(style: str, n: int) -> list[str]:
    """The first n items of a style."""
    first = STYLES.index(style)
    return [f"i{i}" for i in range(first, N_ITEMS, 5)][:n]


HISTORIES = st.lists(st.integers(0, N_ITEMS - 1).map(lambda i: f"i{i}"), max_size=12, unique=True)
TAGS = [JAZZ, ROCK, FOLK, Tag("genres", "jazz"), Tag("genres", "venue 3")]
PRESSES = st.dictionaries(st.sampled_from(TAGS), st.integers(-5, 5))


def carriers(model: Teaser, tags: tuple[Tag, ...]) -> set[str]:
    """The items that carry any of some tags."""
    D = model.decoder_.toarray()
    places = [model.tags_.index(tag) for tag in tags]
    return {model.items_[i] for i in np.flatnonzero((D[:, places] != 0).any(axis=1)).tolist()}


def test_who_chose_jazz_is_told_so_with_the_count(taste: Teaser) -> None:
    history = [*of_style("Jazz", 6), *of_style("Rock", 1), *of_style("Opera", 1)]
    first = statements(taste.profile(history))[0]
    assert (first.kind, first.leaning, set(first.tags)) == ("known", 1, {JAZZ, TAGS[3]})
    assert (first.evidence.own, first.evidence.of) == (6, 8)
    assert 0.1 < first.evidence.others < 0.3
    assert say(first) == "You lean towards Jazz: 6 of your 8, 1 in 5 for others."


@given(HISTORIES, PRESSES)
def test_every_statement_is_true_of_history_and_leaning(
    taste: Teaser, history: list[str], presses: dict[Tag, int]
) -> None:
    profile = taste.profile(history, presses)
    found = statements(profile)
    chosen = taste.item_table_.popularity
    for s in found:
        own = carriers(taste, s.tags)
        assert s.evidence.own == len(own & set(history))
        assert s.evidence.of == len(history)
        places = [taste.items_.index_of(item) for item in own]
        assert s.evidence.others == pytest.approx(chosen[places].sum() / chosen.sum())
        scores = profile.personal_scores
        assert s.leaning * (scores[places].mean() - scores.mean()) > 0
        rate = s.evidence.own / s.evidence.of
        assert s.leaning * (rate - s.evidence.others) > 0 or s.kind == "guessed"
        assert s.kind == "known" or (s.evidence.own, s.leaning) == (0, 1)
        assert all(s.leaning * presses.get(tag, 0) >= 0 for tag in s.tags)
        assert not {POPULARITY, GENERAL} & set(s.tags)
        assert len(own) < N_ITEMS
    # Nothing is said of what another statement says, or of what lies inside it.
    for place, s in enumerate(found):
        for other in found[:place]:
            one, two = carriers(taste, s.tags), carriers(taste, other.tags)
            assert len(one & two) <= 0.8 * min(len(one), len(two))


@given(HISTORIES, PRESSES)
def test_to_deny_a_statement_once_is_enough(
    taste: Teaser, history: list[str], presses: dict[Tag, int]
) -> None:
    profile, learned = taste.profile(history, presses), taste.profile(history)
    for s in statements(profile):
        undo = undo_presses(s, learned, profile.presses)
        assert set(undo) == {s.tags[0]}
        net = {t: presses.get(t, 0) + undo.get(t, 0) for t in {*presses, *undo}}
        after = taste.profile(history, net)
        places = [taste.items_.index_of(item) for item in carriers(taste, s.tags)]
        leaning = after.personal_scores[places].mean() - after.personal_scores.mean()
        at_the_end = abs(net[s.tags[0]]) == 5
        assert s.leaning * leaning < 1e-9 or at_the_end
        assert s.leaning * net[s.tags[0]] < 0
        assert not {(s.leaning, t) for t in s.tags} & {
            (new.leaning, t) for new in statements(after) for t in new.tags
        }


def test_what_others_of_the_same_taste_choose_is_told_as_a_guess(taste: Teaser) -> None:
    (first, *_) = statements(taste.profile(of_style("Jazz", 3)), known=0, away=0)
    assert (first.kind, first.leaning, first.tags) == ("guessed", 1, (BEBOP,))
    assert (first.evidence.own, first.evidence.of) == (0, 3)
    assert first.because is not None
    assert (first.because.kind, set(first.because.tags)) == ("known", {JAZZ, TAGS[3]})
    because = "because of Jazz (3 of your 3). None of them has it yet."
    assert say(first) == f"A guess: you may like bebop, {because}"


def test_common_tags_that_are_missing_are_said_to_be_avoided(taste: Teaser) -> None:
    found = statements(taste.profile(of_style("Jazz", 14)), known=0, guessed=0)
    assert found
    for s in found:
        assert (s.kind, s.leaning) == ("known", -1)
        assert s.evidence.own < 0.5 * s.evidence.of * s.evidence.others
        assert s.evidence.others >= 0.05
        assert say(s).startswith("You lean away from ")


def test_presses_against_a_tag_silence_what_is_said_of_it(taste: Teaser) -> None:
    history = of_style("Jazz", 6)
    told = {tag for s in statements(taste.profile(history)) for tag in s.tags}
    assert JAZZ in told
    # A press on either of two near-equal tags is enough.
    for tag in (JAZZ, TAGS[3]):
        after = statements(taste.profile(history, {tag: -1}))
        assert JAZZ not in {t for s in after for t in s.tags if s.leaning > 0}


def test_a_pressed_tag_is_no_guess(taste: Teaser) -> None:
    found = statements(taste.profile(of_style("Jazz", 3), {BEBOP: 3}), known=0, away=0)
    assert all(s.tags != (BEBOP,) for s in found)


@pytest.mark.parametrize(
    "history",
    [[], ["i1"], {"i1": -1.0, "i6": -1.0, "i11": -2.0}, {"i1": 1.0, "i6": -1.0, "i11": -1.0}],
    ids=["none", "one", "disliked", "one liked"],
)
def test_nothing_is_said_of_fewer_than_two_liked_items(taste: Teaser, history: Any) -> None:
    assert statements(taste.profile(history)) == []
    assert statements(taste.profile(history, {JAZZ: 5})) == []


def test_disliked_items_are_no_evidence(taste: Teaser) -> None:
    liked, disliked = of_style("Jazz", 5), of_style("Rock", 2)
    history = {**dict.fromkeys(liked, 1.0), **dict.fromkeys(disliked, -1.0)}
    for s in statements(taste.profile(history)):
        assert s.evidence.of == 5
        assert ROCK not in s.tags or s.leaning < 0


def test_nothing_is_said_where_no_tag_tells_items_apart() -> None:
    items = pl.DataFrame({"item": list("abcdef"), "kind": ["x"] * 6})
    seen = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": list("abcdef")})
    model = Teaser(l2_weights=1, l2_encoder=1).fit(
        Dataset.from_tables(seen, items, user="user", item="item", rules=Rules((Category("kind"),)))
    )
    assert statements(model.profile(["a", "b", "c"])) == []


def test_the_number_of_each_sort_is_bounded(taste: Teaser) -> None:
    profile = taste.profile([*of_style("Jazz", 6), *of_style("Rock", 6)])
    every = statements(profile)
    known = [s for s in every if s.kind == "known" and s.leaning > 0]
    assert statements(profile, known=1, guessed=0, away=0) == known[:1]
    assert statements(profile, known=0, guessed=0, away=0) == []
    assert every == sorted(every, key=lambda s: (s.leaning < 0, s.kind == "guessed"))


@pytest.mark.parametrize("name", ["known", "guessed", "away"])
@pytest.mark.parametrize("n", [-1, 1.5, True])
def test_a_number_is_a_whole_one(taste: Teaser, name: str, n: Any) -> None:
    with pytest.raises(ParameterError, match=f"{name} must be a whole number"):
        statements(taste.profile(["i1"]), **{name: n})


def test_a_profile_without_a_model_says_nothing() -> None:
    bare = Profile((JAZZ,), np.array([0.9]), certainty=1, impacts={}, history=("i",), presses={})
    assert statements(bare) == []
    assert bare.leanings == {}
    told = Statement("known", 1, (JAZZ,), Evidence(2, 3, 0.1))
    assert undo_presses(told, bare) == {JAZZ: -1}
    assert undo_presses(told, bare, {JAZZ: -5}) == {}


@pytest.mark.parametrize(
    ("rate", "wanted"),
    [(0.07, (1, 14)), (1 / 3, (1, 3)), (0.37, (2, 5)), (0.5, (1, 2)), (0.8, (4, 5)),
     (0.96, (9, 10)), (0.0004, (1, 2500)), (0.0, (0, 1))],
)  # fmt: skip
def test_a_rate_is_told_in_small_numbers(rate: float, wanted: tuple[int, int]) -> None:
    assert Evidence(1, 2, rate).in_others == wanted


def test_statements_can_be_said() -> None:
    away = Statement("known", -1, (ROCK,), Evidence(0, 12, 0.25))
    assert say(away) == "You lean away from Rock: none of your 12, 1 in 4 for others."
    guess = Statement("guessed", 1, (FOLK,), Evidence(0, 12, 0.02))
    assert say(guess) == "A guess: you may like Folk. None of your 12 has it yet."
    group = Tag(DISCOVERED, "Ida, Roma")
    told = Statement("known", 1, (group,), Evidence(2, 12, 0.02), like=("Ida",), mostly=FOLK)
    because = "because of items like Ida (mostly Folk) (2 of your 12). None of them has it yet."
    assert say(replace(guess, because=told)) == f"A guess: you may like Folk, {because}"


def test_a_group_is_told_by_items_of_the_own_history_after_what_metadata_name() -> None:
    dataset = demo.dataset(n_events=400, n_users=1500)
    model = Teaser(discovered=DiscoveredTags(), tol=1e-2).fit(dataset)
    n_groups = 0
    for user in range(600, 830):
        found = statements(model.profile(dataset.history(dataset.users[user])), known=6)
        known = [s for s in found if (s.kind, s.leaning) == ("known", 1)]
        assert [s.tags[0].discovered for s in known] == sorted(s.tags[0].discovered for s in known)
        viewed = {model.title(i) for i in dataset.X[[user]].indices.tolist()}
        for statement in known:
            assert bool(statement.like) == statement.tags[0].is_titles
            assert set(statement.like) <= viewed
            # What is counted is what is named, not a group that the fit found beside it.
            rows = [model.tags_.index(tag) for tag in statement.tags]
            carried = model.tag_table_.carriers.items[rows].sum(axis=0) > 0
            own = dataset.X[[user]].indices
            assert statement.evidence.own == carried[own].sum()
            assert not statement.like or 2 * statement.evidence.own <= statement.evidence.of
            n_groups += bool(statement.like)
            if statement.like:
                assert f"items like {statement.like[0]}" in say(statement)
    assert n_groups


def test_a_plain_fact_goes_before_narrow_ones() -> None:
    rng = np.random.default_rng(5)
    genres = rng.permutation(["Comedy"] * 80 + ["Drama"] * 120).tolist()
    directors = [f"director {i % 40}" for i in range(200)]
    films = pl.DataFrame({"item": range(200), "genre": genres, "director": directors})
    comedies, dramas = ([i for i in range(200) if genres[i] == g] for g in ("Comedy", "Drama"))
    rows = []
    for user in range(300):
        own = (comedies, dramas)[user % 2]
        by_one = [i for i in range(200) if i % 40 == user % 40]
        chosen = {*rng.choice(own, 10, replace=False).tolist(), *rng.choice(by_one, 3).tolist()}
        rows += [(user, i) for i in chosen]
    seen = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    rules = Rules((Category("genre"), Category("director")))
    dataset = Dataset.from_tables(seen, films, user="user", item="item", rules=rules)
    model = Teaser(l2_weights=20, l2_encoder=20).fit(dataset)
    by_one = [i for i in comedies if directors[i] == directors[comedies[0]]][:3]
    history = [*by_one, *(i for i in comedies if i not in by_one)][:16]
    known = [s for s in statements(model.profile(history)) if s.kind == "known"]
    assert known[0].tags == (Tag("genre", "Comedy"),)
    assert (known[0].evidence.own, known[0].evidence.of) == (16, 16)


@pytest.fixture(scope="module")
def two_tastes() -> Teaser:
    """Items of one genre, in one town and by one author each; people choose two genres at home."""
    rng = np.random.default_rng(5)
    n_items, n_users = 240, 600
    genres, towns = rng.integers(12, size=n_items), rng.integers(4, size=n_items)
    items = pl.DataFrame(
        {
            "item_id": np.arange(n_items),
            "genre": [f"G{g}" for g in genres],
            "town": [f"Town {t}" for t in towns],
            "author": [f"Author {a}" for a in rng.integers(80, size=n_items)],
        }
    )
    pairs = []
    for user in range(n_users):
        liked = rng.choice(12, 2, replace=False)
        chances = np.where(np.isin(genres, liked), 8.0, 1.0)
        chances *= np.where(towns == user % 4, 4.0, 1.0)
        some = rng.choice(n_items, 14, replace=False, p=chances / chances.sum())
        pairs += [(user, int(item)) for item in some]
    users, chosen = zip(*pairs, strict=True)
    made = Dataset.from_tables(pl.DataFrame({"user_id": users, "item_id": chosen}), items)
    return Teaser().fit(made)


def test_two_values_of_one_feature_can_both_be_known(two_tastes: Teaser) -> None:
    table = two_tastes.table_
    places = [table["item_id"].filter(table["genre"] == g).to_list()[:6] for g in ("G3", "G7")]
    told = statements(two_tastes.profile([*places[0], *places[1]]))
    known = {str(each.tags[0]) for each in told if each.kind == "known" and each.leaning > 0}
    assert {"genre=G3", "genre=G7"} <= known


def test_where_most_items_are_is_said_once_and_after_what_they_are(two_tastes: Teaser) -> None:
    table = two_tastes.table_
    there = table.filter((pl.col("town") == "Town 1") & pl.col("genre").is_in(["G3", "G7"]))
    told = statements(two_tastes.profile(there["item_id"].to_list()))
    places = [each.is_place for each in told if each.kind == "known" and each.leaning > 0]
    assert places.count(True) == 1
    assert places[-1]
    assert f"mostly choose what is in Town 1: {len(there)} of your {len(there)}" in say(
        next(each for each in told if each.is_place)
    )

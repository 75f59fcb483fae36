"""The file of a study: what is wrong is told in a sentence, and orders are balanced."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from commands import refused

from teaser import Category, Dataset, Teaser
from teaser.app.i18n.texts import LANGUAGES, texts_in
from teaser.data import demo
from teaser.errors import ArtifactError, ParameterError
from teaser.userstudy.lists import open_catalogues, untranslated
from teaser.userstudy.plan import UserStudy, latin_square, new_study, question_sets

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_of_the_tree_is_what_the_command_writes() -> None:
    assert (ROOT / "examples" / "user_study.toml").read_text() == new_study()


def test_the_example_has_three_arms_on_the_built_in_events(write: Callable[..., Path]) -> None:
    study = UserStudy.read(write())
    assert [arm.name for arm in study.arms] == ["list", "reasons", "presses"]
    shown = [(bool(arm.parts), arm.presses) for arm in study.arms]
    assert shown == [(False, False), (True, False), (True, True)]
    assert set(open_catalogues(study)) == {"list", "reasons", "presses"}


@pytest.mark.parametrize("n", range(1, 9))
def test_each_arm_is_in_each_place_and_follows_each_other_one_equally_often(n: int) -> None:
    rows = latin_square(n)
    for place in range(n):
        assert len(set(Counter(row[place] for row in rows).values())) == 1
    follows = Counter(pair for row in rows for pair in pairwise(row))
    assert len(set(follows.values())) <= 1
    assert len(follows) == n * (n - 1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[arms.presses] ", "[arms.presses]\npressses = 1 ", "no entry 'pressses'. Closest: pres"),
        ('compare = "list"', 'compare = "lst"', "'lst', which is not known. Known: list, reasons"),
        ('primary = ["control"', 'primary = ["kontrol"', "Closest: control"),
        ('id = "age"\n', "", "lacks id"),
        ('id = "age"', 'id = "best"', "Two questions have the id 'best'"),
        ('languages = ["en"]', 'languages = ["de"]', "'de', which is not known. Known: en, nl, fr"),
        ('languages = ["en"]', 'languages = ["en", "nl"]', "in one language, and the study has 2"),
        ('title = "Events for you"', "title = { nl = 'x' }", "lacks a text in en"),
        ("reasons = true ", 'reasons = ["tag"] ', "names 'tag', which is not known. Known: tags"),
        ("presses = true ", "presses = true\nreasons = ['viewed']\nprofile = false\n"
         "statements = false ", "has presses and shows no tags to press"),
        ("seed = 1 ", "seed = -1 ", "seed must be greater than or equal to 0"),
        ("least = 18", "least = 180", "least = 180 above most = 120"),
        ('id = "age"\n', 'id = "looks"\n', "counts for 'looks', which is measured"),
        ('title = "Events for you"', "title = ' '", "title is empty"),
        ('text = "Which version would you use?"', "text = ''", "best text is empty"),
        ("check = 2 ", "check = 9 ", "attention check"),
        ("choose = 3", "choose = 13", "asks for 13 items, and the shortest list has 12"),
        ('name = "Events"', 'nme = "Events"', "'nme', which is not known"),
        ("people = 60 ", "people = 0 ", "people must be greater than or equal to 1"),
        ("# ends = 2027-01-31", "ends = 'soon'", "ends must be a valid date"),
        ('design = "within"', 'design = "both"', "'between' or 'within', found 'both'"),
        ("# link = \"https", "link = \"http", "link must match pattern"),
        ("[arms.list] ", "[arms.'my list'] ", "name must match pattern"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_told_in_a_sentence(
    write: Callable[..., Path], old: str, new: str, said: str
) -> None:
    path = write((old, new))
    with pytest.raises(ParameterError) as error:
        UserStudy.read(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_a_study_without_its_model_names_the_folder(write: Callable[..., Path]) -> None:
    path = write(('model = "events"', 'model = "nothing"'))
    with pytest.raises(ArtifactError, match="nothing"):
        open_catalogues(UserStudy.read(path))


def test_arms_must_know_what_people_pick(write: Callable[..., Path], tmp_path: Path) -> None:
    other = ('model = "events"\nreasons = false', 'model = "other"\nreasons = false')
    Teaser().fit(demo.dataset(n_events=149, n_users=500)).save(tmp_path / "other")
    with pytest.raises(ParameterError, match=r"same items \(1 in one alone\)"):
        open_catalogues(UserStudy.read(write(other)))
    assert open_catalogues(UserStudy.read(write(other, ("picks = 3 ", "picks = 0 "))))


def test_a_wrong_setting_of_an_arm_is_told_at_once(write: Callable[..., Path]) -> None:
    path = write(('# settings = { boost = "town=Ghent:0.2" }', 'settings = { boost = "x=y:0.2" }'))
    assert "error: boost names 'x=y'" in refused("study", "serve", path)


def test_a_model_without_names_in_a_language_is_told(
    write: Callable[..., Path], tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    other = ('model = "events"\nreasons = false', 'model = "other"\nreasons = false')
    path = write(other, ("picks = 3 ", "picks = 0 "))
    dataset = Dataset.from_tables(*tables, rules=[Category("type")])
    Teaser(l2_weights=5.0, l2_encoder=5.0).fit(dataset).save(tmp_path / "other")
    study = UserStudy.read(path)
    said = untranslated(study, open_catalogues(study), texts_in("nl"))
    assert len(said) == 1
    assert "The model of the arm 'list' has no names of tags in 'nl'" in said[0]


def test_our_questions_are_in_every_language_and_some_count_from_the_other_end() -> None:
    sets = question_sets()
    assert set(sets) == {"control", "transparency", "trust", "satisfaction", "effort"}
    for asked in sets.values():
        assert len(asked) == 3
        assert sum(q.reversed for q in asked) == 1
        for question in asked:
            assert isinstance(question.text, dict)
            assert set(question.text) == set(LANGUAGES)
            assert all(question.text.values())

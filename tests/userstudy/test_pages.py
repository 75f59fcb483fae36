"""The pages of a study: where people are, what they see of an arm, and what goes wrong."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from app.conftest import text_of
from commands import refused
from userstudy.conftest import Browser

from teaser.errors import ParameterError
from teaser.userstudy.export import COLUMNS, codebook, read_tables
from teaser.userstudy.lists import replay

Open = Callable[..., Callable[[], Browser]]
Write = Callable[..., Path]
ALREADY = "You have answered that page already, and your answers are kept."


def write_one(write: Write, arm: str, *changes: tuple[str, str]) -> Path:
    """Write the example with one of its arms."""
    path = write(*changes)
    text = path.read_text()
    for name in ("list", "reasons", "presses"):
        if name != arm:
            text = re.sub(rf"\[arms\.{name}\].*?(?=\n\[|\n#)", "", text, flags=re.S)
    path.write_text(text.replace('compare = "list"', ""))
    return path


def test_a_person_goes_from_consent_to_the_code(write: Write, open_study: Open) -> None:
    with open_study(write())() as browser:
        assert "We study how people choose" in text_of(browser.page())
        assert browser.own.people.rows()["participants"] == []
        assert "Your personal code is" in browser.agree()
        assert "0 of 3" in browser.submit("/next", step=0)
        browser.submit("/act", step=1, pick=browser.values("pick")[0])
        browser.submit("/act", step=1, pick=browser.values("pick")[:2])
        for _ in range(3):
            assert "Choose three events" in text_of(browser.page())
            assert "About this version" in browser.do_task()
            browser.answer()
        assert "How old are you?" in text_of(browser.page())
        said = browser.answer(best=1, remarks="My name is Ann")
        assert "Your completion code is REPLACE-ME" in said
        found = read_tables(browser.own.people)
        assert found.people["is_finished"].to_list() == [True]
        assert found.sessions["is_finished"].to_list() == [True] * 3
        assert len(found.answers) == 3 * 10 + 2
        assert set(found.exposures["arm"]) == {"list", "reasons", "presses"}


def test_withdrawal_by_the_code_deletes_everything(write: Write, open_study: Open) -> None:
    come = open_study(write())
    with come() as browser:
        browser.begin()
        code = re.findall(r'name="code" value="([^"]+)"', browser.get("/withdraw").text)[0]
        assert "Nobody has this code" in browser.submit("/withdraw", code="ABCD")
        assert len(browser.own.people.rows()["participants"]) == 1
        with come() as elsewhere:
            assert "is deleted" in elsewhere.submit("/withdraw", code=code.lower())
        assert all(rows == [] for rows in browser.own.people.rows().values())
        assert "We study how people choose" in text_of(browser.page())


def test_who_comes_back_is_where_they_were(write: Write, open_study: Open) -> None:
    come = open_study(write())
    with come() as browser:
        browser.begin(PROLIFIC_PID="p1", STUDY_ID="s", SESSION_ID="1")
        browser.submit("/act", step=2, choose=browser.values("choose")[0])
        with come() as elsewhere:  # another browser, by the same link
            said = text_of(elsewhere.get("/", params={"PROLIFIC_PID": "p1"}).text)
            assert "1 of 3 chosen" in said
            elsewhere.do_task()
            assert "About this version" in text_of(elsewhere.page())
        with come() as again:
            assert "About this version" in text_of(
                again.get("/", params={"PROLIFIC_PID": "p1", "SESSION_ID": "2"}).text
            )
        assert "About this version" in text_of(browser.page())  # the first browser goes on too
        assert len(browser.own.people.rows()["participants"]) == 1


def test_who_agrees_in_two_browsers_has_one_place(write: Write, open_study: Open) -> None:
    come = open_study(write())
    with come() as browser, come() as other:
        other.get("/", params={"PROLIFIC_PID": "p1"})  # and the page stays open
        browser.begin(PROLIFIC_PID="p1")
        assert "0 of 3 chosen" in other.submit("/consent", agree="1", PROLIFIC_PID="p1")
        assert len(browser.own.people.rows()["participants"]) == 1


def test_two_people_at_one_computer_have_two_places(write: Write, open_study: Open) -> None:
    with open_study(write())() as browser:
        browser.agree(PROLIFIC_PID="p1")
        assert "Your personal code" in browser.agree(PROLIFIC_PID="p2")
        assert [row["place"] for row in browser.own.people.rows()["participants"]] == [1, 2]


def test_two_tabs_and_the_back_button_lose_and_repeat_nothing(
    write: Write, open_study: Open
) -> None:
    with open_study(write())() as browser:
        browser.begin()
        items = browser.values("choose")
        browser.submit("/act", step=2, choose=items[:3])
        browser.submit("/next", step=2)
        # The other tab still shows the list, and so does the page that "back" leads to.
        assert ALREADY in browser.submit("/act", step=2, choose=items[4])
        assert ALREADY in browser.submit("/act", step=2, press="+1 town=Ghent")
        assert ALREADY in browser.submit("/next", step=2)
        browser.answer()
        before = browser.own.people.rows()["answers"]
        assert ALREADY in browser.submit("/next", step=3, **{"q-control_1": 7})
        assert ALREADY in browser.submit("/consent", agree="1") or browser.step == 4
        assert browser.own.people.rows()["answers"] == before
        assert len(before) == 10
        done = [r["data"] for r in browser.own.people.rows()["log"] if r["kind"] == "done"]
        assert done[1]["chosen"] == items[:3]


def test_missing_and_wrong_answers_are_asked_for_again_and_nothing_is_lost(
    write: Write, open_study: Open
) -> None:
    with open_study(write())() as browser:
        browser.begin()
        browser.do_task()
        answer = browser.post("/next", data={"step": 3, "q-control_1": 6, "q-control_2": 9})
        assert answer.status_code == 422
        assert "Some answers are missing" in answer.text
        assert re.search(r'name="q-control_1" value="6" required checked', answer.text)
        assert browser.own.people.rows()["answers"] == []
        assert browser.step == 3
        for _ in range(2):
            browser.answer()
            browser.do_task()
        browser.answer()
        said = browser.submit("/next", step=8, **{"q-best": 1, "q-age": "twelve"})
        assert "Please write a number from 18 to 120." in said
        assert "You are done" in browser.submit("/next", step=8, **{"q-best": 1, "q-age": "18,5"})


def test_attention_checks_flag_and_reject_nobody(write: Write, open_study: Open) -> None:
    with open_study(write())() as browser:
        browser.begin()
        for right in (2, 5, 2):
            browser.do_task()
            browser.answer(attention=right)
        assert "You are done" in browser.answer(best=1)
        people = read_tables(browser.own.people).people
        assert people["checks"].to_list() == [3]
        assert people["checks_failed"].to_list() == [1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("# ends = 2027-01-31", "ends = 2020-01-31"), "This study has ended."),
        (("recruited = false", "recruited = true"), "Its numbers are missing in this address."),
        (("people = 60 ", "people = 1 "), "All places in this study are taken"),
    ],
)
def test_who_cannot_begin_reads_why_and_nothing_is_stored(
    write: Write, open_study: Open, change: tuple[str, str], said: str
) -> None:
    come = open_study(write(change))
    with come() as first:
        if "people" in change[0]:
            first.agree()
        before = first.own.people.rows()
        with come() as browser:
            assert said in text_of(browser.page())
            assert said in browser.agree()
            assert browser.own.people.rows() == before


def test_who_began_before_the_last_place_was_taken_can_go_on(
    write: Write, open_study: Open
) -> None:
    come = open_study(write(("people = 60 ", "people = 1 ")))
    with come() as first, come() as second:
        first.begin()
        assert "All places" in second.agree()
        assert "About this version" in first.do_task()


def test_without_parameters_a_person_is_known_by_the_cookie(write: Write, open_study: Open) -> None:
    with open_study(write())() as browser:
        assert "Choose three events" in text_of(browser.begin())
        browser.agree()
        assert len(browser.own.people.rows()["participants"]) == 1


def test_ids_of_a_recruiting_service_are_stored_under_a_key_only(
    write: Write, open_study: Open, tmp_path: Path
) -> None:
    ids = {"PROLIFIC_PID": "5f1e0aParticipant", "STUDY_ID": "theStudyId", "SESSION_ID": "session1"}
    path = write()
    with open_study(path)() as browser:
        browser.begin(**ids)
        secret = browser.own.people.recruit_secret("x")
        assert browser.own.people.recruit_secret("another") != secret
    kept = b"".join(each.read_bytes() for each in tmp_path.glob("people.db*"))
    assert len(kept) > 1000
    for value in ids.values():
        assert value.encode() not in kept
    others = f"sqlite:///{tmp_path / 'others.db'}"
    with open_study(path, database_url=others)() as elsewhere:
        assert elsewhere.own.people.recruit_secret("x") != secret


def test_without_cookies_nobody_begins(write: Write, open_study: Open) -> None:
    with open_study(write())() as browser:
        assert "needs a cookie" in browser.submit("/consent", agree="1")
        assert browser.own.people.rows()["participants"] == []


def test_without_the_box_nobody_takes_part(write: Write, open_study: Open) -> None:
    with open_study(write())() as browser:
        browser.page()
        assert "Tick the box" in browser.submit("/consent")
        assert browser.own.people.rows()["participants"] == []


def test_a_task_asks_for_its_minimum(write: Write, open_study: Open) -> None:
    path = write(("min_seconds = 0", "min_seconds = 60"), ("min_looks = 0 ", "min_looks = 2 "))
    with open_study(path)() as browser:
        browser.begin()
        assert "Please choose what the task asks for" in browser.submit("/next", step=2)
        items = browser.values("choose")
        browser.submit("/act", step=2, choose=items[:3])
        assert "You have chosen enough" in browser.submit("/act", step=2, choose=items[3])
        assert "Please open some of the items" in browser.submit("/next", step=2)
        for item in (items[0], items[5], items[5]):
            assert browser.get("/look", params={"id": item}).status_code == 200
        assert re.search(r"(59|60) more seconds", browser.submit("/next", step=2))
        assert "3 of 3 chosen 2 of 2 opened" in text_of(browser.page())
        assert browser.get("/look", params={"id": "none"}).status_code == 404


def test_the_list_alone_shows_no_reason_and_takes_no_press(write: Write, open_study: Open) -> None:
    with open_study(write_one(write, "list"))() as browser:
        page = browser.begin()
        assert len(listed_cards(page)) == 12
        for word in ("Because", "match", "strongest", "learned", 'name="press"'):
            assert word not in page
        before = listed_cards(page)
        answer = browser.post("/act", data={"step": 2, "press": "+1 town=Ghent"})
        assert answer.status_code == 422
        assert listed_cards(browser.page()) == before
        assert "Because" not in browser.get("/look", params={"id": before[0]}).text


def listed_cards(page: str) -> list[str]:
    return re.findall(r'data-card="([^"]+)"', page)


def test_an_arm_with_presses_moves_its_list_and_logs_what_was_shown(
    write: Write, open_study: Open
) -> None:
    with open_study(write_one(write, "presses"))() as browser:
        page = browser.begin()
        for word in ("Because", "match", "Your strongest tags", "What I learned"):
            assert word in text_of(page)
        press = browser.values("press")[1]
        said = browser.submit("/act", step=2, press=press)
        assert re.search(r"\+ on .*?: \d+ (rose|fell|is new|are new)|stays", said), said[:300]
        shown = [row["data"] for row in browser.own.people.rows()["log"] if row["kind"] == "shown"]
        assert shown[-1]["n_events"] == shown[0]["n_events"] + 1
        assert [str(i["item"]) for i in shown[-1]["items"]] == listed_cards(browser.page())
        assert all(item["reasons"] for item in shown[-1]["items"])
        assert "statements" in shown[-1]
        assert replay(browser.own.people) == (len(shown) + 1, [])
        assert read_tables(browser.own.people).sessions["presses"].to_list() == [1.0]


def test_parts_of_reasons_settings_and_words_are_switches(write: Write, open_study: Open) -> None:
    path = write_one(
        write,
        "presses",
        ("words = false ", 'words = true\nreasons = ["site"] '),
        ('# settings = { boost = "town=Ghent:0.2" }', 'settings = { boost = "town=Ghent:9" }'),
    )
    with open_study(path)() as browser:
        page = browser.begin()
        assert "promoted by this site" in page
        assert "Because" not in page
        assert "General appeal" not in page
        said = browser.submit("/act", step=2, words="only concerts this month please")
        assert "only Concert" in said
        for _ in range(2):  # nobody is left with a list that is too short for the task
            browser.submit("/act", step=2, filter=unescape(browser.values("filter")[0]))
        assert browser.values("filter") == []
        assert "understood nothing" in browser.submit("/act", step=2, words="qwxz vbnm")
        words = [r["data"] for r in browser.own.people.rows()["log"] if r["kind"] == "words"]
        assert words[0]["wishes"]
        assert words[1]["wishes"] == []
        assert replay(browser.own.people)[1] == []
        events = read_tables(browser.own.people).events
        assert "qwxz" not in events["data"].str.join("")[0]
        with_texts = read_tables(browser.own.people, with_texts=True).events
        assert "qwxz" in with_texts["data"].str.join("")[0]


def test_pages_are_in_the_languages_of_the_study(write: Write, open_study: Open) -> None:
    path = write()
    given = tomlkit.parse(path.read_text()).unwrap()
    given["languages"] = ["en", "fr"]
    path.write_text(tomlkit.dumps(_doubled(given)))
    with open_study(path)() as browser:
        browser.headers["accept-language"] = "fr"
        page = browser.page()
        assert '<html lang="fr"' in page
        assert "accepte de participer" in page
        assert "en français" in page
        browser.post("/language", data={"language": "en", "back": "/"})
        assert "I agree to take part" in browser.page()
        browser.post("/language", data={"language": "nl", "back": "/"})
        assert "I agree to take part" in browser.page()  # the study is not in Dutch
        browser.post("/language", data={"language": "fr", "back": "/"})
        browser.begin()
        assert "C’est moi qui décidais" in browser.do_task()


def _doubled(value: Any, name: str = "") -> Any:
    """Return the tables of a study with each text in two languages."""
    if name in ("title", "instructions", "text", "choice"):
        return {"en": value, "fr": f"{value} en français"}
    if isinstance(value, dict):
        return {name: _doubled(below, name) for name, below in value.items()}
    if isinstance(value, list) and name in ("choices", "tasks", "arm", "end"):
        return [_doubled(below, "choice" if name == "choices" else "") for below in value]
    return value


def test_a_pilot_is_marked_and_apart(write: Write, open_study: Open) -> None:
    path = write()
    with open_study(path, "pilot")() as browser:
        assert "marked as a trial" in browser.begin()
        assert read_tables(browser.own.people).people["mode"].to_list() == ["pilot"]
    with open_study(path)() as browser:
        assert "marked as a trial" not in browser.begin()
        assert read_tables(browser.own.people).people["mode"].to_list() == ["real"]
    changed = write(("people = 60 ", "people = 70 "))
    with pytest.raises(ParameterError, match="frozen"):
        open_study(changed)
    database = f"sqlite:///{path.with_name('people.db')}"
    for command in ("replay", "export", "analyse"):  # which would have nobody in it
        assert "this changed: file" in refused("study", command, changed, "--database", database)
    with open_study(changed, "pilot")() as browser:
        browser.begin()
        found = read_tables(browser.own.people)
        assert len(found.people) == 1
        assert found.n_left_out == 1  # of the pilot of the earlier file


def test_an_export_has_nothing_that_identifies_a_person(write: Write, open_study: Open) -> None:
    with open_study(write())() as browser:
        browser.begin(PROLIFIC_PID="5f1eParticipant")
        for _ in range(3):
            browser.do_task()
            browser.answer()
        browser.answer(best=1, remarks="My name is Ann")
        rows = browser.own.people.rows()
        (row,) = rows["participants"]
        hidden = [row["id"], row["code_hash"], row["token_id"], "Ann"]
        hidden += [each["person_id"] for each in rows["sessions"]]
        hidden += [f"{row['created_at']:%H:%M}", "5f1eParticipant"]
        tables = read_tables(browser.own.people)
        written = "".join(getattr(tables, name).write_csv() for name in COLUMNS)
        assert len(written) > 10_000
        assert [each for each in hidden if each in written] == []
        told = codebook(browser.own.study)
        for name in COLUMNS:
            assert set(getattr(tables, name).columns) <= set(told["name"])
        for question in tables.answers["question"].unique():
            assert f"question {question}" in set(told["name"])

"""The pages of a study: consent, instructions, tasks with the arm's list, questions, thanks.

All pages of a person are at one address, which shows the step where they are. A form names the
step that it belongs to: one that was sent from an earlier page changes nothing.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData
from starlette.staticfiles import StaticFiles

from teaser.app import http
from teaser.app.actions import act as make_action
from teaser.app.actions import decide as decide_action
from teaser.app.actions import event_of
from teaser.app.brand import read_brand
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.i18n.texts import texts_in
from teaser.app.models import ModelHolder
from teaser.app.pages import home
from teaser.app.pages.cards import plain_card
from teaser.app.pages.item import send_picture
from teaser.app.pages.render import (
    Form,
    PageContext,
    Visitor,
    environment,
    render,
    visitor_of,
)
from teaser.app.search import check_words, read_words
from teaser.app.server import complete_app, new_app, open_services
from teaser.app.settings import Settings
from teaser.app.state import Event
from teaser.app.store import id_of
from teaser.data.matrix import ItemId
from teaser.errors import ParameterError, TeaserError, UnknownNameError
from teaser.userstudy.lists import ShownList, StudyCatalogue, first_event, open_catalogues
from teaser.userstudy.plan import Question, Step, UserStudy
from teaser.userstudy.store import (
    Change,
    Mode,
    Participant,
    StudyStore,
    spaced_code,
)

router = APIRouter(route_class=http.StoreRoute)

# The parameter in which a recruiting service, such as Prolific, gives its id of a person.
_RECRUITED_AS = "PROLIFIC_PID"
_MAX_TEXT = 2_000
_MAX_ID = 200


@dataclass(frozen=True)
class StudyServices:
    """What the pages of a study use besides the services of the site."""

    study: UserStudy
    people: StudyStore
    catalogues: Mapping[str, StudyCatalogue]


def create_study_app(
    settings: Settings,
    *,
    path: str | Path,
    mode: Mode = "real",
    people: int | None = None,
    migrate: bool = True,
) -> FastAPI:
    """Return the application of a study.

    Parameters
    ----------
    settings
        The settings of the server; see `UserStudy.site_settings`.
    path
        The file of the study.
    mode
        Whether people are real, those of a pilot, or simulated.
    people
        Another number of people than that of the plan, for simulated ones.
    migrate
        Whether to bring the database up to date.

    Raises
    ------
    ParameterError
        If the file is wrong, or if it or a model changed since the first participant.
    """
    study = UserStudy.read(path)
    study = study if people is None else replace(study, people=people)
    for arm in study.arms:
        check_words(study.arm_settings(arm))
    catalogues = open_catalogues(study)
    first = catalogues[study.arms[0].name]
    services = open_services(settings, ModelHolder(settings, first.model), migrate=migrate)
    own = StudyServices(study, StudyStore(services.store, study, mode), catalogues)
    own.people.check_frozen()
    app = new_app(services, read_brand(settings))
    app.state.study, app.state.templates = own, environment("teaser.userstudy")
    app.include_router(router, include_in_schema=False)
    app.post("/language", include_in_schema=False)(home.choose)
    static = Path(__file__).parent / "static"
    app.mount("/study-static", StaticFiles(directory=static), name="study-static")
    complete_app(app)
    return app


def study_of(request: Request) -> StudyServices:
    """Return what the pages of the study use."""
    found: StudyServices = request.app.state.study
    return found


@router.get("/")
def show(request: Request) -> Response:
    """Show the page where the person is; consent to somebody new."""
    own, recruit = study_of(request), _recruit(request.query_params)
    token = _token(request, recruit)
    found = own.people.find(id_of(token)) if token else None
    if found is None:
        return _first_page(request, recruit)
    if recruit:  # so that the id is not in the addresses of what follows
        response = RedirectResponse("/", 303)
        http.remember(response, request, http.TOKEN, token)
        return response
    step = own.study.steps(found.order)[found.step]
    return _SHOW[step.kind](request, found, step)


def _first_page(request: Request, recruit: str) -> Response:
    """Ask for consent, or say why nobody can begin."""
    study, people = study_of(request).study, study_of(request).people
    if study.has_ended(datetime.now(UTC).date()):
        return _page(request, "closed.html", why="ended")
    if study.recruited and not recruit:
        return _page(request, "closed.html", why="recruited")
    if people.is_full():
        return _page(request, "closed.html", why="full")
    return _page(request, "consent.html", recruit=recruit)


@router.post("/consent")
def consent(request: Request, form: Form) -> Response:
    """Give somebody who agrees a place in the plan."""
    own, recruit = study_of(request), _recruit(form)
    refused = own.study.recruited and not recruit
    if refused or own.study.has_ended(datetime.now(UTC).date()):
        return _first_page(request, recruit)
    if not _token(request):
        return _page(request, "closed.html", why="cookies", status=422)
    if not form.get("agree"):
        return _page(request, "consent.html", recruit=recruit, problem=True, status=422)
    language = _visitor(request).texts.language
    token = _token(request, recruit)
    if own.people.join(id_of(token), language=language) is None:
        return _page(request, "closed.html", why="full")
    response = RedirectResponse("/", 303)
    http.remember(response, request, http.TOKEN, token)
    return response


@router.post("/next")
def go_on(request: Request, form: Form) -> Response:
    """Store the answers of a page, and go to the next one."""
    own, found = study_of(request), _participant(request)
    if found is None:
        return RedirectResponse("/", 303)
    step = own.study.steps(found.order)[found.step]
    # Sent from an earlier page, or from one that has no such button.
    if form.get("step") != str(found.step) or step.kind in ("start", "thanks"):
        return RedirectResponse("/?note=moved", 303)
    asked = own.study.asked_at(step)
    answers, wrong = _read_answers(asked, form)
    if wrong:
        given = {q.id: str(form.get(f"q-{q.id}", "")) for q in asked}
        return _questions(request, found, step, given=given, wrong=wrong, status=422)

    def decide(now: Participant) -> Change | None:
        if _missing(now, step, own):
            return None
        data: dict[str, Any] = {"kind": step.kind}
        data |= {"chosen": now.state.get("chosen", [])} if step.kind == "task" else {}
        return Change(now.step + 1, log=[("done", data)], answers=answers)

    now = own.people.act(found, decide)
    note = _missing(now, step, own) if now.step == found.step else ""
    return RedirectResponse(f"/?note={note}#notice" if note else "/", 303)


@router.post("/act")
def act(request: Request, form: Form) -> Response:
    """Do what a button of a task says: pick, choose, press, say something in words."""
    own, found = study_of(request), _participant(request)
    if found is None or form.get("step") != str(found.step):
        return RedirectResponse("/" if found is None else "/?note=moved", 303)
    step = own.study.steps(found.order)[found.step]
    if step.kind == "start":
        return _pick(request, found, [str(text) for text in form.getlist("pick")])
    if step.kind != "task":
        return RedirectResponse("/?note=moved", 303)
    if "choose" in form or "unchoose" in form:
        return _choose(request, found, step, form)
    arm, catalogue = own.study.by_arm[step.arm], own.catalogues[step.arm]
    person_id, store = found.persons[step.arm], http.services_of(request).store
    buttons = (*(("press", "presses") if arm.presses else ()), *(("filter",) if arm.words else ()))
    if "words" in form and arm.words:
        event = _read_wishes(request, found, step, str(form["words"]))
        if event is None:
            return RedirectResponse("/?note=words#notice", 303)
        done = store.decide(person_id, lambda state: decide_action(state, event, catalogue))
    elif given := {name: str(form[name]) for name in buttons if name in form}:
        done = make_action(store, person_id, home.asked_event(FormData(given)), catalogue)
    else:
        raise ParameterError("The form names no action of this page. Use one of its buttons.")
    query = {"did": done.after.n_events} if done.event else {"note": "far"}
    return RedirectResponse(f"/?{urlencode(query)}#notice", 303)


@router.get("/look")
def look(request: Request, id: str = "") -> Response:  # noqa: A002 - the name in the address
    """Show one item of the list, and log that it was opened."""
    own, found = study_of(request), _participant(request)
    step = None if found is None else own.study.steps(found.order)[found.step]
    if found is None or step is None or step.kind != "task":
        return RedirectResponse("/", 303)
    shown = _shown(request, found, step)
    item = _item(shown.personal.catalogue, id)

    def decide(now: Participant) -> Change:
        looks = list(dict.fromkeys([*now.state.get("looks", []), item]))
        return Change(state={**now.state, "looks": looks}, log=[("look", {"item": item})])

    now = own.people.act(found, decide)
    texts = _visitor(request).texts
    cards = {card.card.item_id: card for card in shown.cards(texts, None)}
    entry = cards.get(item) or plain_card(shown.personal.catalogue, item, texts)
    return _page(
        request, "look.html", found=now, step=step, entry=entry, arm=shown.arm,
        reasons=shown.reasons(texts).get(item, []), chosen=now.state.get("chosen", []),
        task=own.study.by_task[step.task],
    )  # fmt: skip


@router.get("/picture/{item_id:path}")
def picture(request: Request, item_id: str) -> Response:
    """Send the picture of an item of any arm."""
    for catalogue in study_of(request).catalogues.values():
        with contextlib.suppress(UnknownNameError):
            return send_picture(catalogue, request.query_params.get("id", item_id))
    return Response(status_code=404)


@router.get("/withdraw")
def ask_withdrawal(request: Request) -> Response:
    """Ask for the code with which a person withdraws."""
    return _page(request, "withdraw.html", found=_participant(request), done=None)


@router.post("/withdraw")
def withdraw(request: Request, form: Form) -> Response:
    """Delete everything of the person who has the code."""
    own = study_of(request)
    done = own.people.withdraw(str(form.get("code", ""))[:_MAX_ID])
    status = 200 if done else 422
    response = _page(request, "withdraw.html", found=None, done=done, status=status)
    if done:
        http.forget(response, request, http.TOKEN)
    return response


def _show_text(request: Request, found: Participant, step: Step) -> Response:
    return _page(request, f"{step.kind}.html", found=found, step=step)


def _show_start(request: Request, found: Participant, step: Step) -> Response:
    """Show items to pick from, as the quick start of the site does."""
    own, texts = study_of(request), _visitor(request).texts
    catalogue = own.catalogues[own.study.arms[0].name]  # whatever the order: the same for all
    picked = tuple(found.state.get("picks", []))
    items = home.quick_start(catalogue, picked, ())
    picks = [plain_card(catalogue, item, texts) for item in items]
    return _page(request, "start.html", found=found, step=step, picks=picks, n_picked=len(picked))


def _show_task(request: Request, found: Participant, step: Step) -> Response:
    """Show the list of the arm, and log what is shown."""
    own, texts = study_of(request), _visitor(request).texts
    shown = _shown(request, found, step)
    own.people.act(found, lambda _: Change(log=[("shown", shown.record())]))
    summary = _summary(request, found, step, shown)
    task, chosen = own.study.by_task[step.task], found.state.get("chosen", [])
    return _page(
        request, "task.html", found=found, step=step, arm=shown.arm, task=task, summary=summary,
        cards=shown.cards(texts, summary.change.moves if summary else None),
        reasons=shown.reasons(texts), profile=shown.profile(texts), chips=shown.chips(texts),
        chosen=chosen, chosen_cards=[shown.personal.catalogue.card(item) for item in chosen],
        n_looks=len(found.state.get("looks", [])),
        seconds_left=_seconds_left(found, step, own),
        example=home.say_example(shown.personal.catalogue, texts) if shown.arm.words else "",
    )  # fmt: skip


def _questions(request: Request, found: Participant, step: Step, **values: Any) -> Response:
    common = {"found": found, "step": step, "asked": study_of(request).study.asked_at(step)}
    return _page(request, "questions.html", **{"given": {}, "wrong": {}, **common, **values})


_SHOW = {
    "instructions": _show_text,
    "start": _show_start,
    "task": _show_task,
    "questions": _questions,
    "thanks": _show_text,
}


def _page(
    request: Request,
    template: str,
    *,
    found: Participant | None = None,
    step: Step | None = None,
    status: int = 200,
    **values: Any,
) -> Response:
    """Return a page of the study in the person's language."""
    own, visitor = study_of(request), _visitor(request)
    study, language = own.study, visitor.texts.language
    common: dict[str, Any] = {
        "study": study,
        "mode": own.people.mode,
        "title": study.words(study.title, language),
        "words": lambda text: study.words(text, language),
        "found": found,
        "step": step,
        "progress": (found.step + 1, len(study.steps(found.order))) if found else None,
        "code": spaced_code(own.people.withdrawal_code(found.id)) if found else "",
        "note": request.query_params.get("note", ""),
        "page_path": "/",
        "summary": None,
        "problem": False,
    }
    return render(request, visitor, template, status=status, **(common | values))


def _visitor(request: Request) -> Visitor:
    """Return who sent a request, with texts in a language of the study."""
    visitor, study = visitor_of(request, with_person=False), study_of(request).study
    if visitor.texts.language in study.languages:
        return visitor
    return replace(visitor, texts=texts_in(study.languages[0]))


def _token(request: Request, recruit: str = "") -> str:
    """Return the token of who sent a request; empty without one.

    That of a recruited person follows from their id: it is the same in every browser.
    """
    store = http.services_of(request).store
    if recruit:
        secret = study_of(request).people.recruit_secret(recruit)
        return http.new_token(store.signing_key, secret)
    return http.signed_token(http.read_cookies(request), store) or ""


def _participant(request: Request) -> Participant | None:
    token = _token(request)
    return study_of(request).people.find(id_of(token)) if token else None


def _recruit(given: Any) -> str:
    """Return a recruiting service's id of a person in an address or a form; empty without one."""
    return http.valid_text(str(given.get(_RECRUITED_AS) or "").strip()[:_MAX_ID])


def _shown(request: Request, found: Participant, step: Step) -> ShownList:
    """Return the list of an arm; at first the arm gets what the person picked."""
    own, store = study_of(request), http.services_of(request).store
    arm, catalogue = own.study.by_arm[step.arm], own.catalogues[step.arm]
    first = first_event(arm, found.state.get("picks", []))
    done = store.decide(found.persons[step.arm], lambda now: None if now.n_events else first)
    return ShownList(arm, PersonalModel(catalogue, done.after))


def _summary(request: Request, found: Participant, step: Step, shown: ShownList) -> Any:
    """Return what the last press or wish did to the list, if one led to the page."""
    state, did = shown.personal.state, request.query_params.get("did")
    if not state.n_events or did != str(state.n_events):
        return None
    store, visitor = http.services_of(request).store, _visitor(request)
    before, event = store.last_action(found.persons[step.arm], state.n_events)
    catalogue = shown.personal.catalogue
    context = PageContext(visitor, catalogue, state, before, event)
    return context.summary(shown.places, k=shown.arm.length)


def _pick(request: Request, found: Participant, given: Sequence[str]) -> Response:
    """Add items to what a person picked first; with enough of them the first arm begins."""
    own = study_of(request)
    catalogue = own.catalogues[own.study.arms[0].name]
    items = [_item(catalogue, text) for text in given]

    def decide(now: Participant) -> Change | None:
        if not items:
            return None
        picks = list(dict.fromkeys([*now.state.get("picks", []), *items]))[: own.study.picks]
        log = [("pick", {"item": item}) for item in items]
        step = now.step + 1 if len(picks) >= own.study.picks else None
        return Change(step, {**now.state, "picks": picks}, log)

    own.people.act(found, decide)
    return RedirectResponse("/", 303)


def _choose(request: Request, found: Participant, step: Step, form: FormData) -> Response:
    """Choose items, or take a choice back."""
    own = study_of(request)
    most, catalogue = own.study.by_task[step.task].choose, own.catalogues[step.arm]
    taken = [_item(catalogue, str(text)) for text in form.getlist("unchoose")]
    new = [_item(catalogue, str(text)) for text in form.getlist("choose")]

    def decide(now: Participant) -> Change | None:
        kept = [item for item in now.state.get("chosen", []) if item not in taken]
        chosen = list(dict.fromkeys([*kept, *new]))
        if len(chosen) > most:
            return None
        log = [("unchoose", {"item": item}) for item in taken]
        log += [("choose", {"item": item}) for item in new]
        return Change(state={**now.state, "chosen": chosen}, log=log)

    now = own.people.act(found, decide)
    if now.step == found.step and not {*new} <= {*now.state.get("chosen", [])}:
        return RedirectResponse("/?note=enough#notice", 303)
    place = f"card-{quote(str(new[0]))}" if len(new) == 1 else "choices"
    return RedirectResponse(f"/#{place}", 303)


def _read_wishes(request: Request, found: Participant, step: Step, text: str) -> Event | None:
    """Return the event that a request in words asks for, and log it; None if it says nothing."""
    own, language = study_of(request), _visitor(request).texts.language
    arm, catalogue = own.study.by_arm[step.arm], own.catalogues[step.arm]
    wishes = []
    with contextlib.suppress(TeaserError):
        reading = read_words(catalogue, text, language, own.study.arm_settings(arm))
        unsure = {wish for pair in reading.contradictions for wish in pair}
        wishes = [wish for wish in reading.wishes if wish not in unsure]
    said = {"text": text[:_MAX_TEXT], "wishes": [str(wish) for wish in wishes]}
    own.people.act(found, lambda _: Change(log=[("words", said)]))
    state = http.services_of(request).store.state(found.persons[step.arm])
    return event_of(wishes, state, catalogue) if wishes else None


def _missing(found: Participant, step: Step, own: StudyServices) -> str:
    """Return the name of what a task still asks for; empty if it is done."""
    if step.kind != "task":
        return ""
    task, state = own.study.by_task[step.task], found.state
    if len(state.get("chosen", [])) < task.choose:
        return "few"
    if len(state.get("looks", [])) < task.min_looks:
        return "looks"
    return "wait" if _seconds_left(found, step, own) else ""


def _seconds_left(found: Participant, step: Step, own: StudyServices) -> int:
    """Return for how many seconds a task must still be shown; simulated people need not wait."""
    if own.people.mode == "simulated":
        return 0
    since = datetime.fromisoformat(found.state["since"])
    passed = (datetime.now(UTC) - since).total_seconds()
    return max(0, round(own.study.by_task[step.task].min_seconds - passed))


def _item(catalogue: Catalogue, text: str) -> ItemId:
    items = catalogue.model.items_
    found: ItemId = items[items.index_of(text)]
    return found


def _read_answers(
    asked: Sequence[Question], form: FormData
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the answers of a form by question, and what is wrong with others."""
    answers: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for question in asked:
        text = str(form.get(f"q-{question.id}", "")).strip()
        value = _read_answer(question, text) if text else None
        if value is not None:
            answers[question.id] = value
        elif text or question.required:
            wrong[question.id] = "wrong" if text else "missing"
    return answers, wrong


def _read_answer(question: Question, text: str) -> Any:
    """Return an answer as it is stored: a number or a text; None if it is none."""
    if question.kind == "text":
        return text[:_MAX_TEXT]
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return None
    if question.kind == "number":
        return number if question.least <= number <= question.most else None
    points = question.points if question.kind == "scale" else len(question.choices)
    return int(number) if number in range(1, points + 1) else None

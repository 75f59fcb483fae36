"""Discovered groups through the site and the API: shown, pressed, and kept over refits."""

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from app.conftest import API, DISCOVERED, OWN, TestClient, error_of, new_person

from teaser import Dataset, Tag, Teaser
from teaser.app.actions import decide
from teaser.app.catalogue import Catalogue, PersonalModel
from teaser.app.state import Event, State, state_of
from teaser.data import demo
from teaser.extensions import Remainder, Weights


@pytest.fixture(scope="module")
def crowd() -> Dataset:
    return demo.dataset(n_events=150, n_users=400, start=date(2026, 1, 1))


@pytest.fixture(scope="module")
def first(crowd: Dataset) -> Teaser:
    options: dict[str, Any] = {"weights": Weights(), "remainder": Remainder(neighbours=20)}
    return Teaser(discovered=DISCOVERED, **options).fit(crowd)


@pytest.fixture
def folder(first: Teaser, tmp_path: Path) -> Path:
    first.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def client(serve: Callable[..., TestClient], folder: Path) -> TestClient:
    found = serve(model=folder)
    found.headers.update(OWN)
    return found


def groups_of(model: Teaser) -> list[Tag]:
    return [tag for tag in model.tags_ if tag.discovered]


def grown(dataset: Dataset, share: float) -> Dataset:
    """Return the data set with more interactions: users choose what others like them chose."""
    rng = np.random.default_rng(5)
    X = sp.csr_array(dataset.X)
    new = X.tolil()
    likely = (X @ (X.T @ X)).toarray()
    likely[X.toarray() > 0] = 0
    for user in rng.choice(X.shape[0], int(share * X.nnz)):
        new[user, int(rng.choice(X.shape[1], p=likely[user] / likely[user].sum()))] = 1
    assert new.nnz > X.nnz
    return replace(dataset, X=sp.csr_array(new).astype(X.dtype))


def plain(page: str) -> str:
    return html.unescape(re.sub(r"[ \n]+", " ", re.sub(r"(?s)<svg.*?</svg>|<[^>]+>", " ", page)))


class TestApi:
    def test_a_group(self, client: TestClient, first: Teaser) -> None:
        assert first.groups_ is not None
        group = next(g for g in first.groups_.groups if g.label_tag is not None)
        found = client.get(f"{API}/groups", params={"tag": str(group.tag), "k": 3}).json()
        assert (found["tag"], found["discovered"]) == (str(group.tag), True)
        assert (found["n_items"], found["grain"]) == (group.size, group.grain)
        assert [e["item_id"] for e in found["exemplars"]] == list(group.exemplars)
        assert found["label_tag"]["tag"] == str(group.label_tag)
        assert found["label_tag"]["share"] == pytest.approx(group.label_share)
        assert [m["weight"] for m in found["members"]] == [1.0, 1.0, 1.0]
        assert found["aliases"] == []
        error = error_of(client.get(f"{API}/groups", params={"tag": "town=Ghent"}), 422)
        assert "not a group" in error["message"]
        error_of(client.get(f"{API}/groups", params={"tag": "discovered=Nothing"}), 404)


class TestRefit:
    """A press on a group stays over a refit, and over a renaming by the owner."""

    def test_a_press_stays_and_counts(
        self, client: TestClient, folder: Path, first: Teaser, crowd: Dataset
    ) -> None:
        pressed = groups_of(first)[2]
        viewed = str(first.items_[3])
        client.post("/act", data={"view": viewed})
        for _ in range(2):
            client.post("/act", data={"press": f"+1 {pressed}"})
        person = new_person(client)
        client.post(f"{person}/presses", json={"tag": str(pressed), "steps": 2})

        # One percent more interactions.
        more = grown(crowd, 0.01)
        second = Teaser(**first.parameters()).fit(more, start=first)
        assert first.groups_ is not None
        assert len(set(groups_of(second)) & set(groups_of(first))) >= 0.95 * len(first.groups_)
        assert pressed in second.tags_
        second.save(folder)
        assert client.post(f"{API}/admin/reload").status_code == 200
        self.check_pressed(client, person, second, pressed, viewed, steps=2)

        # The owner renames the group.
        names = folder.parent / "groups.toml"
        assert second.groups_ is not None
        second.groups_.write(names)
        text = names.read_text()
        line = f"# {json.dumps(pressed.value, ensure_ascii=False)} = "
        assert line in text
        start = text.index(line)
        end = text.index("\n", start)
        renamed = Tag("discovered", "A summer in the park")
        new = f"{line[2:]}{json.dumps(renamed.value)}"
        names.write_text(text[:start] + new + text[end:])
        options = replace(DISCOVERED, names=str(names))
        third = Teaser(**{**first.parameters(), "discovered": options}).fit(more, start=second)
        assert pressed not in third.tags_
        third.save(folder)
        assert client.post(f"{API}/admin/reload").status_code == 200
        self.check_pressed(client, person, third, renamed, viewed, steps=2)
        page = plain(client.get("/tag", params={"tag": str(renamed)}).text)
        assert f"It was called {pressed.value} before." in page
        old = client.get(f"{API}/groups", params={"tag": str(pressed)}).json()
        assert (old["tag"], old["aliases"]) == (str(renamed), [pressed.value])

        # A press back is one press, under today's name; undo gives the old state.
        page = client.post("/act", data={"press": f"-1 {renamed}"}).text
        assert "− on the group “A summer in the park”" in plain(page)
        self.check_pressed(client, None, third, renamed, viewed, steps=1)
        client.post("/act", data={"undo": "1"})
        self.check_pressed(client, None, third, renamed, viewed, steps=2)
        answer = client.post(f"{person}/presses", json={"tag": str(pressed), "steps": 3}).json()
        assert answer["presses"] == [{"tag": str(renamed), "steps": 5}]
        refused = client.post(f"{person}/presses", json={"tag": str(renamed), "steps": 2})
        error_of(refused, 422)

    def check_pressed(
        self,
        client: TestClient,
        person: str | None,
        model: Teaser,
        tag: Tag,
        viewed: str,
        *,
        steps: int,
    ) -> None:
        page = client.get("/").text
        expected = model.recommend([viewed], {tag: steps}, k=12)
        assert re.findall(r'class="card" data-card="([^"]+)"', page) == [
            str(r.item_id) for r in expected
        ]
        button = f'value="-1 {html.escape(str(tag))}"'
        row = next(r for r in re.findall(r'(?s)<li class="tag group".*?</li>', page) if button in r)
        assert re.search(rf"pressed </span>\+{steps}</span>", row)
        assert "unknown" not in plain(page)
        if person is not None:
            state = client.get(person).json()
            assert state["presses"] == [{"tag": str(tag), "steps": steps}]
            assert state["unknown_tags"] == []


def test_presses_on_merged_groups_are_one_number(
    first: Teaser, crowd: Dataset, tmp_path: Path
) -> None:
    one, two = (tag.value for tag in groups_of(first)[:2])
    names = tmp_path / "groups.toml"
    quoted = json.dumps([one, two], ensure_ascii=False)
    names.write_text(f'[merge]\n"Both" = {quoted}\n')
    options = replace(DISCOVERED, names=str(names))
    merged = Teaser(**{**first.parameters(), "discovered": options}).fit(crowd, start=first)
    catalogue = Catalogue(merged)
    both = Tag("discovered", "Both")
    state = State(presses={f"discovered={one}": 4, f"discovered={two}": 3})
    personal = PersonalModel(catalogue, state)
    assert personal.presses == {both: 5}
    assert personal.profile.values.tolist() == merged.profile([], {both: 5}).values.tolist()
    # One press back goes to 4 of today's name, and nothing stays under the old ones.
    event = decide(state, Event("press", {"presses": {str(both): -1}}), catalogue)
    assert event is not None
    pressed = Event("press", {"presses": dict(state.presses)})
    after = state_of([pressed, event])
    assert after.presses == {str(both): 4}
    assert state_of([pressed, event, Event("undo")]).presses == state.presses
    assert decide(state, Event("press", {"presses": {f"discovered={one}": 1}}), catalogue) is None

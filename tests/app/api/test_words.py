"""Requests in words over the API."""

from typing import Any

import pytest
from app.conftest import API, TestClient, error_of

from teaser import Teaser
from teaser.words.interpreter import LONGEST


def read(client: TestClient, text: str, **asked: Any) -> Any:
    answer = client.post(f"{API}/words", json={"text": text, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_wishes_unknown_words_and_contradictions(client: TestClient, model: Teaser) -> None:
    assert "town=Ghent" in map(str, model.tags_)
    found = read(client, "a bit more Ghent, no Ghent, dragons")
    both = ["press +2 town=Ghent", "without town=Ghent"]
    assert [wish["wish"] for wish in found["wishes"]] == both
    assert found["wishes"][0] == {
        "wish": "press +2 town=Ghent", "kind": "press", "name": "town=Ghent", "steps": 2,
        "number": None, "lasts": "always", "words": "a bit more Ghent",
    }  # fmt: skip
    assert found["unknown"] == ["dragons"]
    assert found["contradictions"] == [both]


@pytest.mark.parametrize(
    ("language", "text"), [("nl", "niet in Gent"), ("fr", "pas à Gand"), ("en", "not in Ghent")]
)
def test_languages(client: TestClient, language: str, text: str) -> None:
    found = read(client, text, language=language)
    assert [wish["wish"] for wish in found["wishes"]] == ["without town=Ghent"]


@pytest.mark.parametrize("text", ["", "<script>alert(1)</script>", "драконы", "\n\n"])
def test_odd_texts_give_no_wish(client: TestClient, text: str) -> None:
    assert read(client, text)["wishes"] == []


def test_a_novel_is_refused(client: TestClient) -> None:
    answer = client.post(f"{API}/words", json={"text": "word " * LONGEST})
    assert "text" in error_of(answer, 422)["message"]


def test_an_unknown_language_is_refused(client: TestClient) -> None:
    answer = client.post(f"{API}/words", json={"text": "jazz", "language": "de"})
    error_of(answer, 422)

"""The reference of the Python library: every public name on one page."""

import inspect

import pytest
from website import python_reference

import teaser


def test_every_public_name_is_on_one_page_of_the_reference() -> None:
    by_page = python_reference.names_by_page()
    listed = [path for names in by_page.values() for path in names]
    assert len(listed) == len(set(listed))
    for name in teaser.__all__:
        assert f"teaser.{name}" in listed
    for path, value in python_reference.public_names().items():
        assert python_reference.summary(path, value).strip(), f"{path} has no docstring"
    titles = {page.name: names for page, names in by_page.items()}
    assert titles["data"][0] == "teaser.Dataset"
    assert "teaser.baselines.EASE" in titles["models"]
    assert "teaser.errors.UnknownNameError" in titles["errors"]


def test_a_public_name_without_a_page_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = tuple(p for p in python_reference.PAGES if p.name != "guide")
    monkeypatch.setattr(python_reference, "PAGES", rest)
    with pytest.raises(LookupError, match=r"teaser\.steer\.\w+ .*python_reference"):
        python_reference.names_by_page()


def test_constants_are_public_names() -> None:
    for path in python_reference.CONSTANTS:
        assert not inspect.isclass(python_reference.public_names()[path])

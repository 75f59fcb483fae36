"""The reference of the Python library: every public name on one page."""

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

"""Settings are read from the environment, and wrong values are refused."""

import os
from pathlib import Path
from typing import Any

import pytest

from teaser.app.settings import Settings
from teaser.errors import ParameterError

EVERYWHERE = "0.0.0.0"  # noqa: S104


def read(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    """Return the settings of an environment with `TEASER_` before each name."""
    for name in [name for name in os.environ if name.startswith("TEASER_")]:
        monkeypatch.delenv(name)
    for name, text in variables.items():
        monkeypatch.setenv(f"TEASER_{name}", text)
    return Settings.from_environment()


def environment(settings: Settings) -> dict[str, str]:
    return {f"TEASER_{name.upper()}": str(value) for name, value in settings}


def test_settings_come_back_from_the_environment_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings(
        model=Path("/models/events"), database_url="postgresql://me:a=b@host/db?x=1", host="::1",
        port=0, keys="on", hosts="a.example, b.example", secure_cookies=True, idle_timeout=1.5,
        name="Books & more", accent="#7a1f5c", time_zone="Europe/Brussels", mcp=False,
    )  # fmt: skip
    for given in (settings, Settings(model=Path("m"))):
        for name, text in environment(given).items():
            monkeypatch.setenv(name, text)
        assert Settings.from_environment().model_dump() == given.model_dump()


def test_variables_set_what_they_name_and_arguments_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = read(monkeypatch, MODEL="/models/mine", PORT="81", DATA="/data")
    assert found.model_dump() == Settings(model=Path("/models/mine"), port=81).model_dump()
    assert Settings.from_environment(port=82).port == 82
    assert Settings(model=Path("m")).port == 8000  # arguments alone read no variable


WRONG = """
PORT=eighty PORT=70000 MAX_CONNECTIONS=0 IDLE_TIMEOUT=inf STOP_TIMEOUT=-1 SECURE_COOKIES=maybe
HOSTS=https://a.example HOSTS=a.example,b.example:80 KEYS=perhaps ACCENT=teal ACCENT_DARK=#12345
TIME_ZONE=Europe/Gent TIME_ZONE=../../etc/passwd MAX_IMPORT=0 MCP=perhaps MAX_BODY=0 RATE=-5
MAX_EVENTS=0 KEY_RATE=-1 LOG_LEVEL=loud LOG_FORMAT=xml MONITORING=10.0.0.0/40 MONITORING=localhost
"""


@pytest.mark.parametrize("wrong", [*WRONG.split(), "NAME= ", f"NAME={'x' * 41}"])
def test_an_error_names_the_variable_and_what_was_found(
    monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    name, _, text = wrong.partition("=")
    with pytest.raises(ParameterError, match=rf"TEASER_{name}.*'{text}'"):
        read(monkeypatch, MODEL="m", **{name: text})


def test_a_model_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="TEASER_MODEL"):
        read(monkeypatch)


def test_a_setting_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ParameterError, match="prot"):
        Settings(model=Path("m"), prot=80)


def test_the_database_lies_beside_the_model_unless_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings(model=Path("model")).database == f"sqlite:///{tmp_path}/model.people.db"
    given: dict[str, Any] = {"database_url": "postgresql:///people"}
    assert Settings(model=Path("model"), **given).database == "postgresql:///people"


OWN_NAMES = "localhost localhost:8000 LOCALHOST:8000 localhost. 127.0.0.1:8000 [::1]:8000"
FOREIGN = """
evil.example 127.0.0.1.evil.example localhost@evil.example 127.0.0.1,evil.example [::1 2130706433
[::1]evil.example localhost:80:80 [2001:db8::1]:8000
"""


@pytest.mark.parametrize(
    ("given", "header", "is_own"),
    [
        *(({}, name, True) for name in OWN_NAMES.split()),
        *(({}, name, False) for name in FOREIGN.split()),
        ({}, "10.0.0.7", False),
        ({"hosts": "box.example,Other.Example"}, "BOX.example:80", True),
        ({"hosts": "box.example,Other.Example"}, "other.example", True),
        ({"hosts": "::1,10.0.0.7"}, "10.0.0.7:80", True),
        ({"keys": "on"}, "any.example", True),
        ({"keys": "on", "hosts": "box.example"}, "any.example", False),
        ({"host": EVERYWHERE}, "any.example", True),
        ({"host": EVERYWHERE, "hosts": "box.example"}, "any.example", False),
        ({"host": EVERYWHERE, "hosts": "box.example"}, "10.0.0.7:8000", True),
        ({"host": EVERYWHERE, "hosts": "box.example"}, "[2001:db8::1]:8000", True),
        ({"host": EVERYWHERE, "keys": "off"}, "any.example", False),
        ({"host": EVERYWHERE, "keys": "off"}, "10.0.0.7", True),
        ({"host": "Box.example", "keys": "off"}, "box.example", True),
        ({"host": "Box.example", "keys": "off"}, "", False),
    ],
)
def test_names_are_ours_or_not(given: dict[str, Any], header: str, is_own: bool) -> None:
    assert Settings(model=Path("m"), **given).is_own_host(header) is is_own


def test_boosts_are_read_and_come_back_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "promoted:0.2; title=a;b: c:-1e-1;"
    settings = Settings(model="m", boost=text)
    assert settings.boosts == {"promoted": 0.2, "title=a;b: c": -0.1}
    for name, value in environment(settings).items():
        monkeypatch.setenv(name, value)
    assert Settings.from_environment().boosts == settings.boosts
    assert Settings(model="m").boosts == {}
    for wrong in ("promoted", "promoted:much", ":1", "a:1;b"):
        with pytest.raises(ParameterError, match=r"TEASER_BOOST.*ID_OR_TAG:number"):
            Settings(model="m", boost=wrong)

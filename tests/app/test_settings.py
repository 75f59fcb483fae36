"""Settings travel through the environment unharmed; wrong ones are said."""

from pathlib import Path
from typing import Any

import pytest

from teaser.app.settings import Settings, host_of, is_loopback
from teaser.errors import ParameterError


def test_settings_come_back_from_the_environment_as_they_were() -> None:
    settings = Settings(
        Path("/models/events"),
        database_url="postgresql://me:a=b@host/db?x=1",
        host="::1",
        port=0,
        keys="on",
        hosts="a.example, b.example",
        proxies="10.0.0.1",
        secure_cookies=True,
        max_body=10,
        rate=0,
        max_events=7,
        copies="/var/tmp",  # noqa: S108
        room="/run/teaser",
    )
    assert Settings.from_environment(settings.as_environment()) == settings
    assert Settings.from_environment(Settings(Path("m")).as_environment()) == Settings(Path("m"))


def test_what_the_environment_does_not_name_has_its_default() -> None:
    assert Settings.from_environment({"TEASER_MODEL": "m", "HOME": "/"}) == Settings(Path("m"))


def test_the_environment_of_the_process_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEASER_MODEL", "/models/mine")
    monkeypatch.setenv("TEASER_PORT", "81")
    found = Settings.from_environment()
    assert (found.model, found.port) == (Path("/models/mine"), 81)


@pytest.mark.parametrize("text", ["true", "True", "1"])
def test_yes_is_read(text: str) -> None:
    found = Settings.from_environment({"TEASER_MODEL": "m", "TEASER_SECURE_COOKIES": text})
    assert found.secure_cookies is True


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "TEASER_MODEL"),
        ({"TEASER_MODEL": "m", "TEASER_PORT": "eighty"}, "TEASER_PORT cannot be 'eighty'"),
        ({"TEASER_MODEL": "m", "TEASER_PORT": "70000"}, "port must be from 0 to 65535"),
        ({"TEASER_MODEL": "m", "TEASER_PORT": "-1"}, "port must be from 0 to 65535"),
        ({"TEASER_MODEL": "m", "TEASER_SECURE_COOKIES": "maybe"}, "SECURE_COOKIES cannot be"),
        ({"TEASER_MODEL": "m", "TEASER_HOSTS": "https://a.example"}, "without scheme"),
        ({"TEASER_MODEL": "m", "TEASER_HOSTS": "a.example,b.example:80"}, "'b.example:80' is no"),
        ({"TEASER_MODEL": "m", "TEASER_KEYS": "perhaps"}, "keys must be auto, on or off"),
    ],
)
def test_wrong_settings_are_said(given: dict[str, str], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Settings.from_environment(given)


@pytest.mark.parametrize(
    ("host", "keys", "needed"),
    [
        ("127.0.0.1", "auto", False),
        ("localhost", "auto", False),
        ("::1", "auto", False),
        ("0.0.0.0", "auto", True),  # noqa: S104
        ("::", "auto", True),
        ("10.0.0.7", "auto", True),
        ("example.org", "auto", True),
        ("127.0.0.1", "on", True),
        ("0.0.0.0", "off", False),  # noqa: S104
    ],
)
def test_keys_are_needed_wherever_others_can_reach(host: str, keys: str, needed: bool) -> None:
    assert Settings(Path("m"), host=host, keys=keys).needs_keys is needed


@pytest.mark.parametrize("host", ["127.8.9.10", "::1", "localhost"])
def test_loopback_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "127.0.0.1.example.org", "localhost.example.org", "1.2.3.4"])
def test_what_only_looks_like_loopback_is_not(host: str) -> None:
    assert not is_loopback(host)


def test_the_database_lies_beside_the_model_unless_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings(Path("model")).database == f"sqlite:///{tmp_path}/model.people.db"
    given: dict[str, Any] = {"database_url": "postgresql:///people"}
    assert Settings(Path("model"), **given).database == "postgresql:///people"


EVERYWHERE = "0.0.0.0"  # noqa: S104


@pytest.mark.parametrize(
    ("given", "header", "is_own"),
    [
        ({}, "localhost:8000", True),
        ({}, "evil.example", False),
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
    assert Settings(Path("m"), **given).is_own_host(header) is is_own


@pytest.mark.parametrize(
    ("header", "host"),
    [
        ("A.example:80", "a.example"),
        ("a.example.", "a.example"),
        ("[::1]:80", "::1"),
        ("::1", None),
        ("a b", None),
        ("a/b", None),
        ("a@b", None),
        ("a:80:80", None),
        ("a:x", None),
        ("", None),
        (".", None),
    ],
)
def test_a_host_is_read(header: str, host: str | None) -> None:
    assert host_of(header) == host

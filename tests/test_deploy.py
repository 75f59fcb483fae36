"""The files of deploy/: linted, true to the program, and run as far as this goes without images."""

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from served import free_port
from typer.main import get_command

from teaser import Teaser
from teaser.app.settings import PREFIX, Settings
from teaser.cli.main import app
from teaser.testing import example_dataset

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.iterdir() if path.is_file())
UNITS = [path for path in FILES if path.suffix in (".service", ".timer")]


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Containerfile: name and text, continued lines joined."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Containerfile").read_text(), flags=re.M)
    lines = text.replace("\\\n", " ").splitlines()
    return [(name, rest.strip()) for name, _, rest in (x.partition(" ") for x in lines) if name]


def told(name: str) -> str:
    """Return the last instruction of a name."""
    return [text for found, text in instructions() if found == name][-1]


def image_environment() -> dict[str, str]:
    return dict(word.split("=", 1) for word in shlex.split(told("ENV")))


def compose() -> Any:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


class UnitParser(configparser.ConfigParser):
    """A parser of the files of systemd, which tell capitals from small letters."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def unit(name: str) -> dict[str, str]:
    parser = UnitParser(interpolation=None, strict=False)
    parser.read(DEPLOY / name)
    return dict(parser["Service"])


@pytest.mark.skipif(
    shutil.which("hadolint", path=Path(sys.executable).parent) is None,
    reason="hadolint has no wheel for this machine",
)
def test_the_containerfile_passes_its_linter() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, DEPLOY / "Containerfile"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_settings_named_in_a_file_exist(path: Path) -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    assert set(re.findall(rf"\b{PREFIX}[A-Z_]+\b", path.read_text())) <= known


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_commands_named_in_a_file_exist(path: Path) -> None:
    words: list[list[str]] = []
    if path.suffix == ".service":
        words = [shlex.split(unit(path.name)["ExecStart"])[1:]]
    elif path.name == "compose.yaml":
        words = [s["command"] for s in compose()["services"].values() if "command" in s]
    elif path.name == "Containerfile":
        words = [json.loads(told("CMD"))]
    commands: Any = get_command(app)
    for line in words:
        command = commands.get_command(None, line[0])
        assert command is not None, line
        command.make_context(line[0], line[1:], resilient_parsing=False)


def test_hashes_of_a_report_let_pip_install_the_same_files_only(tmp_path: Path) -> None:
    wheel = tmp_path / "small-1.0-py3-none-any.whl"

    def build(content: str) -> None:
        about = "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n"
        kind = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        with zipfile.ZipFile(wheel, "w") as file:
            file.writestr("small.py", content)
            for name, text in (("METADATA", about), ("WHEEL", kind), ("RECORD", "")):
                file.writestr(f"small-1.0.dist-info/{name}", text)

    def pip(*words: str) -> subprocess.CompletedProcess[str]:
        own = ("--no-index", "--find-links", str(tmp_path), "--dry-run", "--ignore-installed")
        command = [sys.executable, "-m", "pip", "install", "--quiet", *own, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    build("x = 1")
    script = [sys.executable, str(DEPLOY / "hashes.py")]
    report = pip("--report", "-", "small").stdout
    printed = subprocess.run(script, input=report, capture_output=True, text=True, check=True)
    (tmp_path / "hashes.txt").write_text(printed.stdout)
    pinned = ("--require-hashes", "--requirement", str(tmp_path / "hashes.txt"))
    assert pip(*pinned).returncode == 0
    build("x = 2")
    assert "DO NOT MATCH" in pip(*pinned).stderr


def test_the_services_are_confined_and_wait_for_the_database() -> None:
    services = compose()["services"]
    for name in ("server", "refit"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["depends_on"]["database"]["condition"] == "service_healthy"
    assert services["server"]["volumes"][0].endswith(":ro")
    assert [name for name, s in services.items() if "ports" in s] == ["proxy"]
    networks = compose()["networks"]["inside"]["ipam"]["config"][0]["subnet"]
    assert services["server"]["environment"]["TEASER_PROXIES"] == networks
    used = {v.split(":")[0] for s in services.values() for v in s["volumes"] if v[0] not in "$./"}
    assert used == set(compose()["volumes"])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="it needs systemd-analyze")
@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_pass_systemds_own_check(path: Path, tmp_path: Path) -> None:
    for each in UNITS:  # /opt/teaser is not there: another program stands for ours
        text = each.read_text().replace("/opt/teaser/bin/teaser", "/bin/true")
        (tmp_path / each.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / path.name], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert path.name not in done.stderr


@pytest.mark.skipif(shutil.which("nginx") is None, reason="it needs nginx")
def test_nginx_takes_its_file(tmp_path: Path) -> None:
    text = (DEPLOY / "nginx.conf").read_text()
    text = re.sub(r"^.*ssl_certificate.*$", "", text, flags=re.M).replace(" ssl http2", "")
    file = tmp_path / "nginx.conf"
    file.write_text(f"events {{}} http {{ {text} }}")
    done = subprocess.run(
        ["nginx", "-t", "-p", tmp_path, "-e", "stderr", "-g", "pid nginx.pid;", "-c", file],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_proxies_let_the_largest_import_pass() -> None:
    # "k" of nginx and "KiB" of Caddy are 1,024 bytes; "kB" of Caddy is a thousand.
    (nginx,) = re.findall(r"client_max_body_size (\d+)k;", (DEPLOY / "nginx.conf").read_text())
    (caddy,) = re.findall(r"max_size (\d+)KiB\b", (DEPLOY / "Caddyfile").read_text())
    largest = Settings.model_fields["max_import"].default
    assert {int(nginx) * 1024, int(caddy) * 1024} == {largest}


def other_user() -> int | None:
    """Return the image's user, if this process may run Python as that user."""
    user = int(told("USER").split(":")[0])
    try:
        subprocess.run([sys.executable, "-c", ""], user=user, group=user, check=True, cwd="/")
    except (PermissionError, subprocess.CalledProcessError):
        return None
    return user


@pytest.fixture
def volumes() -> Iterator[Path]:
    """Yield a folder with the model, read-only, and a state folder of the image's user."""
    with tempfile.TemporaryDirectory(prefix="teaser-image-") as folder:
        base = Path(folder)
        Teaser().fit(example_dataset()).save(base / "data" / "model")
        (base / "state").mkdir(mode=0o700)
        if (user := other_user()) is not None:
            os.chown(base / "state", user, user)
        for path in (base, *(base / "data").rglob("*")):
            path.chmod(path.stat().st_mode | stat.S_IROTH | (stat.S_IXOTH * path.is_dir()))
        (base / "data").chmod(0o555)
        yield base


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_images_command_serves_and_ends_in_order(volumes: Path) -> None:
    environment = {
        name: value.replace("/var/lib/teaser", str(volumes / "state"))
        for name, value in image_environment().items()
    }
    environment |= {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "TEASER_HOST": "127.0.0.1",
        "TEASER_PORT": str(free_port()),
    }
    user = other_user()
    words = [text.replace("/data/", f"{volumes}/data/") for text in json.loads(told("CMD"))]
    command = [sys.executable, "-m", *json.loads(told("ENTRYPOINT")), *words]
    check = json.loads(told("HEALTHCHECK").partition("CMD ")[2])
    with subprocess.Popen(command, env=environment, cwd="/", user=user, group=user) as server:
        try:
            deadline = time.monotonic() + 120
            # A check is a program of its own: none is started before somebody listens.
            while (
                not listens(int(environment["TEASER_PORT"]))
                or subprocess.run(check, env=environment, capture_output=True).returncode
            ):
                assert server.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.2)
            assert (volumes / "state" / "people.db").exists()
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    assert [p.name for p in (volumes / "state").iterdir() if p.name.startswith("teaser-")] == []

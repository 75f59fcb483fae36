"""What is shipped: the wheel, what it holds, and that it works on its own."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from email import message_from_string
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# CuPy needs a GPU's driver, so no test machine has to have it.
NEEDS_A_GPU = {"cupy-cuda12x"}
# They hold other packages back, and have an environment of their own: make test-bridges.
BRIDGES = {"lenskit", "rectools"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (found,) = folder.glob("teaser_recommender-*.whl")
    return found


@pytest.fixture(scope="module")
def empty_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment `env` in which the wheel is installed, and nothing else."""
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    python = str(folder / "env" / "bin" / "python")
    install = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", *install], check=True
    )
    # The dependencies are those of this environment. A path in a .pth file is not searched for
    # further .pth files, so the checkout that is installed here stays out of reach.
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder


def run_in(folder: Path, *words: str) -> str:
    """Run a command of the environment in its folder, without this checkout's paths."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [folder / "env" / "bin" / words[0], *words[1:]],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def with_model(empty_folder: Path) -> Path:
    """The folder, with a model `site` that the wheel made of its events."""
    program = """
from teaser import Teaser
from teaser.data import demo

Teaser().fit(demo.dataset(n_events=60, n_users=200)).save("site")
"""
    run_in(empty_folder, "python", "-c", program)
    return empty_folder


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {n for n in archive.namelist() if not n.split("/")[0].endswith(".dist-info")}
        path = next(n for n in archive.namelist() if n.endswith("METADATA"))
        metadata = message_from_string(archive.read(path).decode())
    source = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src").rglob("*") if p.is_file()}
    assert names == {n for n in source if "__pycache__" not in n}
    assert "teaser/py.typed" in names
    assert metadata["Name"] == "teaser-recommender"
    assert set(metadata.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])


def test_every_module_of_the_wheel_is_imported_in_an_empty_folder(empty_folder: Path) -> None:
    program = """
import importlib, pkgutil, teaser
print(teaser.__file__)
for module in pkgutil.walk_packages(teaser.__path__, "teaser."):
    if not module.name.endswith("__main__") and ".migrations." not in module.name:
        try:
            importlib.import_module(module.name)
        except teaser.errors.MissingPackageError as error:
            assert error.extra in ("lenskit", "rectools"), error
"""
    assert str(empty_folder) in run_in(empty_folder, "python", "-W", "error", "-c", program)


def test_the_command_of_the_wheel_works_in_an_empty_folder(with_model: Path) -> None:
    assert version("teaser-recommender") in run_in(with_model, "teaser", "--version")
    listed = run_in(with_model, "teaser", "recommend", "site", "--history", "e0001", "--json")
    assert '"item_id"' in listed


def test_the_site_of_the_wheel_answers_in_an_empty_folder(with_model: Path) -> None:
    program = """
from fastapi.testclient import TestClient
from teaser.app.server import create_app
from teaser.app.settings import Settings

with TestClient(create_app(Settings(model="site")), base_url="http://127.0.0.1") as client:
    for path in ("/", "/static/teaser.css", "/api/v1/model", "/tour"):
        assert client.get(path).status_code == 200, path
    assert "Geliefd bij velen" in client.get("/", headers={"accept-language": "nl"}).text
"""
    run_in(with_model, "python", "-c", program)


def test_every_extra_is_satisfied_where_the_tests_run() -> None:
    for requirement in map(Requirement, chain(*PROJECT["optional-dependencies"].values())):
        if requirement.name not in NEEDS_A_GPU | BRIDGES:
            assert requirement.specifier.contains(version(requirement.name)), requirement


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-bridges.txt"])
def test_constraints_are_names_and_versions_only(name: str) -> None:
    lines = (ROOT / name).read_text().split()
    assert lines
    assert all(re.fullmatch(r"[A-Za-z0-9_.\-]+==[0-9][\w.+]*", line) for line in lines)

"""The built site: every link leads somewhere, nothing comes from elsewhere, people can use it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser.steps import check_looks
from chromium import open_chromium
from playwright.sync_api import Browser, Page
from website.stage import ROOT, address, pages


class Links(HTMLParser):
    """The links, the loaded files and the anchors of a page, and pictures without a text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.mute: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("index", "search", "next", "prev"):
            self.loaded.append(given["href"])
        self.loaded += [given["src"]] if "src" in given else []
        if tag == "img" and "alt" not in given:
            self.mute.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site; one worker builds it, as the fixture is of this file."""
    built = tmp_path_factory.mktemp("site") / "documentation"
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "website.build", str(built)],
        cwd=ROOT / "docs",
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return built


@pytest.fixture(scope="module")
def read(site: Path) -> dict[Path, Links]:
    return {path: Links(path) for path in sorted(site.rglob("*.html"))}


def test_every_page_of_the_repository_is_there(site: Path) -> None:
    for page in pages():
        assert (site / address(page)).with_suffix(".html").exists(), page


def test_links_and_anchors_lead_somewhere(site: Path, read: dict[Path, Links]) -> None:
    missing = []
    for path, page in read.items():
        for target in page.links:
            split = urlsplit(target)
            if split.scheme:
                continue
            linked = (path.parent / unquote(split.path)).resolve() if split.path else path
            linked = linked / "index.html" if linked.is_dir() else linked
            anchor = unquote(split.fragment)
            known = read[linked].anchors if linked in read else set()
            if not linked.exists() or (anchor and linked in read and anchor not in known):
                missing.append((path.relative_to(site).as_posix(), target))
    assert missing == []


def test_nothing_is_loaded_from_elsewhere(site: Path, read: dict[Path, Links]) -> None:
    for path, page in read.items():
        assert not [url for url in page.loaded if re.match(r"[a-z]+:|//", url)], path
        for url in page.loaded:
            assert (path.parent / unquote(urlsplit(url).path)).exists(), (path, url)
    for path in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", path.read_text()), path


def test_every_picture_has_a_text(read: dict[Path, Links]) -> None:
    assert {path.name: page.mute for path, page in read.items() if page.mute} == {}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_chromium() as opened:
        yield opened


def visit(browser: Browser, page: Path) -> Page:
    """Open a file of the site, with no network."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    opened = context.new_page()
    opened.goto(page.as_uri())
    return opened


def test_the_search_finds_names_and_words_without_a_network(browser: Browser, site: Path) -> None:
    page = visit(browser, site / "index.html")
    page.get_by_placeholder("Search").fill("from_tables")
    page.get_by_placeholder("Search").press("Enter")
    first = page.locator("#search-results li a").first
    first.click()
    assert page.url.endswith("reference/data.html#teaser.Dataset.from_tables")
    page.context.close()


def test_axe_finds_nothing_and_nothing_is_too_wide(browser: Browser, site: Path) -> None:
    for name in ("users/tutorial", "reference/data"):
        page = visit(browser, site / f"{name}.html")
        check_looks(page, name)
        page.context.close()

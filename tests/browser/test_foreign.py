"""A stranger's tables under a name, a colour and a logo of their own."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from browser.conftest import served
from browser.steps import check_axe, listed, pick, unfold
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

from teaser import Category, Dataset, Rules, Teaser, Year
from teaser.extensions import Remainder

Visit = Callable[..., Page]
MINUS = "\N{MINUS SIGN}"
LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 1"><path d="M0 0h2v1z"/></svg>'
ACCENT = "#ffd000"


def books(n_users: int = 300, n_items: int = 120) -> Dataset:
    """Return books with columns as they come: odd names, numbers, pictures over http, no titles."""
    rng = np.random.default_rng(3)
    authors = rng.integers(0, 24, n_items)
    items = pl.DataFrame(
        {
            "Book_ID": np.arange(n_items),
            "Book-Title": [f"Book {i}: " + "long " * i if i % 10 else None for i in range(n_items)],
            "Book-Author": [f"Author {a}" for a in authors],
            "Year-Of-Publication": 1990 + authors % 7,
            "copies": rng.integers(1, 5, n_items),
            "Image": [f"http://pictures.example/{i}.jpg" for i in range(n_items)],
        }
    )  # fmt: skip
    liked = [rng.choice(n_items, 6, p=_taste(authors, rng)) for _ in range(n_users)]
    pairs = [(user, int(i)) for user, some in enumerate(liked) for i in set(some.tolist())]
    rows = pl.DataFrame(pairs, schema=["user", "Book_ID"], orient="row")
    rules = Rules(
        (Category("Book-Author"), Year("Year-Of-Publication"), Category("copies")),
        {"title": "Book-Title", "picture": "Image"},
    )
    return Dataset.from_tables(rows, items, user="user", item="Book_ID", rules=rules)


def _taste(authors: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    weights: NDArray[Any] = np.where(np.isin(authors, rng.choice(24, 3)), 10.0, 0.5)
    return np.asarray(weights / weights.sum())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "logo.svg").write_text(LOGO)
    model = Teaser(l2_weights=20.0, l2_encoder=20.0, remainder=Remainder(), tol=1e-4).fit(books())
    brand = {"name": "Books & more", "accent": ACCENT, "logo": str(folder / "logo.svg")}
    with served(model, folder, **brand) as address:
        yield address


def number(text: str) -> float:
    return float(text.replace(MINUS, "-") or 0)


def added(rows: Locator) -> list[float]:
    """Return what the visible steps add."""
    return [number(row.inner_text()) for row in rows.all() if row.is_visible()]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1320), ("dark", 390)])
def test_pages_are_the_owner_s_and_can_be_read(visit: Visit, scheme: str, width: int) -> None:
    page = visit(color_scheme=scheme, width=width)
    expect(page).to_have_title("Books & more")
    logo = page.locator("img.logo")
    assert logo.evaluate("e => e.complete && e.naturalWidth > 0 && e.height == 30")
    pick(page)
    # The accent, as dark as texts have to be to be read.
    colour = unfold(page).locator(".main-button").evaluate("e => getComputedStyle(e).background")
    assert f"oklch({0.47 if scheme == 'light' else 0.87}" in colour
    for path in ("/", f"/item/{listed(page)[0]}", "/tag?tag=copies%3D2"):
        page.goto(path)
        check_axe(page, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("main img").count() == 0, "a picture over http is not asked for"


def test_names_of_columns_and_numbers_can_be_read(visit: Visit) -> None:
    page = visit()
    pick(page)
    for facts in page.locator(".card .facts").all_inner_texts():
        assert re.search(r"Author \d+", facts)
        assert re.search(r"Year of publication: \d{4}", facts)
        assert re.search(r"Copies: \d", facts)
    page.goto("/profile")
    heads = page.locator(".feature h3").all_inner_texts()
    assert {"Book author", "Year of publication", "Copies"} <= set(heads)
    page.goto("/tag?tag=copies%3D2")
    expect(page).to_have_title("Copies: 2 · Books & more")
    page.get_by_role("button", name="More of Copies: 2").click()
    expect(page.locator("#notice")).to_contain_text("+ on Copies: 2")


def test_small_steps_open_and_the_sum_stays_right(visit: Visit) -> None:
    page = visit()
    pick(page)
    for _ in range(6):  # the more that was viewed, the smaller the steps
        unfold(page).get_by_role("button", name="Look").click()
        expect(page.locator("#notice")).to_contain_text("You looked at")
        page.goto("/")
    for item in listed(page):
        page.goto(f"/item/{item}")
        if page.locator(".fold").count():
            break
    steps, score = page.locator(".fall tbody .number"), page.locator(".fall tfoot b").first
    closed = added(steps)
    assert sum(closed) == pytest.approx(number(score.inner_text()), abs=1e-9)
    page.locator(".fold summary").click()
    opened = added(steps)
    assert len(opened) > len(closed)
    assert sum(opened) == pytest.approx(sum(closed), abs=1e-9)

"""The Chromium of this machine, for tests in a real browser."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

# The shell comes first: it draws no window, so that a page takes a quarter of the processor time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Start a browser without a window, and close it at the end."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    assert path, "Chromium is needed: apt-get install chromium-headless-shell"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()

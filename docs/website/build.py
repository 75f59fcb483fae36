"""Build the documentation site: `python -m website.build [FOLDER]`. Needs no network."""

import gc
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from website.stage import ROOT, stage

HERE = Path(__file__).resolve().parent
# What the theme leaves out: names and levels for screen readers, and wide tables and code that
# a keyboard can scroll.
LABELS = {
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<div id="search-results"></div>': '<h1>Search</h1><div id="search-results"></div>',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    "<pre><span></span>": '<pre tabindex="0"><span></span>',
}


def build(target: Path, work: Path) -> int:
    """Build the site into a folder; return 0, or another number if anything was wrong.

    Parameters
    ----------
    target
        The folder of the site.
    work
        The folder of the source tree and of what Sphinx keeps for the next build.
    """
    stage(work / "source")
    # All pages are written, because all of them show the navigation.
    how = ["--write-all", "--fail-on-warning", "--keep-going", "--quiet"]
    where = ["--conf-dir", str(HERE), "--doctree-dir", str(work / "doctrees")]
    failed = build_main([*how, *where, str(work / "source"), str(target)])
    for page in target.rglob("*.html"):
        page.write_text(label(page.read_text()))
    return failed


def label(page: str) -> str:
    """Return a page with the labels of its parts."""
    for found, labelled in LABELS.items():
        page = page.replace(found, labelled)
    return page


if __name__ == "__main__":
    # The trees of all pages stay until the end: to look through them takes a fifth of the time.
    gc.disable()
    site = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build" / "docs"
    failed = build(site, site.with_name(f"{site.name}-work"))
    if not failed:
        print(f"The documentation is in {site / 'index.html'}")
    sys.exit(failed)

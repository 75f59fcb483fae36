"""Build the documentation site: `python -m website.build [FOLDER]`. Needs no network."""

import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from website.stage import ROOT, stage

HERE = Path(__file__).resolve().parent


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
    settings = [
        "--write-all",
        "--fail-on-warning",
        "--keep-going",
        "--quiet",
        "--conf-dir",
        str(HERE),
    ]
    folders = ["--doctree-dir", str(work / "doctrees"), str(work / "source"), str(target)]
    return build_main([*settings, *folders])


if __name__ == "__main__":
    site = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build" / "docs"
    failed = build(site, site.with_name(f"{site.name}-work"))
    if not failed:
        print(f"The documentation is in {site / 'index.html'}")
    sys.exit(failed)

"""A progress bar that fits a notebook, a terminal and a log.

In a notebook it is one output that is written again by IPython's display; no widgets are needed.
In a terminal it is rich's bar on stderr. Elsewhere, lines are written to stderr.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib.util import find_spec
from typing import Any

from teaser.console import visible_line

# What is being done, and the share of the work that is done.
Update = Callable[[str, float], None]

# Seconds between two drawings of the bar in a notebook: each is a message to the browser.
PAUSE = 0.1
# Without a terminal a line is written for so much of the work, and after so many seconds.
STRIDE = 0.1
LOG_PAUSE = 10.0


@contextmanager
def progress_bar(first: str, *, show: bool = True, console: Any = None) -> Iterator[Update]:
    """Show a bar that says what is being done.

    Yields a function of what is being done and the share of the work that is done, 0 to 1.

    Parameters
    ----------
    first
        What is done before the first call.
    show
        False shows nothing; the function can be called all the same.
    console
        A console of rich for a terminal's bar; stderr when not given. A command, which has one,
        writes nothing to a log unless it takes more than ten seconds.
    """
    is_terminal = sys.stderr.isatty() if console is None else console.is_terminal
    if not show:
        yield lambda doing, done: None
    elif notebook_shell() is not None:
        yield from _in_notebook(first)
    elif is_terminal and find_spec("rich"):
        yield from _in_terminal(first, console)
    else:
        yield from _in_log(first, STRIDE if console is None else math.inf)


def notebook_shell() -> Any:
    """Return IPython's shell where a notebook's kernel runs it, else None.

    IPython in a terminal has no kernel. Nothing is imported: in a notebook IPython is there.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


def draw_bar(doing: str, done: float) -> dict[str, str]:
    """Return a bar as a notebook's output: HTML, and text for those that cannot show it."""
    share = min(max(done, 0.0), 1.0)
    text = escape(doing, quote=True)
    html = (
        f'<div><progress value="{share:.3f}" max="1" aria-label="{text}" '
        f'style="width:16em;vertical-align:middle;accent-color:#12897d"></progress> '
        f"<span>{100 * share:.0f} % · {text}</span></div>"
    )
    return {"text/html": html, "text/plain": f"{100 * share:3.0f} % {doing}"}


def _in_notebook(first: str) -> Iterator[Update]:
    # The kernel has imported it.
    display: Callable[..., Any] = sys.modules["IPython.display"].display
    began = drawn = time.monotonic()
    doing, ended = first, "stopped"
    handle = display(draw_bar(first, 0.0), raw=True, display_id=True)

    def update(what: str, done: float) -> None:
        nonlocal doing, drawn
        doing, now = what, time.monotonic()
        if now - drawn >= PAUSE:
            drawn = now
            handle.update(draw_bar(what, done), raw=True)

    try:
        yield update
        ended = "done"
    finally:
        # What stays in a saved notebook needs no bar.
        said = f"{ended} in {time.monotonic() - began:.1f} s"
        said = f"{doing}: {said}" if ended != "done" else said
        html = f'<div style="opacity:.8">{escape(said)}</div>'
        handle.update({"text/html": html, "text/plain": said}, raw=True)


def _in_terminal(first: str, console: Any) -> Iterator[Update]:
    # Installed with the command line.
    from rich.console import Console
    from rich.markup import escape as escape_markup
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    shown = console or Console(stderr=True)
    with Progress(*columns, console=shown, transient=True) as bar:
        task = bar.add_task(escape_markup(first), total=None)

        def update(doing: str, done: float) -> None:
            bar.update(
                task, description=escape_markup(visible_line(doing)), total=1.0, completed=done
            )

        yield update


def _in_log(first: str, stride: float) -> Iterator[Update]:
    """Write a line for each stride of the work, or after every ten seconds."""
    began = drawn = time.monotonic()
    next_share = 0.0 if stride < math.inf else math.inf

    def update(what: str, done: float) -> None:
        nonlocal drawn, next_share
        now = time.monotonic()
        if done >= next_share or now - drawn >= LOG_PAUSE:
            drawn, next_share = now, done + stride
            said = f"{visible_line(what)} ({now - began:.0f} s)"
            sys.stderr.write(f"{100 * done:3.0f} % {said}\n")

    yield update

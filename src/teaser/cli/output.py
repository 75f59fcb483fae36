"""What commands print: tables, JSON, progress bars."""

import json
import logging
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from teaser.console import CONTROL, visible, visible_json
from teaser.data.tags import Tag, feature_label
from teaser.errors import ParameterError, counted
from teaser.explain import PARTS, distinct_labels, short_reasons, tell_reasons
from teaser.model.recipe import TRUTH, Recipe
from teaser.profile import GENERAL, Profile
from teaser.progress import Update
from teaser.progress import progress_bar as plain_bar
from teaser.recommend import OTHER, Recommendation
from teaser.steer.similarity import Similar
from teaser.steer.statement import say, statements
from teaser.steps import Step

LIKES, DISLIKES, QUIET = "cyan", "dark_orange", "grey50"
_HALF = 10


class VisibleConsole(Console):
    """A console of rich whose texts have no control characters; its own styles stay."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield segments with their control characters written out."""
        for segment in super().render(renderable, options):
            # Those of rich itself move the cursor of a progress bar.
            if segment.control or CONTROL.search(segment.text) is None:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


out = VisibleConsole()
err = VisibleConsole(stderr=True)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of plain text; a terminal wraps them where it must."""
    for line in lines:
        out.print(line, highlight=False, markup=False, soft_wrap=True)


def print_next(command: str) -> None:
    """Print which command to run after this one."""
    print_lines([f"Next: {command}"])


def print_json(value: Any) -> None:
    """Print a value as JSON; control characters and what stdout cannot encode are escaped."""
    ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
    text = json.dumps(to_plain(value), indent=1, ensure_ascii=ascii_only, default=str)
    sys.stdout.write(visible_json(text) + "\n")


def to_plain(value: Any) -> Any:
    """Return a result of the library as JSON holds it: tags as texts, reasons with sentences."""
    if isinstance(value, Tag):
        return str(value)
    if is_dataclass(value):
        named = ((f.name, getattr(value, f.name)) for f in fields(value))
        # Only answers of a product have a cover.
        return {n: to_plain(x) for n, x in named if x is not None or not n.endswith("cover")}
    if isinstance(value, Mapping):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        plain = [to_plain(entry) for entry in value]
        if value and hasattr(value[0], "contribution") and hasattr(value[0], "sentence"):
            sentences = tell_reasons(value)
            plain = [{**p, "sentence": s} for p, s in zip(plain, sentences, strict=True)]
        return plain
    return value


@contextmanager
def log_level(name: str, level: int) -> Iterator[None]:
    """Let a logger tell what is of a level and above, for a while."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def progress_bar(console: Console, first: str) -> Iterator[Update]:
    """Show a bar, or lines in a log; warnings are printed as lines after it.

    Yields a function of what is being done and the share of the work that is done.
    """
    with (
        plain_bar(first, console=console) as update,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        yield update
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        console.print(f"[yellow]warning:[/] {escape(text)}", soft_wrap=True)


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame to .parquet, .csv or .jsonl; a csv has nested columns as JSON texts."""
    if not path.parent.is_dir():
        raise ParameterError(f"There is no folder {path.parent} for {path.name}. Make it first.")
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".csv":
        nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
        texts = {
            name: pl.Series([json.dumps(c, ensure_ascii=False) for c in frame[name].to_list()])
            for name in nested
        }
        frame.with_columns(**texts).write_csv(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    else:
        raise ParameterError(f"--out takes a .parquet, .csv or .jsonl file, found {str(path)!r}.")
    err.print(f"{counted(frame.height, 'row')} in {path}", highlight=False)


def new_table(*columns: str) -> Table:
    """Return an empty table; a column whose name begins with ">" is aligned to the right."""
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style=QUIET)
    for name in columns:
        right = name.startswith(">")
        table.add_column(
            name.removeprefix(">"), justify="right" if right else "left", overflow="fold"
        )
    return table


def draw_recipe(recipe: Recipe) -> RenderableType:
    """Draw what a fit tried, one line for each recipe, and why it chose the one it did."""
    if not recipe.tried:
        return Text(recipe.why)
    heads = recipe.columns()
    # Two tables, because one is wider than 80 columns.
    rare = {n for n in PARTS if all(t.parts.get(n, 0.0) < 0.05 for t in recipe.tried)}
    measured = [n for n, head in enumerate(heads) if head not in TRUTH and head not in rare]
    truth = [n for n, head in enumerate(heads) if head in TRUTH]
    tables = []
    for places, is_truth in ((measured, False), (truth, True)):
        table = new_table("recipe", *(f">{heads[n]}" for n in places))
        for trial in recipe.table():
            if trial.ndcg is not None and (trial.truth or not is_truth):
                style = "bold" if trial.name == recipe.chosen else ""
                cells = recipe.cells(trial)
                table.add_row(trial.name, *(cells[n] for n in places), style=style)
        tables.append(table)
    left = [Text(f"{t.name} is left out: {t.reason}") for t in recipe.table() if t.reason]
    held = Text(f"on {recipe.n_users:,} held-out people; parts are of the top-20", style=QUIET)
    said = Text(
        "What is said of them, how often it is chosen against the average person; entries with a "
        "reason; lists that presses change:",
        style=QUIET,
    )
    both: list[RenderableType] = [said, tables[1]] if truth else []
    return Group(tables[0], held, *both, *left, Text(recipe.why))


def draw_content(content: Mapping[str, Any]) -> Iterator[Text]:
    """Yield what a folder holds: a heading for each name, and its entries below."""
    for name, value in content.items():
        shown = value if isinstance(value, dict | list) else [value]
        pairs = shown.items() if isinstance(shown, dict) else [("", v) for v in shown]
        yield Text(name, style="bold")
        for key, entry in pairs:
            yield Text(f"  {key}{'  ' if key else ''}{entry}")


def draw_profile(profile: Profile, *, per_feature: int = 4) -> RenderableType:
    """Draw what can be said, general appeal, then features by impact with their strongest tags."""
    table = Table.grid(padding=(0, 2))
    table.add_column(min_width=26, overflow="fold")
    table.add_column(width=2 * _HALF + 1)
    for style in ("", QUIET, "bold"):
        table.add_column(justify="right", style=style)
    table.add_row("", "", Text("leaning", style=QUIET), "affinity", "")
    if profile.tags[-1:] == (GENERAL,):
        general = Text(feature_label(GENERAL.feature), style="bold")
        table.add_row(general, *_tag_cells(GENERAL, None, profile.general, profile))
    for feature, impact in sorted(profile.impacts.items(), key=lambda pair: -pair[1]):
        bar = Text(_letter("▬", "=") * round(impact * 2 * _HALF), style=QUIET)
        share = f"{100 * impact:.0f} %"
        table.add_row(Text(feature_label(feature), style="bold"), bar, "", share, "")
        for tag, _, affinity in profile.top(per_feature, feature=feature):
            leaning = profile.leanings.get(tag)
            table.add_row(Text(f"  {tag.value}"), *_tag_cells(tag, leaning, affinity, profile))
    said = [Text(say(statement)) for statement in statements(profile)]
    return Group(*said, table, Text(_describe_certainty(profile), style=QUIET))


def draw_recommendations(
    recommendations: Sequence[Recommendation], *, before: Sequence[Recommendation] | None = None
) -> RenderableType:
    """Draw a list with general appeal, signed reasons, and what all other tags add.

    If an earlier list is given, it shows how each item moved.
    """
    ranks = {r.item_id: place for place, r in enumerate(before or (), 1)}
    moves = () if before is None else (">",)
    table = new_table(">", *moves, ">match", "item", ">general", "reasons")
    for place, r in enumerate(recommendations, 1):
        moved = [] if before is None else [_moved(ranks.get(r.item_id), place)]
        named = [
            (reason.share, name)
            for reason, name in zip(r.reasons, short_reasons(r.reasons), strict=True)
        ]
        named += [(r.other_share, OTHER)] if r.other_share else []
        reasons = Text("  ").join(
            Text.assemble((f"{100 * share:+.0f} %", _colour(share)), f" {name}")
            for share, name in named
        )
        general = Text(f"{100 * r.general_share:+.0f} %", style=QUIET)
        table.add_row(str(place), *moved, f"{100 * r.match:.0f} %", _title(r), general, reasons)
    return table


def draw_similar(found: Sequence[Similar]) -> RenderableType:
    """Draw similar items with the tags that they share."""
    table = new_table(">", ">similarity", "item", "shares")
    for place, each in enumerate(found, 1):
        first = each.shared[:5]
        labels = distinct_labels([(tag,) for tag, _ in first])
        shared = (f"{label} {100 * s:.0f} %" for label, (_, s) in zip(labels, first, strict=True))
        table.add_row(str(place), f"{each.similarity:.2f}", _title(each), Text(", ".join(shared)))
    return table


def draw_steps(
    steps: Sequence[Step], last: Sequence[str], heads: tuple[str, str] | None = None
) -> RenderableType:
    """Draw the steps that add up to a score, or to the difference of two.

    Parameters
    ----------
    last
        The cells of the last line, from the third column on.
    heads
        The names of two items that are compared.
    """
    columns = (*heads, "difference") if heads else ("affinity", "adds")
    table = new_table("", "", *(f">{name}" for name in (*columns, "share")))
    for step in steps:
        given = (step.own, step.other) if heads else (step.affinity,)
        group = step.group[:1].upper() + step.group[1:]
        table.add_row(
            *(Text(group), Text(step.label)),
            *("" if number is None else f"{number:+.3f}" for number in given),
            *(Text(f"{step.adds:+.3f}", _colour(step.adds)),),
            *(Text(f"{100 * step.share:+.0f} %", _colour(step.adds)),),
        )
    table.add_row(*(Text(cell, style="bold") for cell in ("score", "", *last)))
    return table


def draw_origins(
    origins: Mapping[Any, float], titles: Mapping[int | str, str | None]
) -> RenderableType:
    """Draw what each item and each fact adds to a tag's raw score, and the sum."""
    table = new_table("", ">")
    for name, part in sorted(origins.items(), key=lambda pair: -abs(pair[1])):
        if isinstance(name, Tag):
            text = f"your {feature_label(name.feature).lower()}: {name.value}"
        else:
            text = f"{titles[name]}  {name}" if titles.get(name) else str(name)
        table.add_row(Text(text), Text(f"{part:+.5f}", style=_colour(part)))
    table.add_row(Text("sum, before scaling", style="bold"), f"{sum(origins.values()):+.5f}")
    return table


def _title(found: Recommendation | Similar) -> Text:
    title = f"{found.title}  " if found.title else ""
    return Text.assemble((title, "bold"), (str(found.item_id), QUIET))


def _tag_cells(
    tag: Tag, leaning: float | None, affinity: float, profile: Profile
) -> tuple[Text, Text, str, str]:
    """Return bar, leaning, affinity and presses of one tag; the bar is full at 1 and -1.

    Without a leaning the bar is that of the affinity.
    """
    pressed, drawn = profile.presses.get(tag, 0), affinity if leaning is None else leaning
    length = min(_HALF, round(abs(drawn) * _HALF))
    bar, axis = (_letter("▬", "=") * length, _colour(drawn)), (_letter("│", "|"), QUIET)
    cells = (" " * _HALF, axis, bar) if drawn >= 0 else (" " * (_HALF - length), bar, axis)
    number = Text("" if leaning is None else f"{leaning:+.2f}", style=_colour(drawn))
    return Text.assemble(*cells), number, f"{affinity:+.2f}", f"{pressed:+d}" if pressed else ""


def _letter(letter: str, instead: str) -> str:
    """Return a letter, or another where the terminal's encoding does not have it."""
    try:
        letter.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return instead
    return letter


def _moved(before: int | None, now: int) -> Text:
    if before is None:
        return Text("new", style=LIKES)
    if before == now:
        return Text("=", style=QUIET)
    if now < before:
        return Text(f"{_letter('▲', '+')}{before - now}", LIKES)
    return Text(f"{_letter('▼', '-')}{now - before}", DISLIKES)


def _colour(value: float) -> str:
    return LIKES if value >= 0 else DISLIKES


def _describe_certainty(profile: Profile) -> str:
    seen, pressed = len(profile.history), sum(map(abs, profile.presses.values()))
    facts = f", {counted(len(profile.about), 'fact')} about the person" if profile.about else ""
    steps = "1 press" if pressed == 1 else f"{pressed} presses"
    return f"{profile.certainty:.0%} sure: {counted(seen, 'item')} seen, {steps}{facts}"

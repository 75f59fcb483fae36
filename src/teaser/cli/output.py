"""What commands print: profiles, lists and explanations as tables or JSON, and progress bars."""

import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from teaser.console import CONTROL, visible, visible_json
from teaser.data.dataset import Dataset
from teaser.data.tags import Tag, feature_label
from teaser.errors import ParameterError, counted
from teaser.explain import (
    PARTS,
    AnyReason,
    Explanation,
    Reason,
    distinct_labels,
    join_names,
    named_reason,
    short_reasons,
    tell_reasons,
)
from teaser.model.extensions.groups import Groups
from teaser.model.recipe import Recipe, percent
from teaser.model.solve import share_solved
from teaser.model.teaser import Teaser
from teaser.profile import GENERAL, Profile
from teaser.progress import Update
from teaser.progress import progress_bar as plain_bar
from teaser.recommend import Recommendation
from teaser.steer.similarity import Similar

LIKES, DISLIKES, QUIET = "cyan", "dark_orange", "grey50"
_HALF = 10


class VisibleConsole(Console):
    """A console of rich whose texts have no control characters; its own styles stay."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the pieces of what is printed, each with its control characters written out."""
        for piece in super().render(renderable, options):
            # Those of rich itself, which move the cursor of a progress bar.
            if piece.control or CONTROL.search(piece.text) is None:
                yield piece
            else:
                yield Segment(visible(piece.text), piece.style)


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
    plain = "utf" not in (sys.stdout.encoding or "").lower()
    text = json.dumps(value, indent=1, ensure_ascii=plain, default=str)
    sys.stdout.write(visible_json(text) + "\n")


def fit_with_progress(
    model: Teaser,
    dataset: Dataset,
    console: Console,
    *,
    start: Teaser | None = None,
    previous: Groups | None = None,
    limit: int | None = None,
) -> None:
    """Print an estimate, and fit with a progress bar; warnings are printed as lines."""
    for line in model.estimate(dataset).lines(limit):
        console.print(line, highlight=False, soft_wrap=True)
    with progress_bar(console, "preparing") as update:

        def report(iteration: int, residual: float) -> None:
            done = share_solved(residual, model.tol)
            update(f"iteration {iteration}, residual {residual:.1e}", done)

        model.fit(dataset, start=start, previous=previous, callback=report)


@contextmanager
def progress_bar(console: Console, first: str) -> Iterator[Update]:
    """Show a bar that says what is being done; warnings are printed as lines after it.

    Yields a function of what is being done and the share of the work that is done.
    """
    with (
        plain_bar(first, show=console.is_terminal, console=console) as update,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        yield update
    for warning in caught:
        console.print(f"[yellow]warning:[/] {escape(str(warning.message))}", soft_wrap=True)


def draw_recipe(recipe: Recipe) -> RenderableType:
    """Draw what a fit tried, one line for each recipe, and why it chose the one it did."""
    why = Text(recipe.why)
    if not recipe.tried:
        return why
    parts = [p for p in PARTS if any(t.parts.get(p, 0.0) >= 0.005 for t in recipe.tried)]
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("recipe")
    for name in ("nDCG@100", f"of {recipe.yardstick}", *parts, "seconds"):
        table.add_column(name, justify="right")
    for trial in recipe.table():
        style = "bold" if trial.name == recipe.chosen else ""
        if trial.ndcg is None:
            continue
        share = "" if trial.share is None else percent(trial.share)
        shares = [percent(trial.parts[p]) if trial.parts else "" for p in parts]
        cells = (f"{trial.ndcg:.3f}", share, *shares, f"{trial.seconds:.1f}")
        table.add_row(trial.name, *cells, style=style)
    left = [Text(f"{t.name} is left out: {t.reason}") for t in recipe.table() if t.reason]
    held = Text(f"on {recipe.n_users:,} held-out people; parts are of the top-20", style=QUIET)
    return Group(table, held, *left, why)


def draw_content(content: Mapping[str, Any]) -> Iterator[Text]:
    """Yield what a folder holds: a heading for each name, and its entries below."""
    for name, value in content.items():
        shown = value if isinstance(value, dict | list) else [value]
        pairs = shown.items() if isinstance(shown, dict) else [("", v) for v in shown]
        yield Text(name, style="bold")
        for key, entry in pairs:
            yield Text(f"  {key}{'  ' if key else ''}{entry}")


def draw_profile(profile: Profile, *, per_feature: int = 4) -> RenderableType:
    """Draw general appeal, then features by impact, and below each its strongest tags."""
    table = Table.grid(padding=(0, 2))
    table.add_column(min_width=26, overflow="fold")
    table.add_column(width=2 * _HALF + 1)
    table.add_column(justify="right")
    table.add_column(justify="right", style="bold")
    if profile.tags[-1:] == (GENERAL,):
        general = Text(feature_label(GENERAL.feature), style="bold")
        table.add_row(general, *_affinity_cells(GENERAL, profile.general, profile))
    for feature, impact in sorted(profile.impacts.items(), key=lambda pair: -pair[1]):
        bar = Text(_block() * round(impact * 2 * _HALF), style=QUIET)
        table.add_row(Text(feature_label(feature), style="bold"), bar, f"{100 * impact:.0f} %", "")
        for tag, affinity in profile.top(per_feature, feature=feature):
            table.add_row(Text(f"  {tag.value}"), *_affinity_cells(tag, affinity, profile))
    return Group(table, Text(_describe_certainty(profile), style=QUIET))


def draw_recommendations(
    recommendations: Sequence[Recommendation], *, before: Sequence[Recommendation] | None = None
) -> RenderableType:
    """Draw a list with general appeal and signed reasons.

    If an earlier list is given, it shows how each item moved.
    """
    ranks = {r.item_id: place for place, r in enumerate(before or (), 1)}
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("", justify="right")
    if before is not None:
        table.add_column("", justify="right")
    table.add_column("match", justify="right")
    table.add_column("item", overflow="fold", ratio=2)
    table.add_column("general", justify="right")
    table.add_column("reasons", overflow="fold", ratio=3)
    for place, r in enumerate(recommendations, 1):
        moved = [] if before is None else [_moved(ranks.get(r.item_id), place)]
        name = Text.assemble((f"{r.title}  " if r.title else "", "bold"), (str(r.item_id), QUIET))
        reasons = Text("  ").join(map(_reason, r.reasons, short_reasons(r.reasons)))
        general = Text(f"{100 * r.general_share:+.0f} %", style=QUIET)
        table.add_row(str(place), *moved, f"{100 * r.match:.0f} %", name, general, reasons)
    return table


def draw_similar(found: Sequence[Similar]) -> RenderableType:
    """Draw similar items with the tags that they share."""
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("similarity", justify="right")
    table.add_column("item", overflow="fold", ratio=2)
    table.add_column("shares", overflow="fold", ratio=3)
    for place, each in enumerate(found, 1):
        name = Text.assemble(
            (f"{each.title}  " if each.title else "", "bold"), (str(each.item_id), QUIET)
        )
        first = each.shared[:5]
        labels = distinct_labels([(tag,) for tag, _ in first])
        told = (f"{label} {100 * s:.0f} %" for label, (_, s) in zip(labels, first, strict=True))
        shared = ", ".join(told)
        table.add_row(str(place), f"{each.similarity:.2f}", name, Text(shared))
    return table


def draw_explanation(explanation: Explanation) -> RenderableType:
    """Draw every contribution to the score of an item: general appeal, tags, viewed items.

    The sum of each part and the score follow.
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_row(*(Text(h, style=QUIET) for h in ("feature", "tag", "affinity", "adds", "share")))
    if explanation.general:
        named, share = (feature_label(GENERAL.feature), "", ""), explanation.general_share
        table.add_row(*map(Text, named), *part_cells(explanation.general, share))
    for r in explanation.reasons:
        if isinstance(r, Reason):
            values = join_names(list(dict.fromkeys(tag.value for tag in r.tags)))
            features = dict.fromkeys(feature_label(tag.feature) for tag in r.tags)
            named = (" / ".join(features), values, f"{r.affinity:+.3f}")
        else:
            name, kind = named_reason(r)
            named = (kind.capitalize(), name, "")
        table.add_row(*map(Text, named), *part_cells(r.contribution, r.share))
    parts = {
        "general": explanation.general,
        "tags": sum(explanation.tags.values()),
        "viewed": sum(explanation.viewed.values()),
        **({"boost": explanation.boost} if explanation.boost else {}),
    }
    for name, part in parts.items():
        table.add_row(Text(name, style=QUIET), "", "", Text(f"{part:+.3f}", style=QUIET), "")
    total = Text(f"{explanation.score:+.3f}", style="bold")
    table.add_row(
        Text("score", style="bold"), "", "", total, f"match {100 * explanation.match:.0f} %"
    )
    return table


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame to .parquet, .csv or .jsonl; a csv has nested columns as JSON texts."""
    if not path.parent.is_dir():
        raise ParameterError(f"There is no folder {path.parent} for {path.name}. Make it first.")
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".csv":
        nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
        texts = {
            name: pl.Series(
                [json.dumps(cell, ensure_ascii=False) for cell in frame[name].to_list()]
            )
            for name in nested
        }
        frame.with_columns(**texts).write_csv(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    else:
        raise ParameterError(f"--out takes a .parquet, .csv or .jsonl file, found {str(path)!r}.")


def as_profile(profile: Profile) -> dict[str, Any]:
    """Return a profile for JSON, with tags as texts."""
    return {
        "history": profile.history,
        **({"strengths": profile.strengths} if profile.strengths else {}),
        "presses": {str(tag): steps for tag, steps in profile.presses.items()},
        "about": [str(tag) for tag in profile.about],
        "certainty": profile.certainty,
        "general": profile.general,
        "impacts": profile.impacts,
        "affinities": {str(tag): a for tag, a in profile.affinities.items()},
    }


def as_reasons(reasons: Sequence[AnyReason]) -> list[dict[str, Any]]:
    """Return reasons of either kind for JSON, with their sentences."""
    told = zip(reasons, tell_reasons(reasons), strict=True)
    return [{**asdict(reason), "sentence": sentence} for reason, sentence in told]


def as_recommendation(found: Recommendation) -> dict[str, Any]:
    """Return one entry of a list for JSON."""
    return {**asdict(found), "reasons": as_reasons(found.reasons)}


def as_similar(found: Similar) -> dict[str, Any]:
    """Return a similar item for JSON."""
    return {
        "item_id": found.item_id,
        "title": found.title,
        "similarity": found.similarity,
        "shared": {str(tag): share for tag, share in found.shared},
    }


def as_explanation(found: Explanation) -> dict[str, Any]:
    """Return an explanation for JSON; `viewed` is present if viewed items contribute."""
    viewed = {"viewed": dict(found.viewed)} if found.viewed else {}
    return {
        "item_id": found.item_id,
        "title": found.title,
        "score": found.score,
        "match": found.match,
        "general": found.general,
        "general_share": found.general_share,
        "tags": {str(t): c for t, c in found.tags.items()},
        **viewed,
        **({"boost": found.boost} if found.boost else {}),
        "reasons": as_reasons(found.reasons),
    }


def as_origin(name: int | str | Tag, part: float) -> dict[str, Any]:
    """Return one origin for JSON: an item of the history, or a fact about the person."""
    if isinstance(name, Tag):
        return {"about": str(name), "part": part}
    return {"item_id": name, "part": part}


def origin_titles(model: Teaser, origins: Iterable[int | str | Tag]) -> dict[int | str | Tag, str]:
    """Return the titles of those origins that are items with a title."""
    items = [name for name in origins if not isinstance(name, Tag)]
    titles = {name: model.title(model.items_.index_of(name)) for name in items}
    return {name: title for name, title in titles.items() if title}


def draw_origins(
    origins: Mapping[Any, float], titles: Mapping[int | str | Tag, str]
) -> RenderableType:
    """Draw what each item and each fact adds to a tag's raw score, and the sum."""
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(justify="right")
    for item_id, part in sorted(origins.items(), key=lambda pair: -abs(pair[1])):
        name = f"{titles[item_id]}  {item_id}" if item_id in titles else str(item_id)
        if isinstance(item_id, Tag):
            name = f"your {feature_label(item_id.feature).lower()}: {item_id.value}"
        table.add_row(Text(name), Text(f"{part:+.5f}", style=_colour(part)))
    table.add_row(Text("sum, before scaling", style="bold"), f"{sum(origins.values()):+.5f}")
    return table


def describe_change(before: Sequence[Recommendation], after: Sequence[Recommendation]) -> str:
    """Return a sentence on how a list changed."""
    ranks = {r.item_id: place for place, r in enumerate(before)}
    old = [(ranks[r.item_id], place) for place, r in enumerate(after) if r.item_id in ranks]
    rose = sum(now < then for then, now in old)
    new = len(after) - len(old)
    verb, left = "is" if new == 1 else "are", len(before) - len(old)
    return f"{counted(rose, 'item')} rose, {new} {verb} new on this list, {left} left it."


def _affinity_cells(tag: Tag, affinity: float, profile: Profile) -> tuple[Text, Text, str]:
    """Return bar, number and presses of one affinity."""
    pressed = profile.presses.get(tag, 0)
    number = Text(f"{affinity:+.2f}", style=_colour(affinity))
    return _signed_bar(affinity), number, f"{pressed:+d}" if pressed else ""


def part_cells(contribution: float, share: float) -> tuple[Text, Text]:
    """Return what a part adds and its signed share, in the colour of the sign."""
    style = _colour(contribution)
    return Text(f"{contribution:+.3f}", style=style), Text(f"{100 * share:+.0f} %", style=style)


def _signed_bar(value: float) -> Text:
    """Draw a bar from the middle, to the right if positive; full at 1 and -1."""
    length = min(_HALF, round(abs(value) * _HALF))
    if value >= 0:
        return Text.assemble(" " * _HALF, (_axis(), QUIET), (_block() * length, LIKES))
    return Text.assemble(" " * (_HALF - length), (_block() * length, DISLIKES), (_axis(), QUIET))


def _block() -> str:
    return "▬" if _shows("▬") else "="


def _axis() -> str:
    return "│" if _shows("│") else "|"


def _shows(letter: str) -> bool:
    """Return whether the terminal's encoding has a letter."""
    try:
        letter.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _reason(reason: AnyReason, name: str) -> Text:
    share = f"{100 * reason.share:+.0f} %"
    return Text.assemble((share, _colour(reason.share)), f" {name}")


def _moved(before: int | None, now: int) -> Text:
    if before is None:
        return Text("new", style=LIKES)
    if before == now:
        return Text("=", style=QUIET)
    up, down = ("▲", "▼") if _shows("▲") else ("+", "-")
    if now < before:
        return Text(f"{up}{before - now}", LIKES)
    return Text(f"{down}{now - before}", DISLIKES)


def _colour(value: float) -> str:
    return LIKES if value >= 0 else DISLIKES


def _describe_certainty(profile: Profile) -> str:
    certainty = profile.certainty
    words = "not sure yet" if certainty < 0.5 else "fairly sure" if certainty < 0.75 else "sure"
    seen, pressed = len(profile.history), sum(map(abs, profile.presses.values()))
    facts = f", {counted(len(profile.about), 'fact')} about the person" if profile.about else ""
    steps = "1 press" if pressed == 1 else f"{pressed} presses"
    return f"{words}: certainty {certainty:.1f}, {counted(seen, 'item')} seen, {steps}{facts}"

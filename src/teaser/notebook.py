"""What objects look like in a notebook: HTML with its own style, in light and dark."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from teaser.steps import Step, fold_small

# The class of every output. It is named three times in the rules, so that they count more than
# those of notebooks for tables and lists.
ROOT = "teaser-out"

# Notebooks and documentation pages say by these marks whether they are light or dark; without
# any, the reader's system decides. Colours are set with their ground, so that they can be read
# whatever surrounds them.
_LIGHT = (
    '[data-jp-theme-light="true"]', ".vscode-light", ".vscode-high-contrast-light",
    '[theme="light"]', '[data-theme="light"]', '[data-md-color-scheme="default"]',
)  # fmt: skip
_DARK = (
    '[data-jp-theme-light="false"]', ".vscode-dark",
    ".vscode-high-contrast:not(.vscode-high-contrast-light)",
    '[theme="dark"]', '[data-theme="dark"]', '[data-md-color-scheme="slate"]',
)  # fmt: skip

_RULES = """
.ROOT.ROOT.ROOT {
  color-scheme: light dark;
  --card: light-dark(#ffffff, #191f27); --raised: light-dark(#f5f4ef, #222a34);
  --ink: light-dark(#18202c, #e9edf2); --soft: light-dark(#565f6d, #a7b1be);
  --line: light-dark(#e2dfd5, #2d3642); --edge: light-dark(#8b919b, #667080);
  --teal: light-dark(#0b6f66, #63cdbf); --teal-bar: light-dark(#12897d, #47b5a7);
  --orange: light-dark(#a3440a, #f3a866); --orange-bar: light-dark(#c25a17, #d98540);
  box-sizing: border-box; max-width: 62rem; margin: 4px 0; padding: 14px 18px;
  background: var(--card); color: var(--ink);
  border: 1px solid var(--line); border-radius: 12px; overflow-wrap: anywhere;
  container-type: inline-size;
  font: 14px/1.45 var(--jp-ui-font-family, var(--vscode-font-family, system-ui, sans-serif));
  p { margin: 0 0 8px; color: inherit; }
  .title { font-size: 1.1em; }
  .soft, caption { color: var(--soft); font-weight: 400; }
  .n { font-variant-numeric: tabular-nums; white-space: nowrap; text-align: right; }
  .up { color: var(--teal); } .down { color: var(--orange); }
  table { border-collapse: collapse; margin: 6px 0 10px; width: auto; max-width: 100%;
    font-size: inherit; border: 0; table-layout: auto; color: inherit; }
  caption { caption-side: top; text-align: left; padding: 2px 0 4px; font-size: 0.93em; }
  tr, tr:hover, tr:nth-child(odd), tr:nth-child(even) { background: none; }
  th, td { text-align: left; vertical-align: middle; padding: 3px 14px 3px 0; border: 0;
    max-width: 34em; white-space: normal; }
  tbody th { min-width: 7em; } tbody td:not(.n) { min-width: 4.5em; }
  th.n, td.n { text-align: right; }
  thead th { font-weight: 500; color: var(--soft); font-size: 0.93em; vertical-align: bottom; }
  tbody th { font-weight: 600; }
  tbody tr { border-top: 1px solid var(--line); }
  tfoot tr { border-top: 2px solid var(--edge); }
  tbody.group tr + tr { border-top: 0; }
  tbody.group tr + tr th { font-weight: 400; padding-left: 14px; }
  tr.chosen th::before { content: "● "; color: var(--teal); }
  ul, ol { margin: 4px 0 8px; padding-left: 1.4em; }
  li { margin: 0; }
  code { font-size: 0.93em; padding: 1px 5px; border-radius: 5px; border: 0;
    background: var(--raised); color: inherit; white-space: pre-wrap; overflow-wrap: anywhere; }
  details { margin: 4px 0; }
  summary { cursor: pointer; color: var(--soft); }
  svg { display: block; } svg.bar { height: 9px; background: var(--raised); border-radius: 3px; }
  rect.up { fill: var(--teal-bar); } rect.down { fill: var(--orange-bar); }
  rect.axis { fill: var(--edge); } rect.total, rect.quiet { fill: var(--soft); }
  ol.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(15.5rem, 1fr));
    gap: 12px; list-style: none; padding: 0; margin: 8px 0; counter-reset: place; }
  ol.cards > li { border: 1px solid var(--line); border-radius: 10px; padding: 10px 14px; }
  ol.cards > li { counter-increment: place; }
  ol.cards > li > p:first-child::before { content: counter(place) ". "; }
  ol.cards p { margin: 0 0 2px; }
  ul.reasons { list-style: none; padding: 6px 0 0; margin: 4px 0 0;
    border-top: 1px solid var(--line); }
  ul.reasons > li { display: grid; grid-template-columns: 3.2em minmax(0, 1fr); gap: 8px;
    align-items: baseline; padding: 1px 0; }
}
@container (max-width: 520px) { .ROOT.ROOT.ROOT .wide { display: none; } }
@media (forced-colors: active) {
  .ROOT.ROOT.ROOT { rect.up, rect.down, rect.total, rect.quiet, rect.axis { fill: CanvasText; } }
}
"""


def _scheme(marks: tuple[str, ...], name: str) -> str:
    """Return the rule that follows a host that says whether it is light or dark."""
    where = ", ".join(f"{mark} .ROOT.ROOT.ROOT" for mark in marks)
    return f"{where} {{ color-scheme: {name}; }}\n"


STYLE = (_RULES + _scheme(_LIGHT, "light") + _scheme(_DARK, "dark")).replace("ROOT", ROOT)


class Html(str):
    """A text that is HTML already; any other text is escaped where it is put into an element."""

    __slots__ = ()


@dataclass(frozen=True)
class Column:
    """The head of a table's column; numbers stand at the right.

    One that is only `for_wide` outputs is left out where there is little room, as on a phone.
    """

    name: str
    is_number: bool = False
    for_wide: bool = False

    @property
    def kind(self) -> str | None:
        """The class of its cells."""
        return " ".join(["n"] * self.is_number + ["wide"] * self.for_wide) or None


def element(name: str, *content: object, **attributes: object) -> Html:
    """Return an element; its content is escaped unless it is `Html`.

    Parameters
    ----------
    attributes
        By name; an underscore at the end is left out, others become hyphens. None leaves an
        attribute out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{given}>{join(content)}</{name}>")


def join(content: Iterable[object]) -> Html:
    """Return several contents one after the other, escaped unless they are `Html`."""
    return Html("".join(c if isinstance(c, Html) else escape(str(c)) for c in content))


def panel(*content: object) -> str:
    """Return the output of one object: its content in a frame, with the style it needs."""
    return str(element("div", element("style", Html(STYLE)), *content, class_=ROOT))


def title(text: object, note: object = "") -> Html:
    """Return the first line of a panel, with a quieter note behind it."""
    said = join([" ", element("span", note, class_="soft")]) if note else ""
    # No heading: an output must not disturb the outline of the notebook around it.
    return element("p", element("strong", text), said, class_="title")


def paragraph(*content: object) -> Html:
    """Return a quiet paragraph."""
    return element("p", *content, class_="soft")


def number(text: object, sign: float = 0.0) -> Html:
    """Return a number, in the colour of its sign."""
    side = "up" if sign > 0 else "down" if sign < 0 else None
    return element("span", text, class_=f"n {side}" if side else "n")


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Sequence[object]], *, foot: object = ""
) -> Html:
    """Return a table; the first cell of a row names it.

    Parameters
    ----------
    caption
        What the table shows.
    foot
        A row that ends it, as `row` returns one.
    """
    body = [row(columns, cells) for cells in rows]
    return element(
        "table",
        element("caption", caption),
        head(columns),
        element("tbody", *body),
        element("tfoot", foot) if foot else "",
    )


def head(columns: Sequence[Column]) -> Html:
    """Return the head of a table."""
    cells = (element("th", c.name, scope="col", class_=c.kind) for c in columns)
    return element("thead", element("tr", *cells))


def row(columns: Sequence[Column], cells: Sequence[object], **attributes: object) -> Html:
    """Return a row of a table; its first cell names it."""
    first, *others = zip(columns, cells, strict=True)
    return element(
        "tr",
        element("th", first[1], scope="row"),
        *(element("td", cell, class_=column.kind) for column, cell in others),
        **attributes,
    )


def listed(items: Iterable[object], **attributes: object) -> Html:
    """Return a list with points."""
    return element("ul", *(element("li", item) for item in items), **attributes)


def folded(summary: str, *content: object) -> Html:
    """Return content that is shown when its summary is opened; no script is needed."""
    return element("details", element("summary", summary), *content)


def percent(share: float) -> str:
    """Return a share in percent; what rounds to nothing but is something is said to be small."""
    whole = round(100 * share)
    return signed(f"{whole} %") if whole or not share else "<1 %"


def signed(text: str) -> str:
    """Return a number with the minus sign of typography, which screen readers say."""
    return text.replace("-", "−")


# Colours where a host takes styles away; both can be seen on white and on black.
_PLAIN = {"up": "#12897d", "down": "#c25a17", "axis": "#8b919b", "total": "#76808d"}
_PLAIN["quiet"] = _PLAIN["total"]


def signed_bar(value: float, *, most: float = 1.0, width: int = 110) -> Html:
    """Return a bar from the middle, to the right if the value is positive.

    Parameters
    ----------
    most
        The value at which the bar is full.
    width
        Its width on screen.
    """
    length = 100 * min(1.0, abs(value) / most) if most > 0 else 0.0
    start = 0.0 if value >= 0 else -length
    rects = [_rect("up" if value >= 0 else "down", start, length, 1, 8), _rect("axis", -1, 2)]
    return _svg(rects, "-100 0 200 10", width, 9)


def share_bar(share: float, *, width: int = 110, kind: str = "quiet") -> Html:
    """Return a bar from the left that is full at 1."""
    return _svg([_rect(kind, 0, 100 * min(1.0, max(0.0, share)))], "0 0 100 10", width, 9)


def step_bar(start: float, end: float, *, low: float, high: float, total: bool = False) -> Html:
    """Return one step of a waterfall, on a scale that all steps share.

    Parameters
    ----------
    start, end
        The sum before and after the step.
    low, high
        The least and the largest sum; 0 lies between them.
    """
    scale = 200 / ((high - low) or 1.0)
    side = "total" if total else "up" if end >= start else "down"
    left, length = scale * (min(start, end) - low), scale * abs(end - start)
    rects = [_rect(side, left, max(length, 1.0), 1, 8), _rect("axis", scale * -low - 0.5, 1)]
    return _svg(rects, "0 0 200 10", 220, 12)


def _rect(kind: str, x: float, width: float, y: int = 0, height: int = 10) -> Html:
    return element(
        "rect", class_=kind, fill=_PLAIN[kind], x=f"{x:.1f}", y=y, width=f"{width:.1f}",
        height=height,
    )  # fmt: skip


def _svg(rects: Iterable[Html], box: str, width: int, height: int) -> Html:
    return element(
        "svg", *rects, class_="bar", viewBox=box, width=width, height=height,
        preserveAspectRatio="none", aria_hidden="true", focusable="false",
    )  # fmt: skip


_WARNING = "warning: "


def draw_dataset(found: Mapping[str, Any], examples: Mapping[str, Sequence[str]]) -> str:
    """Return what was read as HTML.

    Parameters
    ----------
    found
        What `Dataset.describe` returns: sizes, the tags of each feature, the report as sentences,
        of which warnings begin with "warning: ", and the rules.
    examples
        Some of the most frequent tags of each feature.
    """
    tags: Mapping[str, int] = found["tags"]
    sizes = {name: found[name] for name in ("users", "items", "interactions")}
    sizes["tags"] = sum(tags.values())
    counts = ", ".join(f"{n:,} {name}" for name, n in sizes.items())
    columns = (Column("feature"), Column("tags", is_number=True), Column("most frequent"))
    rows = [(name, f"{n:,}", ", ".join(examples.get(name, ()))) for name, n in tags.items()]
    return panel(
        title("Dataset", counts),
        table("Tags of the items", columns, rows) if rows else paragraph("There are no tags."),
        listed(map(_line, found["report"])),
        folded("Rules", rule_tables(found["rules"], found["roles"], found["skipped"])),
    )


def draw_rules(
    rules: Sequence[Mapping[str, Any]], roles: Mapping[str, str], skipped: Mapping[str, str]
) -> str:
    """Return rules as HTML; for the parameters see `rule_tables`."""
    n = len(rules)
    head = title("Rules", f"{n:,} column{' becomes' if n == 1 else 's become'} tags")
    return panel(head, rule_tables(rules, roles, skipped))


def rule_tables(
    rules: Sequence[Mapping[str, Any]], roles: Mapping[str, str], skipped: Mapping[str, str]
) -> Html:
    """Return the tables of rules.

    Parameters
    ----------
    rules
        Each rule as plain values: its kind, its column, its feature, and settings that are not
        the default.
    roles
        The columns that are displayed, by role.
    skipped
        The columns that are not used, with the reason.
    """
    named = ("kind", "column", "feature")
    rows = []
    for rule in rules:
        settings = (f"{key} = {value!r}" for key, value in rule.items() if key not in named)
        feature = rule.get("feature") or rule["column"]
        rows.append((rule["column"], rule["kind"], feature, ", ".join(settings)))
    columns = tuple(map(Column, ("column", "kind", "feature", "settings")))
    parts: list[object] = [
        table("Columns that become tags", columns, rows)
        if rows
        else paragraph("No column becomes tags.")
    ]
    if roles:
        columns = (Column("role"), Column("column"))
        parts.append(table("Columns that are displayed", columns, list(roles.items())))
    if skipped:
        columns = (Column("column"), Column("why"))
        parts.append(table("Columns that are not used", columns, list(skipped.items())))
    return join(parts)


def _line(line: str) -> object:
    if not line.startswith(_WARNING):
        return line
    return join([element("strong", "warning:", class_="down"), " ", line.removeprefix(_WARNING)])


# More would be a wall; the frame has all of them.
SHOWN = 24


@dataclass(frozen=True)
class Card:
    """One recommended item.

    Attributes
    ----------
    name, item_id
        Its title, or its id where it has none.
    match
        Its score as a share of the best score.
    reasons
        The signed share of each reason, and what it is.
    note
        A sentence on the score, or nothing.
    """

    name: str
    item_id: str
    match: float
    reasons: Sequence[tuple[float, str]]
    note: str = ""


def draw_list(cards: Sequence[Card], *, notes: Sequence[str] = ()) -> str:
    """Return a list as HTML, best first.

    Parameters
    ----------
    notes
        Sentences on the whole list.
    """
    n = len(cards)
    said = [paragraph(note) for note in notes]
    if n > SHOWN:
        said.append(paragraph(f"{n - SHOWN:,} more; to_frame() has all of them."))
    if not n:
        said.append(paragraph("Nothing can be recommended: every item is excluded."))
    head = title(f"{n:,} recommended item{'' if n == 1 else 's'}", "best first")
    drawn = map(_card, cards[:SHOWN])
    return panel(head, element("ol", *drawn, class_="cards") if n else "", *said)


def _card(card: Card) -> Html:
    named = card.item_id if card.item_id != card.name else ""
    head = element("p", element("strong", card.name))
    match = element("p", number(percent(card.match), 1.0), " match ", _soft(named))
    reasons = [
        join([number(percent(share), share), " ", element("span", text)])
        for share, text in card.reasons
    ]
    why = listed(reasons, class_="reasons", aria_label=f"Why {card.name}") if reasons else ""
    return element("li", head, match, why, paragraph(card.note) if card.note else "")


def _soft(text: str) -> Html | str:
    return element("span", text, class_="soft") if text else ""


_COLUMNS = (
    Column("feature and tag"), Column("drawn", for_wide=True), Column("leaning", is_number=True),
    Column("affinity", is_number=True, for_wide=True), Column("presses", is_number=True),
)  # fmt: skip


@dataclass(frozen=True)
class TagBar:
    """A tag with its affinity, its net presses and the leaning towards it, which is drawn."""

    name: str
    affinity: float
    presses: int = 0
    leaning: float | None = None


@dataclass(frozen=True)
class FeatureBars:
    """A feature: its impact, its strongest tags, and how many more it has."""

    name: str
    impact: float
    tags: Sequence[TagBar]
    n_more: int = 0


def draw_profile(
    features: Sequence[FeatureBars], *, general: float | None, certainty: float, seen: int
) -> str:
    """Return a profile as HTML: general appeal, then the features, the largest impact first.

    Parameters
    ----------
    general
        The affinity with general appeal; None where the model does not tell it apart.
    certainty
        The certainty of the profile, 0 to 1.
    seen
        How many items the history has.
    """
    items = f"{seen:,} item{'' if seen == 1 else 's'}"
    named = title("Profile", f"of a history of {items}, {percent(certainty)} sure")
    groups = [] if general is None else [[_tag_row(TagBar("general appeal", general))]]
    groups += [_feature_rows(feature) for feature in features]
    body = element(
        "table",
        element("caption", "Leanings, affinities, and each feature's share in the scores"),
        head(_COLUMNS),
        *(element("tbody", *rows, class_="group") for rows in groups),
    )
    note = "Leaning: how far items with the tag stand above your average item. "
    note += "Affinity: what the tag adds by itself"
    relative = ", relative to the average user." if general is not None else "."
    return panel(named, body, paragraph(note + relative))


def _feature_rows(feature: FeatureBars) -> list[Html]:
    impact = number(f"{percent(feature.impact)} of scores")
    named = (feature.name, share_bar(feature.impact), "", impact, "")
    rows = [row(_COLUMNS, named), *map(_tag_row, feature.tags)]
    if feature.n_more:
        more = element("span", f"{feature.n_more:,} more", class_="soft")
        rows.append(row(_COLUMNS, (more, "", "", "", "")))
    return rows


def _tag_row(tag: TagBar) -> Html:
    drawn = tag.affinity if tag.leaning is None else tag.leaning
    leaning = "" if tag.leaning is None else _rounded(tag.leaning)
    pressed = signed(f"{tag.presses:+d}") if tag.presses else ""
    return row(_COLUMNS, (tag.name, signed_bar(drawn), leaning, _rounded(tag.affinity), pressed))


def _rounded(value: float) -> Html:
    """Return a number with its sign; none for one that rounds to zero."""
    return number(signed(f"{value:+.2f}"), value) if abs(value) >= 0.005 else number("0.00")


_STEP_COLUMNS = (
    Column("step"),
    Column("affinity × weight", is_number=True, for_wide=True),
    Column("adds", is_number=True),
    Column("sum", is_number=True),
    Column("drawn", for_wide=True),
    Column("share", is_number=True),
)


def draw_waterfall(
    name: str, steps: Sequence[Step], *, score: float, match: float, note: str = ""
) -> str:
    """Return the score of an item as HTML.

    Parameters
    ----------
    steps
        They add up to the score, or to the part of it that the note names.
    note
        A sentence on what the steps cover.
    """
    shown = fold_small(steps)
    total = shown[-1].end if shown else 0.0
    low, high = _bounds(shown)
    rows = [_step_row(step, (_factors(step),), low, high) for step in shown]
    whole = step_bar(0.0, total, low=low, high=high, total=True)
    foot = row(_STEP_COLUMNS, ("sum" if note else "score", "", "", plain_number(total), whole, ""))
    return panel(
        title(f"Why {name}", f"score {plain_number(score)}, {percent(match)} match"),
        table("Steps that add up to the score", _STEP_COLUMNS, rows, foot=foot),
        paragraph(note) if note else "",
    )


def draw_difference(
    names: tuple[str, str], steps: Sequence[Step], *, scores: tuple[float, float], note: str = ""
) -> str:
    """Return the difference of two scores as HTML, from the score of the other to the item's.

    Parameters
    ----------
    names, scores
        Of the item and of the other.
    steps
        They start at the other's score and add up to the item's.
    note
        A sentence on what the steps cover.
    """
    (name, other), (score, start) = names, scores
    columns = (
        Column("step"),
        Column(name, is_number=True, for_wide=True),
        Column(other, is_number=True, for_wide=True),
        *(Column("difference", is_number=True), *_STEP_COLUMNS[3:]),
    )
    shown = fold_small(steps)
    low, high = _bounds(shown, start)
    first = step_bar(0.0, start, low=low, high=high, total=True)
    rows: list[tuple[object, ...]] = [
        (f"score of {other}", "", "", "", plain_number(start), first, ""),
        *(
            _step_row(s, (plain_number(s.own or 0.0), plain_number(s.other or 0.0)), low, high)
            for s in shown
        ),
    ]
    last = step_bar(0.0, score, low=low, high=high, total=True)
    ends = (signed_number(score - start), plain_number(score), last, "")
    foot = row(columns, (f"score of {name}", "", "", *ends))
    return panel(
        title(f"{name} against {other}", f"difference {signed(f'{score - start:+.3f}')}"),
        table("Steps from one score to the other", columns, rows, foot=foot),
        paragraph(note) if note else "",
    )


def _bounds(steps: Sequence[Step], start: float = 0.0) -> tuple[float, float]:
    sums = (0.0, start, *(step.end for step in steps))
    return min(sums), max(sums)


def _step_row(step: Step, details: Sequence[object], low: float, high: float) -> tuple[object, ...]:
    """Return the cells of a step: name, details, what it adds, the sum, a bar, its share."""
    kind = element("span", f" ({step.group})", class_="soft") if step.group else ""
    return (
        join([step.label, kind]),
        *details,
        signed_number(step.adds),
        plain_number(step.end),
        step_bar(step.start, step.end, low=low, high=high),
        number(percent(step.share), step.share),
    )


def signed_number(value: float) -> Html:
    """Return a number with its sign, in the colour of it."""
    return number(signed(f"{value:+.3f}"), value)


def plain_number(value: float) -> str:
    """Return a number as the sums of a waterfall show it."""
    return signed(f"{value:.3f}")


def _factors(step: Step) -> str:
    if step.affinity is None or step.weight is None:
        return ""
    product = step.affinity * step.weight
    # The weight of tags against viewed items is a factor of every tag.
    factor = step.adds / product if product else 1.0
    more = f" × {factor:.2f}" if abs(factor - 1) > 0.005 else ""
    return signed(f"{step.affinity:+.2f} × {step.weight:.2f}{more}")


# Parts of scores below this are not worth a column.
_LEAST = 0.005
_MOST_GROUPS = 30


def draw_model(
    text: str,
    *,
    facts: Mapping[str, str],
    parameters: Mapping[str, str],
    changed: Sequence[str],
    recipe: Html | str = "",
) -> str:
    """Return a model as HTML.

    Parameters
    ----------
    text
        The call that makes it.
    facts
        What it learned, by name; empty before a fit.
    parameters
        All hyper-parameters as texts, by name.
    changed
        The names of those that are not the default.
    recipe
        What `recipe_table` returns, where the recipe was chosen.
    """
    kind = text.partition("(")[0]
    said = ", ".join(f"{value} {name}" for name, value in facts.items())
    rows = [
        (name, element("code", value), "" if name in changed else "default")
        for name, value in parameters.items()
    ]
    columns = tuple(map(Column, ("parameter", "value", "is")))
    return panel(
        title(kind, said or "not fitted yet"),
        element("p", element("code", text)),
        recipe,
        folded(f"Parameters ({len(rows)})", table("Hyper-parameters", columns, rows))
        if rows
        else "",
    )


def draw_recipe(recipe: Html) -> str:
    """Return a record of trials as HTML, given what `recipe_table` returned."""
    return panel(title("Recipe"), recipe)


def recipe_table(
    names: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    *,
    narrow: int,
    chosen: str,
    why: str,
    n_users: int,
    left_out: Mapping[str, str],
) -> Html:
    """Return what a fit tried, what it chose and why.

    Parameters
    ----------
    names
        The headings after that of the recipe.
    rows
        The best trial of each recipe and of the models to compare with, as cells by name.
    narrow
        How many of the columns narrow screens show.
    chosen
        The name of the recipe that was fitted.
    n_users
        How many users were held out.
    left_out
        What was not tried or failed, with the reason.
    """
    others = (Column(n, is_number=True, for_wide=i >= narrow) for i, n in enumerate(names))
    columns = (Column("recipe"), *others)
    drawn = []
    for name, cells in rows.items():
        is_chosen = name == chosen
        shown = join([name, " (chosen)"]) if is_chosen else name
        drawn.append(row(columns, (shown, *cells), class_="chosen" if is_chosen else None))
    found: list[object] = [element("p", why)]
    if drawn:
        caption = f"On {n_users:,} held-out users: accuracy, parts of scores, truth of what is said"
        found.append(
            element("table", element("caption", caption), head(columns), element("tbody", *drawn))
        )
    if left_out:
        found.append(listed(f"{name}: {reason}" for name, reason in left_out.items()))
    return join(found)


def draw_check(
    parts: Mapping[str, float],
    *,
    lines: Sequence[str],
    n_users: int,
    top: int,
) -> str:
    """Return what reasons are made of as HTML.

    Parameters
    ----------
    parts
        The mean share of each part of the scores.
    lines
        What was found as sentences; advice on one begins with spaces.
    n_users, top
        How many people the sample has, and how long their lists are.
    """
    columns = (Column("part"), Column("drawn", for_wide=True), Column("share", is_number=True))
    rows = [(name, share_bar(share), percent(share)) for name, share in parts.items() if share > 0]
    told = [line for line in lines if not line.startswith("Parts of the top-")]
    return panel(
        title("Check", f"of the reasons in the top-{top} of {n_users:,} people"),
        table("Parts of the scores", columns, rows),
        listed(_advice(line) for line in told),
    )


def draw_groups(groups: Sequence[tuple[str, int, Sequence[str]]]) -> str:
    """Return discovered groups as HTML: the name, the number of members, and exemplars of each."""
    columns = (Column("group"), Column("items", is_number=True), Column("such as"))
    shown = sorted(groups, key=lambda group: -group[1])[:_MOST_GROUPS]
    rows = [(name, f"{n:,}", ", ".join(titles)) for name, n, titles in shown]
    left = len(groups) - len(shown)
    return panel(
        title("Groups", f"{len(groups):,} discovered tags"),
        table("Groups of items that the same users choose", columns, rows),
        paragraph(f"{left:,} more.") if left else "",
    )


def _advice(line: str) -> object:
    return element("em", line.strip()) if line.startswith(" ") else line

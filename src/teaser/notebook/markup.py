"""HTML that is escaped unless it is made here: elements, tables, panels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from teaser.notebook.style import ROOT, STYLE


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

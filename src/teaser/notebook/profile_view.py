"""A profile: affinities with tags as bars, feature by feature."""

from collections.abc import Sequence
from dataclasses import dataclass

from teaser.notebook.bar import share_bar, signed_bar
from teaser.notebook.markup import (
    Column,
    Html,
    element,
    head,
    number,
    panel,
    paragraph,
    percent,
    row,
    signed,
    title,
)

_COLUMNS = (
    Column("feature and tag"), Column("drawn", for_wide=True), Column("affinity", is_number=True),
    Column("presses", is_number=True),
)  # fmt: skip


@dataclass(frozen=True)
class TagBar:
    """A tag with its affinity and net presses."""

    name: str
    affinity: float
    presses: int = 0


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
    named = title("Profile", f"of a history of {items}, certainty {certainty:.1f}")
    groups = [] if general is None else [[_tag_row(TagBar("general appeal", general))]]
    groups += [_feature_rows(feature) for feature in features]
    body = element(
        "table",
        element("caption", "Affinities, and each feature's share in the scores"),
        head(_COLUMNS),
        *(element("tbody", *rows, class_="group") for rows in groups),
    )
    note = paragraph("Affinities are relative to the average user.")
    return panel(named, body, note if general is not None else "")


def _feature_rows(feature: FeatureBars) -> list[Html]:
    impact = number(f"{percent(feature.impact)} of scores")
    named = (feature.name, share_bar(feature.impact), impact, "")
    rows = [row(_COLUMNS, named), *map(_tag_row, feature.tags)]
    if feature.n_more:
        more = element("span", f"{feature.n_more:,} more", class_="soft")
        rows.append(row(_COLUMNS, (more, "", "", "")))
    return rows


def _tag_row(tag: TagBar) -> Html:
    is_shown = abs(tag.affinity) >= 0.005
    affinity = number(signed(f"{tag.affinity:+.2f}"), tag.affinity) if is_shown else number("0.00")
    pressed = signed(f"{tag.presses:+d}") if tag.presses else ""
    return row(_COLUMNS, (tag.name, signed_bar(tag.affinity), affinity, pressed))

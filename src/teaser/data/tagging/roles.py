"""Which columns are displayed, and as what; and addresses that the site cannot show."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from teaser.data.reading.likely_ids import snake_case
from teaser.data.reading.table import shown
from teaser.errors import ArtifactError

_SUBJECTS = (
    "album", "anime", "app", "article", "book", "course", "event", "film", "game", "item",
    "movie", "product", "recipe", "show", "song", "track", "video",
)  # fmt: skip
_ROLE_NAMES = {
    "title": (
        *("title", "name", "original_title", "label"),
        *(f"{subject}_{word}" for word in ("title", "name") for subject in _SUBJECTS),
    ),
    "description": ("description", "summary", "plot", "abstract", "overview", "text"),
    "link": ("link", "url", "website", "href"),
    "date": ("date", "start", "start_date", "release_date", "published", "day"),
}
# Words of a picture's name; with "url", "link", "path" or a size beside them, or alone.
_PICTURES = (
    "picture", "image", "poster", "photo", "cover", "img", "pic", "thumbnail", "thumb", "artwork",
)  # fmt: skip
_BESIDE = {"url", "link", "path", "src", "uri", "address"}
_SIZES = {
    **dict.fromkeys(("xl", "xxl", "full", "original", "orig", "hd", "max"), 4),
    **dict.fromkeys(("l", "large", "big"), 3),
    **dict.fromkeys(("m", "medium", "mid"), 1),
    **dict.fromkeys(("s", "small", "xs", "thumb", "thumbnail", "icon", "mini", "tiny"), 0),
}
_NO_SIZE = 2
ADDRESS = r"^(https?://|data:|<svg)"
_PICTURE = (
    r"(?i)^(data:image/|\s*<svg|https?://[^\s?#]+\.(jpe?g|png|gif|webp|avif|svg|bmp)([?#]|$))"
)
# A cover may be "paperback", and an image a number.
_PATH = r"[/.]|^data:|^\s*<svg"
_SHOWN_PICTURE = r"^(https://|data:image/|\s*<svg)"
_SHOWN_LINK = r"^https?://"
_MOSTLY = 0.8


def infer_roles(items: pl.DataFrame, *, item: str) -> dict[str, str]:
    """Return the columns of title, description, picture, link and date.

    They are found by their names; pictures and links also by their values. Of several pictures
    the largest is taken, by its name: `Image-URL-L` before `Image-URL-S`.
    """
    lower = {snake_case(c): c for c in reversed(items.columns) if c != item}
    roles = {}
    for role, names in _ROLE_NAMES.items():
        found = next((lower[name] for name in names if name in lower), None)
        is_text = found is not None and items[found].dtype == pl.String
        if found and (is_text or (role == "date" and items[found].dtype.is_temporal())):
            roles[role] = found
    dates = items[roles["date"]].drop_nulls() if "date" in roles else None
    is_text = dates is not None and dates.dtype == pl.String
    if dates is not None and is_text and not dates.str.contains(r"^\d{4}-\d{2}-\d{2}").all():
        del roles["date"]
    return _with_addresses(items, roles, [c for c in items.columns if c != item])


def _with_addresses(
    items: pl.DataFrame, roles: dict[str, str], columns: list[str]
) -> dict[str, str]:
    """Add the columns of pictures and links to the roles, by names and by values."""
    texts = [c for c in columns if items[c].dtype == pl.String and c not in roles.values()]
    by_value = [c for c in texts if _share(items[c], _PICTURE) > _MOSTLY]
    by_name = [c for c in texts if _names_picture(c) and _share(items[c], _PATH) > _MOSTLY]
    pictures = list(dict.fromkeys([*by_value, *by_name]))
    if pictures:
        # Of equal size: pictures by their values, then the first.
        best = max(pictures, key=lambda c: (c in by_value, _size(c), -columns.index(c)))
        roles = roles | {"picture": best}
    links = [c for c in texts if c not in pictures and _share(items[c], _SHOWN_LINK) > _MOSTLY]
    return roles if "link" in roles or not links else roles | {"link": links[0]}


def _names_picture(column: str) -> bool:
    """Whether a name is that of a picture, such as image_url, Image-URL-L or coverImage."""
    words = snake_case(column).split("_")
    others = [word for word in words if word not in _PICTURES]
    return len(others) < len(words) and all(w in _BESIDE or w in _SIZES for w in others)


def _size(column: str) -> int:
    """Return how large pictures are, by the name of their column."""
    sizes = [_SIZES[word] for word in snake_case(column).split("_") if word in _SIZES]
    return min(sizes, default=_NO_SIZE)


def check_roles(roles: Mapping[str, str], columns: Sequence[str]) -> None:
    """Raise `ArtifactError` if a role of a saved table names a column that it does not have."""
    for role, column in roles.items():
        if column not in columns:
            raise ArtifactError(
                f"Its {role} is the column {column!r}, which its items do not have. "
                f"Found: {', '.join(columns)}."
            )


def address_warnings(items: pl.DataFrame, roles: Mapping[str, str]) -> tuple[str, ...]:
    """Return warnings of pictures and links that the site cannot show.

    Pictures are shown from https addresses, or from the data themselves; links are whole
    addresses.
    """
    found = []
    for role, pattern, advice in (
        ("picture", _SHOWN_PICTURE, "pictures need addresses that begin with https://"),
        ("link", _SHOWN_LINK, "links need whole addresses that begin with https:// or http://"),
    ):
        column = roles.get(role)
        if column is None or column not in items.columns or items[column].dtype != pl.String:
            continue
        filled = items[column].drop_nulls()
        filled = filled.filter(filled.str.strip_chars() != "")
        bad = filled.filter(~filled.str.contains(pattern))
        if len(bad):
            found.append(
                f"warning: {len(bad):,} of {len(filled):,} {role}s in column {column!r} are not "
                f"shown by the site, such as {shown(bad[0])}: {advice}"
                f"{_remedy(bad, role)}"
            )
    return tuple(found)


def _remedy(bad: pl.Series, role: str) -> str:
    if role == "picture" and _share(bad, r"^http://") > 0:
        return ". Many servers answer to https too: write https:// in place of http://"
    is_relative = _share(bad, r"[/.]") > _MOSTLY and _share(bad, r"^\w+:") == 0
    return ". Put the address of their site before them" if is_relative else ""


def _share(column: pl.Series, pattern: str) -> float:
    """Return the share of the filled cells that match a pattern; 0 if all are empty."""
    filled = column.drop_nulls()
    filled = filled.filter(filled.str.strip_chars() != "")
    share: Any = filled.str.contains(pattern).mean() if len(filled) else 0.0
    return float(share)

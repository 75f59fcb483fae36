"""The list that some wishes lead to, with the library alone."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from teaser.data.ids import ItemId
from teaser.data.tagging.tag import Tag, resolve_tag
from teaser.errors import ContradictionError, ParameterError
from teaser.model.item_table import History
from teaser.model.tagged import TaggedModel
from teaser.profile import MAX_PRESSES
from teaser.recommendation import Recommendations
from teaser.steer.variation import start_presses
from teaser.steer.variety import varied
from teaser.words.period import Period
from teaser.words.reading import find_contradictions
from teaser.words.wish import OF_COLUMNS, Wish

Array = NDArray[Any]


def recommend_for(
    model: TaggedModel,
    wishes: Iterable[Wish],
    history: History = (),
    *,
    k: int = 20,
    today: date | None = None,
) -> Recommendations:
    """Return the k best items for a user with some wishes.

    Parameters
    ----------
    wishes
        What is wished, as `read` returns it or text forms parsed by `Wish.parse`. How long a press
        or an exclusion lasts does not matter for one list.
    history
        The items that the user viewed.
    today
        The day that periods are counted from.

    Raises
    ------
    ContradictionError
        If two wishes cannot both hold.
    UnknownNameError
        If the model does not have a tag or an item.
    """
    each, day = tuple(dict.fromkeys(wishes)), today or date.today()
    found = find_contradictions(each, today=day)
    if found:
        raise ContradictionError(*found[0])
    variety = next((wish.number or 0.0 for wish in each if wish.kind == "variety"), 0.0)
    presses = _presses(model, each)
    allowed = _allowed(model, each, day)
    return varied(model, history, presses, variety=variety, k=k, allowed=allowed)


def _presses(model: TaggedModel, wishes: Iterable[Wish]) -> Mapping[Tag, int]:
    """Return the net presses of wishes, as far as each tag can be pressed."""
    net: dict[Tag, int] = {}
    for wish in wishes:
        if wish.kind == "press":
            steps: Mapping[Tag, int] = {Tag.parse(wish.name): wish.steps}
        elif wish.kind == "like":
            steps = start_presses(model, _item(model, wish.name))
        else:
            continue
        for tag, n in steps.items():
            net[tag] = max(-MAX_PRESSES, min(MAX_PRESSES, net.get(tag, 0) + n))
    return {tag: n for tag, n in net.items() if n}


def _item(model: TaggedModel, name: str) -> ItemId:
    """Return the id that a text names: ids may be numbers."""
    first = model.items_[0] if len(model.items_) else ""
    return int(name) if isinstance(first, int) and name.lstrip("-").isdigit() else name


def _allowed(model: TaggedModel, wishes: Iterable[Wish], today: date) -> Array:
    """Return which items all filters among the wishes let pass."""
    mask = np.ones(len(model.items_), dtype=bool)
    wanted: dict[str, Array] = {}
    for wish in wishes:
        if wish.kind == "only":
            feature, carriers = Tag.parse(wish.name).feature, _carriers(model, wish.name)
            wanted[feature] = wanted.get(feature, np.zeros_like(mask)) | carriers
        elif wish.kind in ("without", "never"):
            mask &= ~_carriers(model, wish.name)
        elif wish.kind in OF_COLUMNS:
            mask &= _within(model, wish)
        elif wish.kind == "when":
            mask &= _on_days(model, Period.parse(wish.name), today)
    for carriers in wanted.values():
        mask &= carriers
    return mask


def _carriers(model: TaggedModel, name: str) -> Array:
    column = resolve_tag(name, model.tag_table_.index)
    return np.asarray(model.decoder_[:, [column]].toarray().ravel() != 0)


def _within(model: TaggedModel, wish: Wish) -> Array:
    table = model.table_
    if wish.name not in table.columns or not table[wish.name].dtype.is_numeric():
        raise ParameterError(f"The items have no column of numbers {wish.name!r}.")
    column = pl.col(wish.name)
    bound = column <= wish.number if wish.kind == "at_most" else column >= wish.number
    return table.select(bound.fill_null(value=False)).to_series().to_numpy()


def _on_days(model: TaggedModel, period: Period, today: date) -> Array:
    """Return which items have their date within a period."""
    name = model.tag_table_.rules.roles.get("date")
    if name is None:
        raise ParameterError("The items have no dates. Leave out the days.")
    days = model.table_[name]
    if days.dtype == pl.String:
        days = days.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    days = days.cast(pl.Date, strict=False)
    first, last = period.days(today)
    mask = days.is_not_null()
    if first is not None:
        mask &= days >= first
    if last is not None:
        mask &= days <= last
    return mask.fill_null(value=False).to_numpy()

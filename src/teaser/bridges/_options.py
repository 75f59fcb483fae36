"""Options of a bridge as pydantic fields."""

import inspect
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Any

import polars as pl
import scipy.sparse as sp
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, model_serializer

from teaser.data.condition import Conditions
from teaser.data.dataset import Dataset
from teaser.data.interactions import (
    RowReader,
    Strength,
    interaction_matrix,
    with_disliked,
)
from teaser.data.rules import Rules, as_rules
from teaser.evaluate.choose import fit
from teaser.model.teaser import Teaser
from teaser.parameters import options_of

# How a table of interactions is read.
READING = ("positive", "negative", "strength", "counts", "time", "half_life")
# A configuration is plain text: it holds no generators and no arrays.
_PLAIN_TYPES = {"rng": int, "gram": str, "positive": str | None, "negative": str | None}


class GivenOptions(BaseModel):
    """Options of a fit; those that were not given are left to the recipe, and not written.

    `model_fields_set` names the ones that were given.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @model_serializer(mode="wrap")
    def _only_given(self, dump: Any) -> dict[str, Any]:
        return {name: v for name, v in dump(self).items() if name in self.model_fields_set}

    def given(self, names: Iterable[str]) -> dict[str, Any]:
        """Return those of these options that were given."""
        return {name: getattr(self, name) for name in names if name in self.model_fields_set}

    def read(self) -> dict[str, Any]:
        """Return how the interactions are read, as `Dataset.from_tables` takes it."""
        return {name: getattr(self, name) for name in READING}

    def columns(self) -> list[str]:
        """Return the columns that the interactions are read from, beside user and item."""
        options: Any = self
        rules = [Conditions.coerce(rule) for rule in (options.positive, options.negative)]
        compared = [name for rule in rules if rule is not None for name in rule.columns]
        named = [*compared, options.strength, options.time]
        return [name for name in dict.fromkeys(named) if name is not None]

    def histories(self, rows: pl.DataFrame, shape: tuple[int, int]) -> sp.csr_array:
        """Return histories (users x items), read by the rules of the fit.

        Parameters
        ----------
        rows
            `user` and `item`, both positions, and the columns that the rules name. A rule whose
            column is not there has no effect.
        shape
            The numbers of users and items.
        """
        options: Any = self
        positive, negative = (_rule(r, rows) for r in (options.positive, options.negative))
        dated = options.time in rows.columns
        strength = Strength.from_options(
            options.strength if options.strength in rows.columns else None,
            options.counts,
            options.time if dated else None,
            options.half_life if dated else None,
        )
        reader = RowReader("user", "item", positive, strength, negative)
        pairs, _ = reader.pairs(rows)
        users, items = (pl.Series(range(n), dtype=pl.Int64) for n in shape)
        X = interaction_matrix(pairs, users, items)
        disliked, _ = reader.disliked(rows, pairs, users, items)
        return with_disliked(X, disliked)

    def fit(self, dataset: Dataset, *, rng: int = 0) -> Teaser:
        """Return a fitted model, as `teaser.fit` with the options that were given.

        Parameters
        ----------
        rng
            The seed where the options have none.
        """
        options: Any = self
        parameters = {"rng": rng, **self.given(inspect.signature(Teaser).parameters)}
        return fit(dataset, recipe=options.recipe, **parameters)


def option_fields(**defaults: Any) -> dict[str, Any]:
    """Return the fields of a configuration, as `pydantic.create_model` takes them.

    Parameters
    ----------
    defaults
        The defaults of some of the options for reading, where a framework has a column for them.
    """
    tables = inspect.signature(Dataset.from_tables).parameters
    fields = {name: _field(name, tables[name]) for name in READING}
    fields |= {name: (fields[name][0], default) for name, default in defaults.items()}
    fields["rules"] = (_RULES, None)
    fields["recipe"] = _field("recipe", inspect.signature(fit).parameters["recipe"])
    for name, parameter in inspect.signature(Teaser).parameters.items():
        fields[name] = _field(name, parameter)
    return fields


def as_column(values: Any) -> pl.Series:
    """Return an array of a framework as a column; objects are read one by one."""
    if values.dtype == object:
        return pl.Series(values.tolist())
    # polars has no times in seconds.
    return pl.Series(values.astype("datetime64[us]") if values.dtype.kind == "M" else values)


def _rule(given: str | None, rows: pl.DataFrame) -> Conditions | None:
    """Return a rule, or None if a table has not all of its columns."""
    rule = Conditions.coerce(given)
    if rule is None or not set(rule.columns) <= set(rows.columns):
        return None
    return rule


def _field(name: str, parameter: inspect.Parameter) -> tuple[Any, Any]:
    """Return type and default of a parameter of the library."""
    kind = _PLAIN_TYPES.get(name, parameter.annotation)
    if name in options_of(Teaser):
        # A plain table becomes the options object, with the library's errors.
        kind = Annotated[kind, BeforeValidator(partial(_as_options, name))]
    return kind, parameter.default


def _as_options(name: str, value: Any) -> Any:
    return Teaser.read_parameters({name: value})[name] if isinstance(value, Mapping) else value


def _as_rules(value: Any) -> Rules | None:
    if value is None:
        return None
    return Rules.from_dict(value) if isinstance(value, Mapping) else as_rules(value)


def _plain_rules(rules: Rules | None) -> dict[str, Any] | None:
    return None if rules is None else rules.as_dict()


_RULES = Annotated[Rules | None, BeforeValidator(_as_rules), PlainSerializer(_plain_rules)]

"""Hyper-parameters: checked, read from plain tables, set, copied and shown as in scikit-learn.

A parameter of an options object or of a model inside a model has a name with two underscores:
`remainder__l2` is the `l2` of the remainder. In JSON and TOML an options object is a table,
`remainder = { l2 = 1000 }`; a grid names one of its entries with a dot, `remainder.l2`.
"""

import copy
import inspect
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Self, get_args, get_type_hints

import numpy as np

from teaser.errors import ParameterError, closest

# Between the name of a part and the name of its parameter.
DEEPER = "__"


class Options:
    """Base of options objects, which are dataclasses; a repr leaves defaults out."""

    def check(self) -> None:
        """Raise `ParameterError` for options that make no sense."""

    def __repr__(self) -> str:
        return _written(type(self), _options(self))


class Parametrised:
    """An object whose constructor stores its hyper-parameters under their names.

    scikit-learn's `clone`, `set_params` and pickling for work in other processes take it as one
    of their own; scikit-learn itself is not needed.
    """

    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as they were given."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @classmethod
    def read_parameters(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters with options objects in place of tables and dotted names.

        Parameters
        ----------
        given
            Parameters as JSON or TOML hold them, such as `{"remainder": {"l2": 5.0}}` or
            `{"remainder.l2": 5.0}`.
        """
        known, options = inspect.signature(cls).parameters, options_of(cls)
        out: dict[str, Any] = {}
        for name, value in given.items():
            head, _, entry = name.partition(".")
            _check_known(f"{cls.__name__} has no parameter", head, known)
            if head in options and (entry or isinstance(value, Mapping)):
                table = out.setdefault(head, {})
                if not isinstance(table, dict):
                    raise ParameterError(f"{head} is given as {table!r} and as {name}. Give one.")
                table |= {entry: value} if entry else value
            else:
                out[name] = value
        return {
            name: build_options(name, options[name], value)
            if name in options and isinstance(value, dict)
            else value
            for name, value in out.items()
        }

    def check_options(self) -> None:
        """Raise `ParameterError` unless each options object is one, with sensible values."""
        for name, kind in options_of(type(self)).items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise ParameterError(
                    f"{name} must be a {kind.__name__} object or None, found {value!r}. "
                    f"Use {name}={kind.__name__}()."
                )
            if value is not None:
                value.check()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyper-parameters by name.

        Parameters
        ----------
        deep
            Whether to return those of options objects and of models inside this one too, as
            `remainder__l2`.
        """
        own = self.parameters()
        return {**own, **dict(_deeper(own))} if deep else own

    def set_params(self, **given: Any) -> Self:
        """Change hyper-parameters by name, also those of options objects, as `remainder__l2`.

        What was learned stays as it is until the next `fit`, which also checks the values. If a
        name is not known, nothing is changed. An options object is replaced, never changed: other
        models may hold it.
        """
        found = self.parameters()
        plain = {name: value for name, value in given.items() if DEEPER not in name}
        for name, value in plain.items():
            _check_known(f"{type(self).__name__} has no parameter", name, found)
            found[name] = value
        inner: dict[str, dict[str, Any]] = {}
        for name in given.keys() - plain.keys():
            head, _, rest = name.partition(DEEPER)
            _check_known(f"{type(self).__name__} has no parameter", head, found)
            inner.setdefault(head, {})[rest] = given[name]
        replaced = {head: _with(head, found[head], changes) for head, changes in inner.items()}
        for head, changes in inner.items():
            if isinstance(found[head], Parametrised):
                found[head].set_params(**changes)
        for name in plain.keys() | replaced.keys():
            setattr(self, name, replaced.get(name, found[name]))
        return self

    def written_parameters(self, *, defaults: bool = True) -> dict[str, str]:
        """Return the hyper-parameters by name, as they would be written in Python.

        Parameters
        ----------
        defaults
            Whether to return those that have their default value too.
        """
        return _texts(type(self), self.parameters(), defaults=defaults)

    def clone(self) -> Self:
        """Return an object of the same hyper-parameters that has learned nothing.

        A generator is copied at its present state, models inside this one are cloned, and a Gram
        is shared.
        """
        return type(self)(**{name: _cloned(value) for name, value in self.parameters().items()})

    def __sklearn_clone__(self) -> Self:
        return self.clone()

    def __repr__(self) -> str:
        return _written(type(self), self.parameters())


def options_of(kind: type[Any]) -> dict[str, type[Options]]:
    """Return the class of each parameter that takes an options object, by the annotations."""
    try:
        hints = get_type_hints(kind.__init__)
    except NameError:  # annotations of a class from elsewhere
        return {}
    return {
        name: part
        for name, hint in hints.items()
        for part in get_args(hint)
        if isinstance(part, type) and issubclass(part, Options)
    }


def build_options(name: str, kind: type[Any], table: Mapping[str, Any]) -> Any:
    """Return an options object of its entries.

    0 stands for None where a number may be None, which TOML and command lines cannot write; a
    list stands for a tuple.
    """
    hints = get_type_hints(kind)
    known = [field.name for field in fields(kind)]
    given: dict[str, Any] = {}
    for entry, value in table.items():
        _check_known(f"{name} has no option", entry, known)
        is_none = is_number(value) and value == 0 and type(None) in get_args(hints[entry])
        given[entry] = None if is_none else tuple(value) if isinstance(value, list) else value
    return kind(**given)


def _check_known(said: str, name: str, known: Iterable[str]) -> None:
    """Raise `ParameterError` for a name that is none of those known."""
    names = list(known)
    if name not in names:
        raise ParameterError(
            f"{said} {name!r}. Known: {', '.join(names) or 'none'}.{closest(name, names)}"
        )


def is_number(value: Any) -> bool:
    """Return whether a value is an integer or a float, of Python or numpy; bool is neither."""
    is_real = isinstance(value, int | float | np.integer | np.floating)
    return is_real and not isinstance(value, bool)


def _as_python(value: Any) -> Any:
    """Return a number of numpy as one of Python: float32 cannot be compared with 1e300."""
    return value.item() if isinstance(value, np.generic) else value


def check_number(name: str, value: Any, *, least: float = 0.0, most: float = 1e300) -> None:
    """Raise `ParameterError` unless the value is a number above `least` and below `most`."""
    if not is_number(value) or not least < _as_python(value) < most:
        below = f" and below {most:g}" if most < 1e300 else ""
        raise ParameterError(
            f"{name} must be a finite number above {least:g}{below}, found {value!r}."
        )


def check_power(name: str, value: Any) -> None:
    """Raise `ParameterError` unless the value is a number from 0 to 2."""
    if not is_number(value) or not 0 <= value <= 2:
        raise ParameterError(f"{name} must be a number from 0 to 2, found {value!r}.")


def check_share(name: str, value: Any) -> None:
    """Raise `ParameterError` unless the value is a number above 0 and at most 1."""
    if not is_number(value) or not 0 < value <= 1:
        raise ParameterError(f"{name} must be a number above 0 and at most 1, found {value!r}.")


def check_fraction(name: str, value: Any) -> None:
    """Raise `ParameterError` unless the value is a number from 0 to below 1."""
    if not is_number(value) or not 0 <= value < 1:
        raise ParameterError(f"{name} must be a number from 0 to below 1, found {value!r}.")


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return a whole number of at least `least`, or raise `ParameterError`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, found {value!r}.")
    return int(value)


def check_k(k: Any) -> int:
    """Return the length of a list, or raise `ParameterError`."""
    return check_count("k", k)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise `ParameterError` unless the value is one of some words."""
    if not isinstance(value, str) or value not in choices:
        known = " or ".join(map(repr, choices))
        raise ParameterError(f"{name} must be {known}, found {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Raise `ParameterError` unless the value is True or False."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name} must be True or False, found {value!r}.")


def check_rng(rng: Any) -> None:
    """Raise `ParameterError` unless this is a seed, a generator or None."""
    is_seed = isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0
    if not (rng is None or is_seed or isinstance(rng, np.random.Generator)):
        raise ParameterError(f"rng must be a seed of 0 or more, or a Generator, found {rng!r}.")


def _options(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _deeper(own: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of parts by their long names."""
    for name, value in own.items():
        inner: Mapping[str, Any] = {}
        if isinstance(value, Parametrised):
            inner = value.get_params()
        elif isinstance(value, Options) and is_dataclass(value):
            inner = _options(value)
        for entry, part in inner.items():
            yield f"{name}{DEEPER}{entry}", part


def _with(name: str, value: Any, changes: Mapping[str, Any]) -> Any:
    """Return a part with changed parameters; a model inside a model is only checked here."""
    if isinstance(value, Parametrised):
        value.clone().set_params(**changes)
        return value
    entry = next(iter(changes))
    if not isinstance(value, Options) or not is_dataclass(value):
        raise ParameterError(
            f"{name} is {value!r}, which has no {entry!r}. Set {name} to an options object first, "
            f"or in the same call."
        )
    known = _options(value)
    for entry in changes:
        _check_known(f"{name} has no option", entry, known)
    return replace(value, **changes)


def _cloned(value: Any) -> Any:
    if isinstance(value, Parametrised):
        return value.clone()
    # A shared generator would make the fit of one model change the other's.
    return copy.deepcopy(value) if isinstance(value, np.random.Generator) else value


def _written(kind: type[Any], values: Mapping[str, Any]) -> str:
    """Return the call that makes an object of such values; defaults are left out."""
    given = _texts(kind, values, defaults=False)
    return f"{kind.__name__}({', '.join(f'{name}={text}' for name, text in given.items())})"


def _texts(kind: type[Any], values: Mapping[str, Any], *, defaults: bool) -> dict[str, str]:
    known = inspect.signature(kind).parameters
    return {
        name: _literal(value)
        for name, value in values.items()
        if defaults or not _is_default(value, known[name].default)
    }


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    # Arrays and Grams compare entry by entry, or not at all.
    is_plain = isinstance(value, str | int | float | tuple | np.generic | Options)
    return is_plain and isinstance(value, bool) == isinstance(default, bool) and value == default


def _literal(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)

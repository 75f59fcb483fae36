"""Hyper-parameters by name: read, set, copied and shown as people know it from scikit-learn.

A parameter of an options object or of a model inside a model has a name with two underscores:
`remainder__l2` is the `l2` of the remainder.
"""

import copy
import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Self

import numpy as np

from teaser._version import __version__
from teaser.errors import ArtifactError, ParameterError, closest

# Between the name of a part and the name of its parameter.
DEEPER = "__"
_VERSION = "_teaser_version"


class Options:
    """Base of options objects; they are shown as they can be written, without defaults."""

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
            self._check_name(name, found)
            found[name] = value
        inner: dict[str, dict[str, Any]] = {}
        for name in given.keys() - plain.keys():
            head, _, rest = name.partition(DEEPER)
            self._check_name(head, found)
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

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), _VERSION: __version__}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        written = state.get(_VERSION)
        if written != __version__:
            raise ArtifactError(
                f"This pickled {type(self).__name__} was written by version {written} and this "
                f"is version {__version__}. A pickle is for other processes of one version, not "
                "for keeping: save the model with save(folder), and read it with "
                "teaser.load(folder)."
            )
        vars(self).update({name: value for name, value in state.items() if name != _VERSION})

    def _check_name(self, name: str, known: Mapping[str, Any]) -> None:
        if name not in known:
            raise ParameterError(
                f"{type(self).__name__} has no parameter {name!r}. "
                f"Known: {', '.join(known) or 'none'}.{closest(name, known)}"
            )


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
        if entry not in known:
            raise ParameterError(
                f"{name} has no option {entry!r}. Known: {', '.join(known)}.{closest(entry, known)}"
            )
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

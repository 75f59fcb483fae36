"""The kinds of models by name, and how to read a saved model of any kind.

A subclass of `Model` registers itself under its class name when it is defined, so that `load`
finds models from other packages once their module is imported.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, overload

from teaser import artifact
from teaser.artifact import Content, find_not_finite
from teaser.errors import ArtifactError, ParameterError, RuleError

M = TypeVar("M")

_kinds: dict[str, type[Any]] = {}

# Every kind of model that is defined in this process, by its name; it cannot be written to.
KINDS: Mapping[str, type[Any]] = MappingProxyType(_kinds)


def register(model: type[Any]) -> None:
    """Make a class of models known by its name.

    A class that is defined again in the same place, as in a notebook, replaces the earlier one.

    Raises
    ------
    ParameterError
        If another class has that name: a saved model could be of either.
    """
    earlier = _kinds.get(model.__name__, model)
    if _place_of(earlier) != _place_of(model):
        raise ParameterError(
            f"Two models are named {model.__name__}: {_place_of(earlier)} and "
            f"{_place_of(model)}. Saved models are found by this name: rename one class."
        )
    _kinds[model.__name__] = model


def find_kind(content: Content, where: str | Path) -> type[Any]:
    """Return the class that a saved content is of.

    Parameters
    ----------
    where
        What holds the content, for the message of an `ArtifactError`.
    """
    if content.kind in KINDS:
        return KINDS[content.kind]
    if content.kind == "dataset":
        raise ArtifactError(f"{where} holds a data set, not a model. Fit a model to it first.")
    module = content.settings.get("module", "that defines it")
    raise ArtifactError(
        f"{where} holds a {content.kind}, which is not a known kind of model "
        f"({', '.join(KINDS)}). If it is a model of your own, import the module {module} before "
        "you load it."
    )


def restore(kind: type[Any], content: Content) -> Any:
    """Return the model of a saved content, after checking its numbers and its parameters.

    A model from elsewhere checks itself: it may have a use for what is wrong here.
    """
    if not kind.__module__.startswith("teaser."):
        return kind.from_content(content)
    name = find_not_finite(content.arrays)
    if name is not None:
        raise ValueError(f"its array {name!r} has numbers that are not finite")
    model = kind.from_content(content)
    # The owner's file of names of groups is read by a fit alone, and may be gone.
    with suppress(RuleError):
        model.check_parameters()
    return model


@overload
def load(folder: str | Path) -> Any: ...


@overload
def load(folder: str | Path, kind: type[M]) -> M: ...


def load(folder: str | Path, kind: type[Any] = object) -> Any:
    """Read a model that its `save` wrote; every file is checked against its checksum.

    Models from other packages are found if the module that defines them is imported. Nothing is
    imported or executed because a file names it.

    Parameters
    ----------
    kind
        The class that is needed, such as `Teaser`; any model when not given.
    """
    content = artifact.read(folder)
    found = find_kind(content, folder)
    if not issubclass(found, kind):
        raise ArtifactError(
            f"{folder} holds a model of the kind {content.kind}, and {kind.__name__} is needed "
            "here. Name the folder of another model."
        )
    with artifact.refusing(f"{folder} does not hold a whole {content.kind}"):
        return restore(found, content)


def _place_of(model: type[Any]) -> str:
    return f"{model.__module__}.{model.__qualname__}"

"""Every error that this package raises on purpose, as one tree.

TeaserError
├── DataError             a table, a rule or a data set is not valid
│   ├── TableError        a file or frame cannot be read, or lacks a column
│   └── RuleError         a tag rule is not valid, or leaves no tag
├── MissingPackageError   an optional package is needed and is not installed
├── ParameterError        a hyper-parameter or an argument is out of its range
│   ├── PressRangeError   the net presses on a tag are out of range
│   └── ActionError       an action is not possible in the person's present state
│       ├── NothingToUndoError
│       ├── NothingToRedoError
│       ├── NotInHistoryError
│       ├── NotHiddenError
│       ├── ActionLimitError
│       └── ShareLimitError
├── UnknownNameError      a name that is not known
│   ├── UnknownItemError
│   ├── UnknownUserError
│   ├── UnknownTagError
│   │   └── MalformedTagError
│   ├── UnknownFeatureError
│   ├── UnknownBoostError
│   ├── UnknownPersonError
│   └── UnknownShareError
├── NotFittedError        a model was used before `fit`
├── SolverError           numbers overflowed or became NaN in a solver
├── ClusterError          a cluster does not answer, has another version, or lost its workers
├── ResourceError         the machine, its GPU or the cluster cannot do what was asked
├── ArtifactError         a saved folder is damaged, foreign or of another version
├── StoreError            the database cannot be reached, or refuses to write
│   └── StoreTimeoutError the database did not answer in time
└── ForeignOriginError    a form was sent from another site

ConvergenceWarning        a solver stopped before it reached its tolerance

Errors about one name or limit carry it as an attribute, and make their message from it.
"""

from collections.abc import Iterable

from teaser.closeness import closest_names


class TeaserError(Exception):
    """Base of every error that this package raises on purpose.

    A class that sets `message` makes its message from it and from its attributes.
    """

    message = ""

    def __str__(self) -> str:
        return self.message.format(**vars(self)) if self.message else super().__str__()


class DataError(TeaserError, ValueError):
    """A table, a rule or a data set is not valid."""


class TableError(DataError):
    """A file or frame cannot be read, or lacks a column."""


class RuleError(DataError):
    """A tag rule is not valid, or leaves no tag."""


class ParameterError(TeaserError, ValueError):
    """A hyper-parameter or an argument is out of its range."""


class PressRangeError(ParameterError):
    """The net presses on a tag are out of range.

    Attributes
    ----------
    tag
        The tag that was pressed.
    presses
        The net presses that were asked for.
    limit
        The most presses on one tag, in either direction.
    """

    message = "{presses:+d} presses on {tag} are out of range; -{limit} to {limit} are possible."

    def __init__(self, tag: object, presses: int, limit: int) -> None:
        super().__init__(tag, presses, limit)
        self.tag, self.presses, self.limit = tag, presses, limit


class ActionError(ParameterError):
    """An action is not possible in the person's present state."""


class NothingToUndoError(ActionError):
    """No action is left to undo."""

    message = "There is nothing to undo."


class NothingToRedoError(ActionError):
    """No action was undone last."""

    message = "There is nothing to redo."


class NotInHistoryError(ActionError):
    """An item cannot be removed from a history that does not hold it: `item_id`."""

    message = "The item {item_id!r} is not in the history, so it cannot be removed."

    def __init__(self, item_id: object) -> None:
        super().__init__(item_id)
        self.item_id = item_id


class NotHiddenError(ActionError):
    """An item cannot be shown again that is not hidden: `item_id`."""

    message = "The item {item_id!r} is not hidden, so it cannot be shown again."

    def __init__(self, item_id: object) -> None:
        super().__init__(item_id)
        self.item_id = item_id


class ActionLimitError(ActionError):
    """A person has as many stored actions as are allowed: `limit`."""

    message = (
        "{limit:,} actions are stored for this person, which is the most. "
        "Delete the person to begin again."
    )

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class ShareLimitError(ActionError):
    """A person has as many links in use as are allowed: `limit`."""

    message = "{limit:,} links are in use, which is the most. End one of them first."

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class UnknownNameError(TeaserError, LookupError):
    """A name that is not known."""


class UnknownItemError(UnknownNameError):
    """An item id that the model does not have.

    Attributes
    ----------
    item_id
        The id that was given.
    closest
        The ids that resemble it most.
    n_items
        How many items there are.
    example
        An id that there is, where the id that was given is of another type.
    """

    message = "Unknown item {item_id!r}; the model has {n_items:,} items."

    def __init__(
        self,
        item_id: object,
        closest: Iterable[str] = (),
        n_items: int = 0,
        example: int | str | None = None,
    ) -> None:
        self.item_id, self.closest, self.n_items = item_id, tuple(closest), n_items
        self.example = example
        super().__init__(item_id, self.closest, n_items, example)

    def __str__(self) -> str:
        told = super().__str__() + _sentence(self.closest)
        if self.example is None:
            return told
        kind = "texts" if isinstance(self.example, str) else "whole numbers"
        found = type(self.item_id).__name__
        return f"{told} Item ids are {kind}, such as {self.example!r}; found one of type {found}."


class UnknownUserError(UnknownNameError):
    """A user id that the data set does not have.

    Attributes
    ----------
    user_id
        The id that was given.
    closest
        The ids that resemble it most.
    n_users
        How many users there are.
    example
        An id that there is.
    """

    message = "Unknown user {user_id!r}; the data set has {n_users:,} users."

    def __init__(
        self,
        user_id: object,
        closest: Iterable[str] = (),
        n_users: int = 0,
        example: int | str | None = None,
    ) -> None:
        self.user_id, self.closest, self.n_users = user_id, tuple(closest), n_users
        self.example = example
        super().__init__(user_id, self.closest, n_users, example)

    def __str__(self) -> str:
        told = super().__str__() + _sentence(self.closest)
        if self.example is None or self.closest:
            return told
        kind = "texts" if isinstance(self.example, str) else "whole numbers"
        return f"{told} User ids are {kind}, such as {self.example!r}."


class UnknownTagError(UnknownNameError):
    """A tag that the model does not have.

    Attributes
    ----------
    tag
        The tag that was given.
    closest
        The tags that resemble it most.
    """

    message = "Unknown tag {tag}."

    def __init__(self, tag: object, closest: Iterable[str] = ()) -> None:
        self.tag, self.closest = tag, tuple(closest)
        super().__init__(tag, self.closest)

    def __str__(self) -> str:
        return super().__str__() + _sentence(self.closest)


class MalformedTagError(UnknownTagError):
    """A text that is not written as `feature=value`: `tag`."""

    message = "{tag!r} is not a tag. Write it as feature=value."


class UnknownFeatureError(UnknownNameError):
    """A feature of which the model has no tag: `feature`, and the `closest` features."""

    message = "Unknown feature {feature!r}."

    def __init__(self, feature: str, closest: Iterable[str] = ()) -> None:
        self.feature, self.closest = feature, tuple(closest)
        super().__init__(feature, self.closest)

    def __str__(self) -> str:
        return super().__str__() + _sentence(self.closest)


class UnknownBoostError(UnknownNameError):
    """A boost of what is no item, no tag and no column of true or false.

    Attributes
    ----------
    name
        What the boost was named by.
    closest
        The names that resemble it most.
    examples
        Names that can be boosted: values of the column or feature that was named, if it was one,
        else an item and a tag.
    """

    message = "boost names {name!r}, which is no item id, no tag and no column of true or false."

    def __init__(
        self, name: object, closest: Iterable[str] = (), examples: Iterable[str] = ()
    ) -> None:
        self.name, self.closest, self.examples = name, tuple(closest), tuple(examples)
        super().__init__(name, self.closest, self.examples)

    def __str__(self) -> str:
        told = super().__str__() + _sentence(self.closest)
        if not self.examples:
            return told
        shown = " or ".join(repr(example) for example in self.examples)
        if all(example.startswith(f"{self.name}=") for example in self.examples):
            return f"{told} Name one of its values, such as {shown}."
        return f"{told} Name an item or a tag, such as {shown}."


class UnknownPersonError(UnknownNameError):
    """No person has this id."""

    message = "There is no such person. Was it deleted?"


class UnknownShareError(UnknownNameError):
    """No link in use has this token or id."""

    message = "There is no such link. Perhaps its owner ended it."


class NotFittedError(TeaserError, AttributeError):
    """A model was used before `fit`."""


class SolverError(TeaserError, ArithmeticError):
    """Numbers overflowed or became NaN in a solver."""


class ResourceError(TeaserError, RuntimeError):
    """The machine, its GPU or the cluster cannot do what was asked."""


class ClusterError(TeaserError):
    """A cluster does not answer, has another version, or lost its workers."""


class ArtifactError(TeaserError):
    """A saved folder is damaged, foreign or of another version."""


class StoreError(TeaserError):
    """The database cannot be reached, or refuses to write."""


class StoreTimeoutError(StoreError):
    """The database did not answer in time."""


class ForeignOriginError(TeaserError):
    """A form was sent from another site, or does not say from where it was sent."""

    message = "This form was sent from another site, so nothing was changed."


class ConvergenceWarning(UserWarning):
    """A solver stopped before it reached its tolerance."""


class MissingPackageError(TeaserError, ImportError):
    """An optional package is needed and not installed.

    Parameters
    ----------
    what
        What needs the package.
    package
        Its name.
    extra
        The extra of this distribution that installs it, if there is one.
    """

    def __init__(self, what: str, package: str, extra: str | None = None) -> None:
        super().__init__(what, package, extra)
        self.what = what
        self.package = package
        self.extra = extra

    def __str__(self) -> str:
        command = install_command(self.extra) if self.extra else f"pip install {self.package}"
        return f"{self.what} needs {self.package}, which is not installed. Install it: {command}"


def install_command(extra: str) -> str:
    """Return the command that installs this distribution with an extra."""
    return f"pip install 'teaser-recommender[{extra}]'"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, in the singular for one: "1 row", "2,000 rows"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def closest(name: str, known: Iterable[str], *, n: int = 3) -> str:
    """Return the end of a message, ` Closest: a, b.`, or nothing where no name resembles `name`."""
    return _sentence(closest_names(name, known, n=n))


def _sentence(names: tuple[str, ...]) -> str:
    return f" Closest: {', '.join(names)}." if names else ""

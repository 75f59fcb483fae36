"""Every error that this package raises on purpose, as one tree.

TeaserError
├── DataError             a table, a rule or a data set is not valid
│   ├── TableError        a file or frame cannot be read, or lacks a column
│   └── RuleError         a tag rule is not valid, or leaves no tag
├── MissingPackageError   an optional package is needed and is not installed
├── ParameterError        a hyper-parameter or an argument is out of its range
│   ├── PressRangeError   the net presses on a tag are out of range
│   ├── WishError         a text is no wish
│   ├── PeriodError       a text is no period of days
│   ├── RequestLengthError a request in words is too long to be read
│   ├── WishLimitError    there are more wishes than can be applied together
│   ├── ContradictionError two wishes cannot both hold
│   ├── ImportedFileError what is to be imported is no export, or is damaged
│   ├── SameItemError     two items are needed, and both are the same
│   ├── NoTagsError       an item without tags was given as a start
│   └── ActionError       an action is not possible in the person's present state
│       ├── NothingToUndoError
│       ├── NothingToRedoError
│       ├── NotInHistoryError
│       ├── NotHiddenError
│       │   └── TagNotHiddenError
│       ├── FeedNameError
│       ├── FeedExistsError
│       ├── FeedLimitError
│       ├── StateLimitError
│       ├── ActionLimitError
│       │   └── StorageLimitError
│       └── ShareLimitError
├── UnknownNameError      a name that is not known
│   ├── UnknownItemError
│   ├── UnknownUserError
│   ├── UnknownTagError
│   │   └── MalformedTagError
│   ├── UnknownFeatureError
│   ├── UnknownBoostError
│   ├── UnknownPersonError
│   ├── UnknownFeedError
│   └── UnknownShareError
├── SearchTimeoutError    a search did not end within its time
├── NotFittedError        a model was used before `fit`
├── SolverError           numbers overflowed or became NaN in a solver
├── ClusterError          a cluster does not answer, has another version, or lost its workers
├── ResourceError         the machine, its GPU or the cluster cannot do what was asked
├── ArtifactError         a saved folder is damaged, foreign or of another version
├── StoreError            the database cannot be reached, or refuses to write
│   └── StoreTimeoutError the database did not answer in time
├── InterpreterError      an interpreter of requests in words failed
└── ForeignOriginError    a form was sent from another site

ConvergenceWarning        a solver stopped before it reached its tolerance

Errors about one name or limit carry it as an attribute, and make their message from it.
"""

import inspect
from collections.abc import Iterable

from rapidfuzz import fuzz, process

# The letters of a name that a message repeats, and those that are compared with known names.
MOST_LETTERS = 80
_COMPARED_LETTERS = 64


class TeaserError(Exception):
    """Base of every error that this package raises on purpose.

    A class with a `message` makes its message from it and from its facts: the annotated
    attributes, given in their order or by name. Long names are shortened in the message, but for
    `problem`, which is a sentence.
    """

    message = ""

    def __init__(self, *given: object, **named: object) -> None:
        facts = self._facts()
        if facts:
            values = {**dict(zip(facts, given, strict=False)), **named}
            for name in facts:
                value = values.get(name, getattr(type(self), name, None))
                setattr(self, name, tuple(value) if isinstance(value, list) else value)
            given = tuple(getattr(self, name) for name in facts)
        super().__init__(*given)

    @classmethod
    def _facts(cls) -> list[str]:
        """Return the names of the facts: those of the nearest class that has any."""
        found = (list(inspect.get_annotations(kind)) for kind in cls.__mro__)
        return next((names for names in found if names), [])

    def __str__(self) -> str:
        if not self.message:
            return super().__str__()
        facts = {name: getattr(self, name) for name in self._facts()}
        return self.message.format(
            **{k: v if k == "problem" else _short_value(v) for k, v in facts.items()}
        )


class DataError(TeaserError, ValueError):
    """A table, a rule or a data set is not valid."""


class TableError(DataError):
    """A file or frame cannot be read, or lacks a column."""


class RuleError(DataError):
    """A tag rule is not valid, or leaves no tag."""


class ParameterError(TeaserError, ValueError):
    """A hyper-parameter or an argument is out of its range."""


class PressRangeError(ParameterError):
    """The net presses on a tag are out of range."""

    tag: object
    presses: int
    limit: int
    message = "{presses:+d} presses on {tag} are out of range; -{limit} to {limit} are possible."


class WishError(ParameterError):
    """A text is no wish; `problem` is a sentence."""

    wish: str
    problem: str
    message = "{wish!r} is not a wish. {problem}"


class PeriodError(ParameterError):
    """A text is no period of days."""

    period: str
    message = (
        "{period!r} is no period. Write today, tomorrow, weekend, next_weekend, week, next_week, "
        "month, next_month, or days such as 2026-11-20..2026-11-22, one of which may be left out."
    )


class RequestLengthError(ParameterError):
    """A request in words is too long to be read."""

    length: int
    limit: int
    message = "The request has {length:,} letters; at most {limit:,} are read. Write a shorter one."


class WishLimitError(ParameterError):
    """There are more wishes than can be applied together."""

    n: int
    limit: int
    message = "{n:,} wishes are too many at once; at most {limit} apply together. Say it in parts."


class ContradictionError(ParameterError):
    """Two wishes cannot both hold."""

    one: object
    other: object
    message = "{one} and {other} cannot both be. Take one of them off."


class ImportedFileError(ParameterError):
    """What was given to import is no export, or is damaged; `problem` is a sentence."""

    problem: str
    message = (
        "This is no export of a person, or it is damaged: {problem} Nothing was changed. "
        "Export the data again and send the file as it is."
    )


class SameItemError(ParameterError):
    """Two items are needed, and both are the same."""

    item_id: object
    message = "Both items are {item_id!r}. Name two different ones."


class NoTagsError(ParameterError):
    """An item without tags was given as a start."""

    item_id: object
    message = "The item {item_id!r} has no tags, so it cannot be a start. Choose another item."


class ActionError(ParameterError):
    """An action is not possible in the person's present state."""


class NothingToUndoError(ActionError):
    """No action is left to undo."""

    message = "There is nothing to undo."


class NothingToRedoError(ActionError):
    """No action was undone last."""

    message = "There is nothing to redo."


class NotInHistoryError(ActionError):
    """An item cannot be removed from a history that does not hold it."""

    item_id: object
    message = "The item {item_id!r} is not in the history, so it cannot be removed."


class NotHiddenError(ActionError):
    """An item cannot be shown again that is not hidden."""

    item_id: object
    message = "The item {item_id!r} is not hidden, so it cannot be shown again."


class TagNotHiddenError(NotHiddenError):
    """A tag cannot be shown again that is not hidden."""

    tag: object
    message = "The tag {tag} is not hidden, so it cannot be shown again."


class FeedNameError(ActionError):
    """A name that no list of a person can have; `limit` is the most letters."""

    name: object
    limit: int
    message = "{name!r} cannot be the name of a list. It must be a line of 1 to {limit} letters."


class FeedExistsError(ActionError):
    """A person has a list of this name already."""

    name: object
    message = "There is a list named {name!r} already. Take another name."


class FeedLimitError(ActionError):
    """A person has as many lists as are allowed."""

    limit: int
    message = "There are {limit} lists beside the main one, which is the most. Drop one first."


class StateLimitError(ActionError):
    """More would be stored for a person than pages can show quickly; `kind` says what."""

    kind: str
    n: int
    limit: int
    message = "{n:,} {kind} are too many; at most {limit:,} can be kept. Nothing was changed."


class ActionLimitError(ActionError):
    """A person has as many stored actions as are allowed."""

    limit: int
    message = (
        "{limit:,} actions are stored for this person, which is the most. "
        "Delete the person to begin again."
    )


class StorageLimitError(ActionLimitError):
    """The events of a person would take more bytes than are allowed."""

    message = (
        "The stored actions of this person would take more than {limit:,} bytes, which is the "
        "most. Nothing was changed. Delete the person to begin again."
    )


class ShareLimitError(ActionError):
    """A person has as many links in use as are allowed."""

    limit: int
    message = "{limit:,} links are in use, which is the most. End one of them first."


class UnknownNameError(TeaserError, LookupError):
    """A name that is not known.

    Where the class has them, `closest` are the names that resemble it most, and `example` is a
    known one.
    """

    def __str__(self) -> str:
        names = getattr(self, "closest", None)
        return super().__str__() + (f" Closest: {', '.join(names)}." if names else "")


class UnknownItemError(UnknownNameError):
    """An item id that the model does not have; `example` where it is of another type."""

    item_id: object
    closest: tuple[str, ...] = ()
    n_items: int = 0
    example: int | str | None = None
    message = "Unknown item {item_id!r}; the model has {n_items:,} items."

    def __str__(self) -> str:
        if self.example is None:
            return super().__str__()
        found = type(self.item_id).__name__
        return (
            f"{super().__str__()} Item ids are {_kind(self.example)}, such as {self.example!r}; "
            f"found one of type {found}."
        )


class UnknownUserError(UnknownNameError):
    """A user id that the data set does not have."""

    user_id: object
    closest: tuple[str, ...] = ()
    n_users: int = 0
    example: int | str | None = None
    message = "Unknown user {user_id!r}; the data set has {n_users:,} users."

    def __str__(self) -> str:
        if self.example is None or self.closest:
            return super().__str__()
        return f"{super().__str__()} User ids are {_kind(self.example)}, such as {self.example!r}."


class UnknownTagError(UnknownNameError):
    """A tag that the model does not have."""

    tag: object
    closest: tuple[str, ...] = ()
    message = "Unknown tag {tag}."


class MalformedTagError(UnknownTagError):
    """A text that is not written as `feature=value`."""

    message = "{tag!r} is not a tag. Write it as feature=value."


class UnknownFeatureError(UnknownNameError):
    """A feature of which the model has no tag."""

    feature: str
    closest: tuple[str, ...] = ()
    message = "Unknown feature {feature!r}."


class UnknownBoostError(UnknownNameError):
    """A boost of what is no item, no tag and no column of true or false.

    `examples` are values of the column or feature that was named, if it was one, else an item and
    a tag.
    """

    name: object
    closest: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    message = "boost names {name!r}, which is no item id, no tag and no column of true or false."

    def __str__(self) -> str:
        shown = " or ".join(repr(example) for example in self.examples)
        if not shown:
            return super().__str__()
        is_value = all(example.startswith(f"{self.name}=") for example in self.examples)
        what = "one of its values" if is_value else "an item or a tag"
        return f"{super().__str__()} Name {what}, such as {shown}."


class UnknownPersonError(UnknownNameError):
    """No person has this id."""

    message = "There is no such person. Was it deleted?"


class UnknownFeedError(UnknownNameError):
    """A person has no list of this name."""

    name: object
    closest: tuple[str, ...] = ()
    message = "There is no list named {name!r}."


class UnknownShareError(UnknownNameError):
    """No link in use has this token or id."""

    message = "There is no such link. Perhaps its owner ended it."


class SearchTimeoutError(TeaserError):
    """A search did not end within its time."""

    seconds: float
    message = "The search did not end within {seconds:g} s. Allow it more time, or ask for less."


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


class InterpreterError(TeaserError):
    """An interpreter of requests in words failed; `problem` is a sentence."""

    name: str
    problem: str
    message = "The interpreter {name!r} of requests in words cannot be used. {problem}"


class ForeignOriginError(TeaserError):
    """A form was sent from another site, or does not say from where it was sent."""

    message = "This form was sent from another site, so nothing was changed."


class MissingPackageError(TeaserError, ImportError):
    """An optional package is needed and not installed.

    `what` needs the `package`; `extra` of this distribution installs it, if there is one.
    """

    what: str
    package: str
    extra: str | None = None

    def __str__(self) -> str:
        command = install_command(self.extra) if self.extra else f"pip install {self.package}"
        return f"{self.what} needs {self.package}, which is not installed. Install it: {command}"


class ConvergenceWarning(UserWarning):
    """A solver stopped before it reached its tolerance."""


def install_command(extra: str) -> str:
    """Return the command that installs this distribution with an extra."""
    return f"pip install 'teaser-recommender[{extra}]'"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, in the singular for one: "1 row", "2,000 rows"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def shortened(name: object) -> str:
    """Return a name as messages repeat it: at most `MOST_LETTERS` letters, then an ellipsis."""
    text = str(name)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


def closest(name: str, known: Iterable[str], *, n: int = 3) -> str:
    """Return the end of a message, ` Closest: a, b.`, or nothing where no name resembles `name`."""
    names = closest_names(name, known, n=n)
    return f" Closest: {', '.join(names)}." if names else ""


def closest_names(name: str, known: Iterable[str], *, n: int = 3) -> tuple[str, ...]:
    """Return the known names that resemble `name` most, the best first, by their first letters."""
    names = list(known)
    starts = [each[:_COMPARED_LETTERS] for each in names]
    short = name[:_COMPARED_LETTERS]
    found = process.extract(short, starts, scorer=fuzz.ratio, limit=n, score_cutoff=50)
    return tuple(names[place] for _, _, place in found)


def _short_value(value: object) -> object:
    """Return a fact as a message repeats it; numbers stay, as the message may format them."""
    is_short = isinstance(value, int | float) or len(str(value)) <= MOST_LETTERS
    return value if is_short else shortened(value)


def _kind(example: object) -> str:
    return "texts" if isinstance(example, str) else "whole numbers"

"""The errors of the library, and how messages name what is closest."""

from collections.abc import Iterable

from teaser.closeness import closest_names

# The letters of a name that a message repeats.
MOST_LETTERS = 80


class TeaserError(Exception):
    """Base of every error that this package raises on purpose.

    A class that sets `message` makes its message from it and from its attributes. Long names are
    shortened in it, but for `problem`, which is a sentence.
    """

    message = ""

    def __str__(self) -> str:
        if not self.message:
            return super().__str__()
        named = {k: v if k == "problem" else _told(v) for k, v in vars(self).items()}
        return self.message.format(**named)


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


class WishError(ParameterError):
    """A text is no wish: `wish`, and the `problem` as a sentence."""

    message = "{wish!r} is not a wish. {problem}"

    def __init__(self, wish: str, problem: str) -> None:
        super().__init__(wish, problem)
        self.wish, self.problem = wish, problem


class PeriodError(ParameterError):
    """A text is no period of days: `period`."""

    message = (
        "{period!r} is no period. Write today, tomorrow, weekend, next_weekend, week, next_week, "
        "month, next_month, or days such as 2026-11-20..2026-11-22, one of which may be left out."
    )

    def __init__(self, period: str) -> None:
        super().__init__(period[:80])
        self.period = period[:80]


class RequestLengthError(ParameterError):
    """A request in words is too long to be read: its `length`, and the `limit`, in letters."""

    message = "The request has {length:,} letters; at most {limit:,} are read. Write a shorter one."

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(length, limit)
        self.length, self.limit = length, limit


class SameItemError(ParameterError):
    """Two items are needed, and both are the same: `item_id`."""

    message = "Both items are {item_id!r}. Name two different ones."

    def __init__(self, item_id: object) -> None:
        super().__init__(item_id)
        self.item_id = item_id


class NoTagsError(ParameterError):
    """An item without tags was given as a start: `item_id`."""

    message = "The item {item_id!r} has no tags, so it cannot be a start. Choose another item."

    def __init__(self, item_id: object) -> None:
        super().__init__(item_id)
        self.item_id = item_id


class SearchTimeoutError(TeaserError):
    """A search did not end within its time: `seconds`."""

    message = "The search did not end within {seconds:g} s. Allow it more time, or ask for less."

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


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
    """An interpreter of requests in words failed: its `name`, and the `problem` as a sentence."""

    message = "The interpreter {name!r} of requests in words cannot be used. {problem}"

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)
        self.name, self.problem = name, problem


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


def shortened(name: object) -> str:
    """Return a name as messages repeat it: at most `MOST_LETTERS` letters, then an ellipsis."""
    text = str(name)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


def _told(value: object) -> object:
    """Return a value of a message; numbers stay numbers, as the message may format them."""
    if isinstance(value, int | float):
        return value
    text = shortened(value)
    return text if text.endswith("…") else value


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, in the singular for one: "1 row", "2,000 rows"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def closest(name: str, known: Iterable[str], *, n: int = 3) -> str:
    """Return the end of a message, ` Closest: a, b.`, or nothing where no name resembles `name`."""
    return closest_sentence(closest_names(name, known, n=n))


def closest_sentence(names: tuple[str, ...]) -> str:
    """Return the end of a message that names the closest ones."""
    return f" Closest: {', '.join(names)}." if names else ""

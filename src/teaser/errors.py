"""Every error that this package raises on purpose, as one tree.

TeaserError
├── DataError             a table, a rule or a data set is not valid
│   ├── TableError        a file or frame cannot be read, or lacks a column
│   └── RuleError         a tag rule is not valid, or leaves no tag
├── ParameterError        an argument is out of its range, or an action is not possible now
│   └── LimitError        there would be more of something than is allowed
├── UnknownNameError      an item, a user, a tag or another name is not known
├── MissingPackageError   an optional package is needed and is not installed
├── NotFittedError        a model was used before `fit`
├── SolverError           numbers overflowed or became NaN in a solver
├── ResourceError         memory, a GPU, a cluster or an interpreter is missing or fails
├── SearchTimeoutError    a search did not end within its time
├── ArtifactError         a saved folder is damaged, foreign or of another version
└── StoreError            the database cannot be reached, or refuses to write

ConvergenceWarning        a solver stopped before it reached its tolerance

Classes are what a caller may want to catch. `problem` and `facts` tell the rest apart.
"""

from collections.abc import Iterable
from typing import Any

from rapidfuzz import fuzz, process

# The letters of a name that a message repeats, and those that are compared with known names.
MOST_LETTERS = 80
_COMPARED_LETTERS = 64
# What is said of a name that is not known, by what it would name.
_UNKNOWN = {
    "tag": "Unknown tag {name}.",
    "list": "There is no list named {name!r}.",
    "person": "There is no such person. Was it deleted?",
    "share": "There is no such link. Perhaps its owner ended it.",
}


class TeaserError(Exception):
    """Base of every error that this package raises on purpose.

    Parameters
    ----------
    message
        What was wrong, what was found, what to do. If there are facts, they fill in its fields;
        long ones are cut there.
    problem
        The problem in a few words, for programs, where the class does not tell it.
    facts
        The names and numbers of the problem.
    """

    message: str = ""
    problem: str = ""

    def __init__(self, message: str = "", *, problem: str = "", **facts: Any) -> None:
        super().__init__(message)
        self.message, self.problem, self.facts = message, problem, facts

    def __str__(self) -> str:
        facts = {name: _short_value(value) for name, value in self.facts.items()}
        return self.message.format(**facts) if facts else self.message


class DataError(TeaserError, ValueError):
    """A table, a rule or a data set is not valid."""


class TableError(DataError):
    """A file or frame cannot be read, or lacks a column."""


class RuleError(DataError):
    """A tag rule is not valid, or leaves no tag."""


class ParameterError(TeaserError, ValueError):
    """An argument is out of its range, or an action is not possible in the present state."""


class LimitError(ParameterError):
    """There would be more of something than is allowed; the fact `limit` is the most."""


class UnknownNameError(TeaserError, LookupError):
    """A name that is not known.

    Parameters
    ----------
    kind
        What it would name: an item, a user, a tag, a feature, a column, a boost, a list, a person
        or a share.
    name
        The name.
    closest
        The known names that resemble it most.
    message
        What is said in place of "Unknown kind 'name'.".
    hint
        A sentence after the closest names.
    """

    def __init__(
        self,
        kind: str,
        name: object = "",
        closest: Iterable[str] = (),
        message: str = "",
        hint: str = "",
        **facts: Any,
    ) -> None:
        said = message or _UNKNOWN.get(kind, "Unknown {kind} {name!r}.")
        super().__init__(said, problem=f"unknown {kind}", kind=kind, name=name, **facts)
        self.args = (kind, name)
        self.kind, self.name, self.closest, self.hint = kind, name, tuple(closest), hint

    def __str__(self) -> str:
        names = f"Closest: {', '.join(self.closest)}." if self.closest else ""
        return " ".join(part for part in (super().__str__(), names, self.hint) if part)


class MissingPackageError(TeaserError, ImportError):
    """An optional package is needed and not installed.

    `what` needs the `package`; `extra` of this distribution installs it, if there is one.
    """

    def __init__(self, what: str, package: str, extra: str | None = None) -> None:
        command = install_command(extra) if extra else f"pip install {package}"
        super().__init__(
            "{what} needs {package}, which is not installed. Install it: {command}",
            what=what,
            package=package,
            command=command,
        )
        self.args = (what, package, extra)
        self.what, self.package, self.extra = what, package, extra


class NotFittedError(TeaserError, AttributeError):
    """A model was used before `fit`."""


class SolverError(TeaserError, ArithmeticError):
    """Numbers overflowed or became NaN in a solver."""


class ResourceError(TeaserError, RuntimeError):
    """Memory, a GPU, a cluster or an interpreter of requests in words is missing or fails."""


class SearchTimeoutError(TeaserError):
    """A search did not end within its time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            "The search did not end within {seconds:g} s. Allow it more time, or ask for less.",
            seconds=seconds,
        )
        self.args = (seconds,)


class ArtifactError(TeaserError):
    """A saved folder is damaged, foreign or of another version."""


class StoreError(TeaserError):
    """The database cannot be reached, or refuses to write."""


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
    found = process.extract(
        short, starts, scorer=fuzz.ratio, processor=str.casefold, limit=n, score_cutoff=50
    )
    return tuple(names[place] for _, _, place in found)


def _short_value(value: object) -> object:
    """Return a fact as a message repeats it; numbers stay, as the message may format them."""
    is_short = isinstance(value, int | float) or len(str(value)) <= MOST_LETTERS
    return value if is_short else shortened(value)

"""Everything that can go wrong, as one tree.

TeaserError
├── DataError             a table, a rule or a data set does not hold what it must
│   ├── TableError        a file or frame cannot be read, or lacks a column
│   └── RuleError         a tag rule is not valid, or leaves no tag
├── MissingPackageError   an optional package is needed and is not installed
├── ParameterError        a hyper-parameter or an argument is out of its range
├── UnknownNameError      a name that the model has never heard of
│   ├── UnknownItemError
│   └── UnknownTagError
├── NotFittedError        a model was asked something before `fit`
├── SolverError           the numbers left what the solver can hold
├── ClusterError          a cluster does not answer, is of another version, or lost its workers
├── ResourceError         the machine, its GPU or the cluster cannot do what was asked
└── ArtifactError         a saved folder is damaged, foreign or of another version

ConvergenceWarning        a solver stopped before it reached its tolerance
"""

from collections.abc import Iterable
from difflib import get_close_matches


class TeaserError(Exception):
    """Base of every error that this package raises on purpose."""


class DataError(TeaserError, ValueError):
    """A table, a rule or a data set does not hold what it must."""


class TableError(DataError):
    """A file or frame cannot be read, or lacks a column."""


class RuleError(DataError):
    """A tag rule is not valid, or leaves no tag."""


class ParameterError(TeaserError, ValueError):
    """A hyper-parameter or an argument is out of its range."""


class UnknownNameError(TeaserError, LookupError):
    """A name that the model has never heard of."""


class UnknownItemError(UnknownNameError):
    """An item id that is not in the catalogue."""


class UnknownTagError(UnknownNameError):
    """A tag that the model does not have."""


class NotFittedError(TeaserError, AttributeError):
    """A model was asked something before `fit`."""


class SolverError(TeaserError, ArithmeticError):
    """The numbers left what the solver can hold."""


class ResourceError(TeaserError, RuntimeError):
    """The machine, its GPU or the cluster cannot do what was asked."""


class ClusterError(TeaserError):
    """A cluster does not answer, is of another version, or lost its workers."""


class ArtifactError(TeaserError):
    """A saved folder is damaged, foreign or of another version."""


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
        The extra of this distribution that installs it.
    """

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(what, package, extra)
        self.what = what
        self.package = package
        self.extra = extra

    def __str__(self) -> str:
        return (
            f"{self.what} needs {self.package}, which is not installed. "
            f"Install it: {install_command(self.extra)}"
        )


def install_command(extra: str) -> str:
    """Return the command that installs this distribution with an extra."""
    return f"pip install 'teaser-recommender[{extra}]'"


_MANY = 5_000


def closest(name: str, known: Iterable[str], *, n: int = 3) -> str:
    """Say which known names resemble `name`: ` Closest: a, b.`, or nothing.

    Among very many names only those with the same beginning are looked at, so that a wrong name
    costs no more than a right one.
    """
    names = list(known)
    for length in range(1, len(name) + 1):
        alike = [k for k in names if k.startswith(name[:length])] if len(names) > _MANY else []
        if not alike:
            break
        names = alike
    found = get_close_matches(name, names[:_MANY], n=n, cutoff=0.5)
    return f" Closest: {', '.join(found)}." if found else ""

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

from teaser.errors.actions import (
    ActionError,
    ActionLimitError,
    ContradictionError,
    FeedExistsError,
    FeedLimitError,
    FeedNameError,
    ImportedFileError,
    NotHiddenError,
    NothingToRedoError,
    NothingToUndoError,
    NotInHistoryError,
    ShareLimitError,
    StateLimitError,
    StorageLimitError,
    TagNotHiddenError,
    WishLimitError,
)
from teaser.errors.base import (
    ArtifactError,
    ClusterError,
    ConvergenceWarning,
    DataError,
    ForeignOriginError,
    InterpreterError,
    MissingPackageError,
    NoTagsError,
    NotFittedError,
    ParameterError,
    PeriodError,
    PressRangeError,
    RequestLengthError,
    ResourceError,
    RuleError,
    SameItemError,
    SearchTimeoutError,
    SolverError,
    StoreError,
    StoreTimeoutError,
    TableError,
    TeaserError,
    WishError,
    closest,
    counted,
    install_command,
    shortened,
)
from teaser.errors.names import (
    MalformedTagError,
    UnknownBoostError,
    UnknownFeatureError,
    UnknownFeedError,
    UnknownItemError,
    UnknownNameError,
    UnknownPersonError,
    UnknownShareError,
    UnknownTagError,
    UnknownUserError,
)

__all__ = [
    "ActionError",
    "ActionLimitError",
    "ArtifactError",
    "ClusterError",
    "ContradictionError",
    "ConvergenceWarning",
    "DataError",
    "FeedExistsError",
    "FeedLimitError",
    "FeedNameError",
    "ForeignOriginError",
    "ImportedFileError",
    "InterpreterError",
    "MalformedTagError",
    "MissingPackageError",
    "NoTagsError",
    "NotFittedError",
    "NotHiddenError",
    "NotInHistoryError",
    "NothingToRedoError",
    "NothingToUndoError",
    "ParameterError",
    "PeriodError",
    "PressRangeError",
    "RequestLengthError",
    "ResourceError",
    "RuleError",
    "SameItemError",
    "SearchTimeoutError",
    "ShareLimitError",
    "SolverError",
    "StateLimitError",
    "StorageLimitError",
    "StoreError",
    "StoreTimeoutError",
    "TableError",
    "TagNotHiddenError",
    "TeaserError",
    "UnknownBoostError",
    "UnknownFeatureError",
    "UnknownFeedError",
    "UnknownItemError",
    "UnknownNameError",
    "UnknownPersonError",
    "UnknownShareError",
    "UnknownTagError",
    "UnknownUserError",
    "WishError",
    "WishLimitError",
    "closest",
    "counted",
    "install_command",
    "shortened",
]

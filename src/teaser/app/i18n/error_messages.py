"""Error messages for visitors, in their language: by exception class, else by HTTP status."""

from dataclasses import dataclass

from teaser.app.i18n.texts import Texts
from teaser.errors import (
    ActionLimitError,
    ContradictionError,
    FeedExistsError,
    FeedLimitError,
    FeedNameError,
    ForeignOriginError,
    ImportedFileError,
    NoTagsError,
    NotHiddenError,
    NothingToRedoError,
    NothingToUndoError,
    NotInHistoryError,
    PeriodError,
    PressRangeError,
    RequestLengthError,
    SameItemError,
    ShareLimitError,
    StateLimitError,
    TeaserError,
    UnknownFeatureError,
    UnknownFeedError,
    UnknownItemError,
    UnknownShareError,
    UnknownTagError,
    WishError,
    WishLimitError,
    shortened,
)

# The sentence for a class of errors, and the attribute that fills in {name}, if any.
_BY_CLASS: dict[type[BaseException], tuple[str, str | None]] = {
    UnknownItemError: ("There is no item “{name}” here.", "item_id"),
    UnknownTagError: ("There is no tag “{name}” here.", "tag"),
    UnknownFeatureError: ("There is no feature “{name}” here.", "feature"),
    UnknownShareError: ("There is no such link. Perhaps its owner ended it.", None),
    PressRangeError: ("That is as far as this tag goes; it cannot be pressed further.", None),
    SameItemError: ("These are the same item. Choose two different ones.", None),
    NoTagsError: ("This has no tags, so nothing like it can be looked for.", None),
    WishError: ("This wish cannot be understood. Nothing was changed.", None),
    PeriodError: ("These days cannot be understood. Nothing was changed.", None),
    RequestLengthError: (
        "This is too long to read. Write what you want in a few sentences.",
        None,
    ),
    NothingToUndoError: ("There is nothing to undo.", None),
    NothingToRedoError: ("There is nothing to redo.", None),
    NotInHistoryError: ("This is not among what you looked at any more.", None),
    NotHiddenError: ("This is not hidden any more.", None),
    UnknownFeedError: ("You have no list named “{name}”.", "name"),
    FeedNameError: ("A list needs a name of one line, of at most 60 letters.", None),
    FeedExistsError: ("You have a list named “{name}” already. Take another name.", "name"),
    FeedLimitError: ("You have as many lists as can be had. Drop one of them first.", None),
    ContradictionError: ("Two of these wishes cannot both be. Take one of them off.", None),
    WishLimitError: (
        "These are {n} wishes, and at most {limit} can be taken at once. Nothing was changed.",
        None,
    ),
    StateLimitError: (
        "There would be {n} {kind}, and at most {limit} can be kept. Nothing was changed.",
        None,
    ),
    ImportedFileError: (
        "This is not a file that was exported here, or it is damaged. Nothing was changed.",
        None,
    ),
    ForeignOriginError: ("This form was sent from another site, so nothing was changed.", None),
    ShareLimitError: ("You have as many links as can be had. End one of them first.", None),
    ActionLimitError: (
        "You have done as much as can be kept. Delete your data to begin again.",
        None,
    ),
}
_BY_STATUS = {
    403: "You may not do this here. Nothing was changed.",
    404: "There is nothing at this address.",
    405: "This address cannot be used in that way.",
    413: "That is more than can be sent at once. Nothing was changed.",
    429: "Too many requests came from your address. Wait a minute and try again.",
    500: "Something went wrong on our side. Nothing that was confirmed is lost.",
    503: "This cannot be done just now. Nothing that was confirmed is lost; try again soon.",
}
_OTHER = "What was sent cannot be understood. Go back and try again."


@dataclass(frozen=True)
class ErrorMessage:
    """A sentence for a visitor, and the error's own words if they differ."""

    text: str
    details: str


def error_message(
    status: int, details: str, texts: Texts, error: TeaserError | None = None
) -> ErrorMessage:
    """Return the message for an error.

    Parameters
    ----------
    status
        The HTTP status of the response.
    details
        The error's own words, in English.
    texts
        The texts of the visitor's language.
    error
        The error; without one, or for a class that has no sentence, the status decides.
    """
    known = next((_BY_CLASS[kind] for kind in type(error).__mro__ if kind in _BY_CLASS), None)
    if known is None:
        text = texts(_BY_STATUS.get(status, _OTHER if status < 500 else _BY_STATUS[500]))
    elif isinstance(error, StateLimitError | WishLimitError):
        kind = texts(error.kind) if isinstance(error, StateLimitError) else ""
        n, limit = texts.integer(error.n), texts.integer(error.limit)
        text = texts(known[0], n=n, limit=limit, kind=kind)
    elif known[1] is None:
        text = texts(known[0])
    else:
        text = texts(known[0], name=shortened(getattr(error, known[1])))
    return ErrorMessage(text, "" if details == text else details)

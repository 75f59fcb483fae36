"""Errors about what people do: actions, lists, wishes, imports."""

from teaser.errors.base import ParameterError


class ContradictionError(ParameterError):
    """Two wishes cannot both hold: `one` and `other`."""

    message = "{one} and {other} cannot both be. Take one of them off."

    def __init__(self, one: object, other: object) -> None:
        super().__init__(one, other)
        self.one, self.other = one, other


class WishLimitError(ParameterError):
    """There are more wishes than can be applied together: `n` of them, and the `limit`."""

    message = "{n:,} wishes are too many at once; at most {limit} apply together. Say it in parts."

    def __init__(self, n: int, limit: int) -> None:
        super().__init__(n, limit)
        self.n, self.limit = n, limit


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


class TagNotHiddenError(NotHiddenError):
    """A tag cannot be shown again that is not hidden: `tag`."""

    message = "The tag {tag} is not hidden, so it cannot be shown again."

    def __init__(self, tag: object) -> None:
        super().__init__(tag)
        self.tag = tag


class FeedNameError(ActionError):
    """A name that no feed can have.

    Attributes
    ----------
    name
        The name that was given.
    limit
        The most letters of a name.
    """

    message = "{name!r} cannot be the name of a list. It must be a line of 1 to {limit} letters."

    def __init__(self, name: object, limit: int) -> None:
        super().__init__(name, limit)
        self.name, self.limit = name, limit


class FeedExistsError(ActionError):
    """A person has a feed of this name already: `name`."""

    message = "There is a list named {name!r} already. Take another name."

    def __init__(self, name: object) -> None:
        super().__init__(name)
        self.name = name


class FeedLimitError(ActionError):
    """A person has as many feeds as are allowed: `limit`."""

    message = "There are {limit} lists beside the main one, which is the most. Drop one first."

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class StateLimitError(ActionError):
    """More would be kept for a person than pages can show quickly.

    Attributes
    ----------
    kind
        What there is too much of, such as `hidden items`.
    n
        How many of them there would be.
    limit
        The most that can be kept.
    """

    message = "{n:,} {kind} are too many; at most {limit:,} can be kept. Nothing was changed."

    def __init__(self, kind: str, n: int, limit: int) -> None:
        super().__init__(kind, n, limit)
        self.kind, self.n, self.limit = kind, n, limit


class ImportedFileError(ParameterError):
    """What was given to import is no export, or is damaged: `problem` says what was found."""

    message = (
        "This is no export of a person, or it is damaged: {problem} Nothing was changed. "
        "Export the data again and send the file as it is."
    )

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class ActionLimitError(ActionError):
    """A person has as many stored actions as are allowed: `limit`."""

    message = (
        "{limit:,} actions are stored for this person, which is the most. "
        "Delete the person to begin again."
    )

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class StorageLimitError(ActionLimitError):
    """The events of a person would take more bytes than are allowed: `limit`."""

    message = (
        "The stored actions of this person would take more than {limit:,} bytes, which is the "
        "most. Nothing was changed. Delete the person to begin again."
    )


class ShareLimitError(ActionError):
    """A person has as many links in use as are allowed: `limit`."""

    message = "{limit:,} links are in use, which is the most. End one of them first."

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit

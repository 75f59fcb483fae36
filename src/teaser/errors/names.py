"""Errors about names that are not known."""

from collections.abc import Iterable

from teaser.errors.base import TeaserError, closest_sentence


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
        told = super().__str__() + closest_sentence(self.closest)
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
        told = super().__str__() + closest_sentence(self.closest)
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
        return super().__str__() + closest_sentence(self.closest)


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
        return super().__str__() + closest_sentence(self.closest)


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
        told = super().__str__() + closest_sentence(self.closest)
        if not self.examples:
            return told
        shown = " or ".join(repr(example) for example in self.examples)
        if all(example.startswith(f"{self.name}=") for example in self.examples):
            return f"{told} Name one of its values, such as {shown}."
        return f"{told} Name an item or a tag, such as {shown}."


class UnknownPersonError(UnknownNameError):
    """No person has this id."""

    message = "There is no such person. Was it deleted?"


class UnknownFeedError(UnknownNameError):
    """A person has no feed of this name: `name`, and the `closest` names."""

    message = "There is no list named {name!r}."

    def __init__(self, name: object, closest: Iterable[str] = ()) -> None:
        self.name, self.closest = name, tuple(closest)
        super().__init__(name, self.closest)

    def __str__(self) -> str:
        return super().__str__() + closest_sentence(self.closest)


class UnknownShareError(UnknownNameError):
    """No link in use has this token or id."""

    message = "There is no such link. Perhaps its owner ended it."

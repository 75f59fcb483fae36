"""What pages show of a person's state besides profile and list."""

from dataclasses import dataclass
from typing import Self

from teaser.app.state import Order, State


@dataclass(frozen=True, slots=True)
class PageState:
    """The settings of the current list, and the buttons that have an effect.

    It can be hashed, unlike the state, so that pages can be kept by it.
    """

    profiling: bool
    order: Order
    feed: str
    variety: float
    has_done: bool
    can_undo: bool
    can_redo: bool

    @classmethod
    def of(cls, state: State) -> Self:
        """Return what pages show of a state."""
        return cls(
            profiling=state.profiling,
            order=state.order,
            feed=state.feed,
            variety=state.variety,
            has_done=state.n_events > 0,
            can_undo=state.undoable is not None,
            can_redo=state.redoable is not None,
        )

"""A fitted model in the pickles of a framework: plain arrays, tables and settings."""

from typing import Any, ClassVar

from teaser.model.teaser import Teaser


class PackedState:
    """A mixin for objects that frameworks pickle, to send to processes or to write to a file.

    A fitted model in `model_` is pickled as what `Teaser.save` writes, and read back as
    `teaser.load` reads it.
    """

    model_: Teaser
    _packed: ClassVar[str] = "model_"

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if self._packed in state:
            state[self._packed] = state[self._packed].to_content()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._packed in state:
            self.__dict__[self._packed] = Teaser.from_content(state[self._packed])

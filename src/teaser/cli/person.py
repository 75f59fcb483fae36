"""The options that say whom a command is about: a history, or a user of a data set."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from teaser.cli.options import About, History, Press, read_history, refuse_unused
from teaser.data.dataset import Dataset
from teaser.errors import ParameterError
from teaser.model.base import Model
from teaser.model.item_table import History as Viewed


@dataclass(frozen=True)
class Person:
    """A history that is given, or that of a user of a data set; and what the person said."""

    history: History = None
    user: Annotated[
        str | None, typer.Option(help="Take the history of this user of the data set instead.")
    ] = None
    data: Annotated[
        Path | None,
        typer.Option(help="The data set of --user; that of the fit if not given."),
    ] = None
    press: Press = None
    about: About = None

    def viewed(self, model: Model, folder: Path) -> Viewed:
        """Return the history.

        Parameters
        ----------
        model, folder
            The model, and the folder that it was read from.
        """
        if self.user is None:
            refuse_unused("a command without --user", data=self.data)
            return read_history(model.items_, self.history)
        refuse_unused("--user, who has a history", history=self.history)
        return Dataset.load(find_dataset(folder, model, self.data)).history(self.user)


def find_dataset(folder: Path, model: Model, given: Path | None) -> Path:
    """Return the folder of the data set: the one given, or that of the fit."""
    if given is not None:
        return given
    kept = getattr(model, "dataset_path_", None)
    if kept is None or not Path(kept).exists():
        where = "does not say which" if kept is None else f"was fitted to {kept}, which is gone"
        raise ParameterError(f"Name the data set, with --data: {folder} {where}.")
    return Path(kept)

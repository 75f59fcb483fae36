"""The models, and how to read one back from its folder."""

from pathlib import Path
from typing import Any, TypeVar, overload

from polars.exceptions import PolarsError

from teaser import artifact
from teaser.artifact import Content
from teaser.errors import ArtifactError
from teaser.model.base import Model
from teaser.model.baselines.ease import EASE
from teaser.model.baselines.edlae import EDLAE
from teaser.model.baselines.itemknn import ItemKNN
from teaser.model.baselines.popularity import Popularity
from teaser.model.baselines.product import Product
from teaser.model.baselines.wmf import WMF, WMFS
from teaser.model.teaser import Teaser

__all__ = [
    "EASE",
    "EDLAE",
    "KINDS",
    "WMF",
    "WMFS",
    "ItemKNN",
    "Popularity",
    "Product",
    "Teaser",
    "from_content",
    "load",
]

KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (Teaser, EASE, EDLAE, ItemKNN, WMF, WMFS, Product, Popularity)
}

M = TypeVar("M", bound=Model)


@overload
def load(folder: str | Path) -> Any: ...


@overload
def load(folder: str | Path, kind: type[M]) -> M: ...


def load(folder: str | Path, kind: type[Any] = Model) -> Any:
    """Read a model that its `save` wrote; every file is checked against its checksum.

    Parameters
    ----------
    kind
        The class that is needed, such as `Teaser`; any model when not given.
    """
    content = artifact.read(folder)
    if content.kind not in KINDS:
        raise ArtifactError(
            f"{folder} holds a {content.kind}, not a model. Fit a model to a data set first."
        )
    if not issubclass(KINDS[content.kind], kind):
        raise ArtifactError(
            f"{folder} holds a model of the kind {content.kind}, and {kind.__name__} is needed "
            "here. Name the folder of another model."
        )
    try:
        return from_content(content)
    except (LookupError, TypeError, ValueError, AttributeError, PolarsError) as error:
        raise ArtifactError(f"{folder} does not hold a whole {content.kind}: {error!r}.") from error


def from_content(content: Content) -> Any:
    """Return the model that a saved content is of."""
    return KINDS[content.kind].from_content(content)

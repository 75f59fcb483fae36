"""The models, and how to read one back from its folder."""

from pathlib import Path

from polars.exceptions import PolarsError

from teaser import artifact
from teaser.errors import ArtifactError
from teaser.model.teaser import Teaser

_KINDS = {"Teaser": Teaser}


def load(folder: str | Path) -> Teaser:
    """Read a model that its `save` wrote; every file is checked against its checksum."""
    content = artifact.read(folder)
    if content.kind not in _KINDS:
        raise ArtifactError(
            f"{folder} holds a {content.kind}, not a model. Fit a model to a data set first."
        )
    try:
        return _KINDS[content.kind].from_content(content)
    except (LookupError, TypeError, ValueError, AttributeError, PolarsError) as error:
        raise ArtifactError(f"{folder} does not hold a whole {content.kind}: {error!r}.") from error

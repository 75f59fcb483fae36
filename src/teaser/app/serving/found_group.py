"""The group of items behind a discovered tag, as it is shown."""

from dataclasses import dataclass

import numpy as np

from teaser.app.serving.catalogue import Catalogue
from teaser.data.matrix import ItemId
from teaser.data.tags import Tag, resolve_tag
from teaser.errors import ParameterError
from teaser.model.extensions.groups import Group


@dataclass(frozen=True)
class FoundGroup:
    """A group that the system found from what people chose.

    Attributes
    ----------
    group
        Its tag, exemplars, and the declared tag that is over-represented in it.
    members
        Its items with how much each belongs to it, the most first; of equal ones the more popular.
    aliases
        Its earlier names, presses on which count for it too.
    """

    group: Group
    members: tuple[tuple[ItemId, float], ...]
    aliases: tuple[str, ...]


def find_group(catalogue: Catalogue, tag: Tag | str) -> FoundGroup:
    """Return the group of a discovered tag, named as it is today or as it was.

    Raises
    ------
    UnknownTagError
        If the model does not have the tag.
    ParameterError
        If the tag is not a discovered one.
    """
    model = catalogue.model
    known = model.tags_[resolve_tag(tag, catalogue.tag_index)]
    if not known.discovered or model.groups_ is None:
        raise ParameterError(
            f"{known} is not a group that the system found. Name a tag of the feature discovered."
        )
    groups = model.groups_
    column = groups.members[:, [groups.tags.index(known)]].tocoo()
    places, weights = column.coords[0], column.data
    order = np.lexsort((places, -model.popularity_[places], -weights))
    return FoundGroup(
        groups.of(known),
        tuple((groups.items[int(places[n])], float(weights[n])) for n in order),
        tuple(old.value for old, new in groups.aliases.items() if new == known),
    )

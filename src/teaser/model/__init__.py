"""The models, and how to read one back from its folder."""

from teaser.model.base import Model
from teaser.model.baselines.ease import EASE
from teaser.model.baselines.edlae import EDLAE
from teaser.model.baselines.itemknn import ItemKNN
from teaser.model.baselines.neighbour_ease import NeighbourEASE
from teaser.model.baselines.popularity import Popularity
from teaser.model.baselines.product import Product
from teaser.model.baselines.wmf import WMF, WMFS
from teaser.model.registry import KINDS, load
from teaser.model.tagged import TaggedModel
from teaser.model.teaser import Teaser

__all__ = [
    "EASE",
    "EDLAE",
    "KINDS",
    "WMF",
    "WMFS",
    "ItemKNN",
    "Model",
    "NeighbourEASE",
    "Popularity",
    "Product",
    "TaggedModel",
    "Teaser",
    "load",
]

"""The models that Teaser is compared with."""

from teaser.model.baselines.ease import EASE, RDLAE
from teaser.model.baselines.edlae import EDLAE
from teaser.model.baselines.itemknn import ItemKNN
from teaser.model.baselines.neighbour_ease import NeighbourEASE
from teaser.model.baselines.popularity import Popularity
from teaser.model.baselines.product import Product
from teaser.model.baselines.wmf import WMF, WMFS

__all__ = [
    "EASE",
    "EDLAE",
    "RDLAE",
    "WMF",
    "WMFS",
    "ItemKNN",
    "NeighbourEASE",
    "Popularity",
    "Product",
]

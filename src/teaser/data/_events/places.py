"""Belgian towns: where they lie, how many live there, and what one meets by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EARTH_RADIUS_KM = 6371.0


@dataclass(frozen=True)
class Town:
    """A town as the listings know it.

    ``name`` is the English name and ``local`` the one on the signs; ``language`` is "nl", "fr"
    or "both". ``water`` is the river, canal or sea ("" where there is none), ``quay`` its name in
    the local language, and ``spots`` are phrases that place an event in this town.
    """

    name: str
    local: str
    region: str
    language: str
    latitude: float
    longitude: float
    population: float
    water: str
    quay: str
    spots: tuple[str, ...]

    @property
    def has_beach(self) -> bool:
        """Whether the town lies on the North Sea."""
        return self.water == "the sea"


# name | local, if another | language | latitude | longitude | thousands | water | quay | spots
_TABLE = """
# East Flanders
Ghent|Gent|nl|51.05|3.72|267|the Lys|Leie|under the belfry;by the Gravensteen;in the Patershol
Deinze||nl|50.98|3.53|44|the Lys|Leie|by the Lys locks;near the Our Lady church
Aalst||nl|50.94|4.04|90|the Dender|Dender|under the belfry of Aalst;by the onion market
Sint-Niklaas||nl|51.16|4.14|82|||by Belgium's largest square;in Waasland
Dendermonde||nl|51.03|4.10|47|the Dender|Dender|in Bayard's town;by the beguinage
Oudenaarde||nl|50.85|3.61|32|the Scheldt|Schelde|among the tapestries;below the Koppenberg
Ronse||nl|50.75|3.60|27|||in the Flemish Ardennes;above the crypt
Geraardsbergen||nl|50.77|3.88|34|the Dender|Dender|at the foot of the Muur
Eeklo||nl|51.19|3.56|21|||in the Meetjesland;under the belfry of Eeklo
Lokeren||nl|51.10|3.99|42|the Durme|Durme|by the Durme bend;in the Molsbroek quarter
Ninove||nl|50.83|4.02|40|the Dender|Dender|by the abbey church;at the Koepoort
Zottegem||nl|50.87|3.81|27|||in Egmont's town;among the hills of Zwalm
Wetteren||nl|51.00|3.88|26|the Scheldt|Schelde|among the rose nurseries;by the Scheldt bridge
Merelbeke||nl|51.00|3.75|25|the Scheldt|Schelde|near the Scheldt meadows;by the lock
# West Flanders
Bruges|Brugge|nl|51.21|3.22|119|the canals|Spiegelrei|below the belfry of Bruges;by the Minnewater
Kortrijk||nl|50.83|3.26|80|the Lys|Leie|by the Broel towers;on Buda island
Ostend|Oostende|nl|51.23|2.92|72|the sea|Visserskaai|under the arcades;in the fishermen's quarter
Roeselare||nl|50.95|3.12|66|the canal|Vaart|in Rodenbach's town;at the canal head
Ypres|Ieper|nl|50.85|2.88|35|||by the Cloth Hall;behind the ramparts
Knokke-Heist||nl|51.34|3.29|34|the sea|Zeedijk|behind the sea dyke;next to the Zwin
Waregem||nl|50.89|3.43|39|||near the racecourse;in the Gaverbeek valley
Veurne||nl|51.07|2.66|12|||off the Bakers' square;under the belfry of Veurne
Diksmuide||nl|51.03|2.86|17|the Yser|IJzer|by the Yser tower;behind the butter square
Poperinge||nl|50.85|2.73|20|||among the hops;in the Westhoek
Blankenberge||nl|51.31|3.13|21|the sea|Zeedijk|near the pier;by the lifeboat house
Tielt||nl|51.00|3.33|21|||under the halls of Tielt;in the Poekebeek valley
Nieuwpoort||nl|51.13|2.75|12|the sea|Visserskaai|by the marina;near the King Albert memorial
Menen||nl|50.80|3.12|34|the Lys|Leie|near the border;by the old fortifications
# Antwerp
Antwerp|Antwerpen|nl|51.22|4.40|545|the Scheldt|Schelde|below the cathedral;in Zurenborg
Mechelen||nl|51.03|4.48|88|the Dyle|Dijle|under Saint Rumbold's tower;along the Dyle path
Turnhout||nl|51.32|4.94|47|the canal|Vaart|by the moated castle;in the card makers' town
Lier||nl|51.13|4.57|38|the Nete|Nete|at the Zimmer tower;in the beguinage of Lier
Geel||nl|51.16|4.99|42|||in the Kempen;near Saint Dymphna's
Herentals||nl|51.18|4.83|29|the canal|Vaart|by the cloth hall;at the Toeristentoren
Mol||nl|51.19|5.12|38|the canal|Vaart|among the white sands;by the lakes of Mol
Boom||nl|51.09|4.37|19|the Rupel|Rupel|among the brickyards;in the Rupel valley
Hoogstraten||nl|51.40|4.76|22|||below the red tower;in strawberry country
Brasschaat||nl|51.29|4.49|39|||among the rhododendrons;near the old estates
# Flemish Brabant
Leuven||nl|50.88|4.70|104|the Dyle|Dijle|by the great beguinage;behind the town hall;in the Vaartkom
Vilvoorde||nl|50.93|4.43|47|the canal|Vaart|by the canal locks;near the Zenne
Halle||nl|50.73|4.24|41|the canal|Vaart|near the basilica;in the Pajottenland
Tienen||nl|50.81|4.94|36|the Gete|Gete|in the sugar town;by the three tumuli
Aarschot||nl|50.98|4.83|31|the Demer|Demer|by the brown-stone church;in the Hageland
Diest||nl|50.98|5.05|24|the Demer|Demer|below the citadel of Diest;in the beguinage of Diest
Tervuren||nl|50.82|4.51|23|||by the ponds;at the end of tram 44
Dilbeek||nl|50.85|4.26|44|||in Bruegel country;near the castle of Dilbeek
# Limburg
Hasselt||nl|50.93|5.34|81|the Demer|Demer|in the gin town;by the canal basin
Genk||nl|50.96|5.50|67|||between the headframes;in mining country
Tongeren||nl|50.78|5.46|31|the Jeker|Jeker|inside the Roman wall;near Ambiorix
Sint-Truiden||nl|50.82|5.19|41|||among the blossom;by the three towers
Bilzen||nl|50.87|5.52|33|the Demer|Demer|near Alden Biesen;in Haspengouw
Maaseik||nl|51.10|5.79|25|the Meuse|Maas|in Van Eyck's town;by the Meuse dyke
Lommel||nl|51.23|5.31|35|the canal|Vaart|beside the Sahara;in the glass town
Beringen||nl|51.05|5.23|48|the canal|Vaart|by the slag heap;in the garden city
# Brussels
Brussels|Bruxelles|both|50.85|4.35|196|the canal|du Canal|in the Marolles;at Sainte-Catherine
Ixelles||both|50.83|4.37|88|the ponds|des Étangs|by the ponds of Ixelles;in Matongé
Schaerbeek||both|50.87|4.38|131|||in the cherry quarter;near the Josaphat trees
Anderlecht||both|50.84|4.31|125|the canal|du Canal|near Erasmus's house;at the old slaughterhouses
Uccle||both|50.80|4.34|86|||by the observatory;on the heights of Uccle
Saint-Gilles||both|50.83|4.34|49|||around the Parvis;among the Art Nouveau fronts
Molenbeek||both|50.86|4.33|98|the canal|du Canal|along the canal sheds;at Tour & Taxis
Etterbeek||both|50.83|4.39|49|||at La Chasse;beside the Cinquantenaire
# Walloon Brabant
Wavre||fr|50.72|4.61|36|the Dyle|de la Dyle|in the Dyle valley;near the Maca
Louvain-la-Neuve||fr|50.67|4.61|31|||above the lake;between the lecture halls
Nivelles||fr|50.60|4.33|29|||by Saint Gertrude's;in the Dodaine quarter
Waterloo||fr|50.72|4.40|30|||below the Lion;near Wellington's headquarters
Braine-l'Alleud||fr|50.68|4.37|41|||behind the battlefield;along the Hain
Jodoigne||fr|50.72|4.87|14|||in white-stone country;on the edge of Hesbaye
# Hainaut
Mons||fr|50.45|3.95|96|||below the belfry of Mons;near the Doudou;by the town hall monkey
Tournai||fr|50.61|3.39|69|the Scheldt|de l'Escaut|under the five towers;at the Pont des Trous
Charleroi||fr|50.41|4.44|203|the Sambre|de la Sambre|below the slag heaps;in the Ville Basse
La Louvière||fr|50.48|4.19|81|the canal|du Canal|by the boat lifts;in the she-wolf's town
Mouscron||fr|50.74|3.22|60|||near the town hall;near the Hurlus castle
Ath||fr|50.63|3.78|30|the Dender|de la Dendre|in the town of giants;by the Burbant tower
Binche||fr|50.41|4.16|33|||behind the ramparts of Binche;in the town of the Gilles
Soignies||fr|50.58|4.07|28|the Senne|de la Senne|in bluestone country;by the collegiate church
Thuin||fr|50.34|4.29|15|the Sambre|de la Sambre|in the hanging gardens;among the bargemen
Chimay||fr|50.05|4.32|10|||near the princes' castle;in the Botte du Hainaut
Enghien||fr|50.69|4.04|14|||behind the slave gate;in the weavers' quarter
# Namur
Namur||fr|50.47|4.87|114|the Meuse|de la Meuse|below the citadel;at the Grognon;in Le Corbeil
Dinant||fr|50.26|4.91|13|the Meuse|de la Meuse|below the citadel of Dinant;in Adolphe Sax's town
Gembloux||fr|50.56|4.70|27|||by the abbey farm;in the cutlers' town
Ciney||fr|50.29|5.10|17|||in the Condroz;near the water tower of Ciney
Andenne||fr|50.49|5.09|28|the Meuse|de la Meuse|in the potters' town;at the Bear fountain
Rochefort||fr|50.16|5.22|13|the Lomme|de la Lomme|above the caves;by the counts' castle
# Liège
Liège||fr|50.63|5.57|196|the Meuse|de la Meuse|in Outremeuse;at the Montagne de Bueren;in the Carré
Verviers||fr|50.59|5.86|55|the Vesdre|de la Vesdre|in the wool town;by the fountains of Verviers
Huy||fr|50.52|5.24|22|the Meuse|de la Meuse|below the fort;at the Bassinia
Seraing||fr|50.58|5.50|64|the Meuse|de la Meuse|among the blast furnaces;by the crystal works
Spa||fr|50.49|5.87|10|||by the springs;among the spa arcades
Stavelot||fr|50.39|5.93|7|the Amblève|de l'Amblève|near the abbey of Stavelot
Malmedy||fr|50.43|6.03|13|the Warche|de la Warche|at the foot of the Fagnes
Waremme||fr|50.70|5.26|16|the Geer|du Geer|in the Hesbaye fields;by the Geer springs
Herstal||fr|50.66|5.63|40|the Meuse|de la Meuse|in Charlemagne's town;by the Albert canal
# Luxembourg
Arlon||fr|49.68|5.82|31|||below the Knipchen;among the Roman stones
Bastogne||fr|50.00|5.72|17|||near the Mardasson;in the nut fair town
Marche-en-Famenne||fr|50.23|5.34|18|||in the lace makers' quarter;in the Famenne
Durbuy||fr|50.35|5.46|12|the Ourthe|de l'Ourthe|in the smallest town;below the anticline
Virton||fr|49.57|5.53|11|||in the Gaume;near the Avioth road
La Roche-en-Ardenne||fr|50.18|5.58|4|the Ourthe|de l'Ourthe|in the Ourthe loop
Bouillon||fr|49.79|5.07|5|the Semois|de la Semois|below Godfrey's castle;in the Semois loop
"""


def _read_towns() -> tuple[Town, ...]:
    towns: list[Town] = []
    region = ""
    for line in _TABLE.strip().splitlines():
        if line.startswith("# "):
            region = line[2:]
            continue
        name, local, language, latitude, longitude, population, water, quay, spots = line.split("|")
        towns.append(
            Town(
                name=name,
                local=local or name,
                region=region,
                language=language,
                latitude=float(latitude),
                longitude=float(longitude),
                population=float(population),
                water=water,
                quay=quay,
                spots=tuple(spots.split(";")),
            )
        )
    return tuple(towns)


TOWNS: tuple[Town, ...] = _read_towns()


def distances_km() -> NDArray[np.float64]:
    """Great-circle distances between all towns, of shape (n_towns, n_towns)."""
    latitude = np.radians([town.latitude for town in TOWNS])
    longitude = np.radians([town.longitude for town in TOWNS])
    across = np.sin((latitude[:, None] - latitude) / 2) ** 2
    along = np.sin((longitude[:, None] - longitude) / 2) ** 2
    haversine = across + np.cos(latitude[:, None]) * np.cos(latitude) * along
    distances: NDArray[np.float64] = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(haversine))
    return distances


def neighbours(town_index: int, count: int = 4) -> tuple[Town, ...]:
    """The ``count`` towns nearest to a town, nearest first."""
    order = np.argsort(distances_km()[town_index], kind="stable")
    return tuple(TOWNS[int(index)] for index in order if index != town_index)[:count]

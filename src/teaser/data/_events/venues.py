"""Places where events happen: their kinds, their names and what each kind implies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from teaser.data._events.places import Town


@dataclass(frozen=True)
class VenueKind:
    """A kind of place.

    ``size`` shifts how many people an event there draws; ``spots`` are phrases for titles, which
    may use ``{water}``; none means that the town's own phrases serve.
    """

    setting: str
    dutch: tuple[str, ...]
    french: tuple[str, ...]
    size: float = 0.0
    spots: tuple[str, ...] = ()


INDOORS = "Indoors"
OUTDOORS = "Outdoors"
NATURE = "In nature"
MIXED = "Indoors and outdoors"
CANVAS = "Under canvas"

# "{}" is the town's local name; in French "{de}" is "de Namur" or "d'Ath".
KINDS: dict[str, VenueKind] = {
    "hall": VenueKind(
        INDOORS,
        ("Cultuurcentrum {}", "Gemeenschapscentrum {}"),
        ("Centre culturel {de}", "Maison de la culture {de}"),
        0.3,
    ),
    "concert hall": VenueKind(
        INDOORS,
        ("Muziekcentrum {}", "Concertzaal {}"),
        ("Salle de concert {de}", "Conservatoire {de}"),
        0.3,
    ),
    "theatre": VenueKind(
        INDOORS,
        ("Stadsschouwburg {}", "Theaterzaal De Spiegel, {}"),
        ("Théâtre royal {de}", "Petit Théâtre {de}"),
        0.2,
    ),
    "club": VenueKind(
        INDOORS,
        ("Jeugdhuis De Kelder, {}", "Muziekclub {}"),
        ("Le Garage, {}", "Club L'Entrepôt, {}"),
        -0.1,
    ),
    "cafe": VenueKind(
        INDOORS,
        ("Café De Kroon, {}", "Volkscafé De Zwaan, {}"),
        ("Café de la Gare, {}", "Taverne du Perron, {}"),
        -0.3,
    ),
    "church": VenueKind(
        INDOORS,
        ("Sint-Martinuskerk, {}", "Begijnhofkerk, {}", "Sint-Jozefskapel, {}"),
        ("Église Saint-Martin, {}", "Chapelle Saint-Roch, {}", "Église Notre-Dame, {}"),
        -0.1,
        ("under the vaults", "by candlelight"),
    ),
    "museum": VenueKind(
        INDOORS,
        ("Stedelijk Museum {}",),
        ("Musée communal {de}", "Musée d'art et d'histoire {de}"),
        0.2,
    ),
    "gallery": VenueKind(
        INDOORS,
        ("Galerie Het Pand, {}", "Kunsthal {}"),
        ("Galerie des Halles, {}", "Espace 21, {}"),
        -0.2,
    ),
    "cinema": VenueKind(
        INDOORS,
        ("Filmhuis {}", "Cinema Rio, {}"),
        ("Ciné-club {de}", "Cinéma Le Palace, {}"),
        0.0,
    ),
    "library": VenueKind(
        INDOORS, ("Bibliotheek {}",), ("Bibliothèque {de}", "Médiathèque {de}"), -0.3
    ),
    "atelier": VenueKind(
        INDOORS,
        ("Open atelier De Werkbank, {}", "Kunstacademie {}"),
        ("Atelier du Faubourg, {}", "Académie des beaux-arts {de}"),
        -0.5,
    ),
    "lab": VenueKind(
        INDOORS, ("Maakplek {}", "FabLab {}"), ("FabLab {de}", "Espace numérique {de}"), -0.4
    ),
    "kitchen": VenueKind(
        INDOORS,
        ("Kookstudio De Pollepel, {}", "Buurtkeuken {}"),
        ("École hôtelière {de}", "Cuisine de quartier, {}"),
        -0.4,
    ),
    "community": VenueKind(
        INDOORS,
        ("Buurthuis {}", "Dienstencentrum De Linde, {}"),
        ("Maison de quartier {de}", "Salle des fêtes {de}"),
        -0.3,
    ),
    "sports hall": VenueKind(INDOORS, ("Sporthal {}",), ("Hall omnisports {de}",)),
    "pool": VenueKind(INDOORS, ("Zwembad {}",), ("Piscine communale {de}",)),
    "brewery": VenueKind(
        INDOORS,
        ("Stadsbrouwerij {}", "Brouwerij De Drie Ringen, {}"),
        ("Brasserie {de}", "Brasserie du Moulin, {}"),
        0.1,
    ),
    "works": VenueKind(
        INDOORS, ("Oude Weverij, {}", "Stoommachinezaal, {}"), ("Ancienne filature, {}",), 0.0
    ),
    "market hall": VenueKind(INDOORS, ("Markthal {}", "Expohal {}"), ("Halle aux grains, {}",)),
    "tent": VenueKind(
        CANVAS,
        ("Tent op de Grote Weide, {}", "Circustent op het Stadsplein, {}"),
        ("Chapiteau de la Prairie, {}", "Chapiteau du Parc, {}"),
        0.1,
        ("in the big top", "under canvas"),
    ),
    "castle": VenueKind(
        MIXED,
        ("Kasteeldomein {}",),
        ("Château {de}",),
        0.2,
        ("at the castle", "between castle walls"),
    ),
    "farm": VenueKind(
        MIXED,
        ("Hoeve Ter Linden, {}", "Kinderboerderij {}"),
        ("Ferme du Try, {}", "Ferme pédagogique {de}"),
        -0.1,
        ("at the farm",),
    ),
    "park": VenueKind(
        OUTDOORS,
        ("Stadspark {}", "Park Ter Beuken, {}"),
        ("Parc communal {de}", "Parc des Tilleuls, {}"),
        0.2,
        ("in the park", "under the limes"),
    ),
    "garden": VenueKind(
        OUTDOORS,
        ("Kruidtuin, {}", "Samentuin {}"),
        ("Jardin des simples, {}", "Potager partagé {de}"),
        -0.3,
        ("in the walled garden",),
    ),
    "square": VenueKind(
        OUTDOORS,
        ("Grote Markt, {}", "Kerkplein, {}"),
        ("Grand-Place, {}", "Place du Marché, {}"),
        0.3,
        ("on the square", "on the market square"),
    ),
    "streets": VenueKind(
        OUTDOORS,
        ("Vertrek stadhuis, {}", "Vertrek toeristische dienst, {}"),
        ("Départ hôtel de ville, {}", "Départ office du tourisme, {}"),
        0.0,
    ),
    "quay": VenueKind(
        OUTDOORS, ("{quay}kaai, {}",), ("Quai {quay}, {}",), 0.1, ("by {water}", "on the quay")
    ),
    "beach": VenueKind(
        OUTDOORS, ("Strand, {}",), ("Plage, {}",), 0.3, ("on the beach", "at low tide")
    ),
    "lake": VenueKind(
        NATURE,
        ("Recreatiedomein De Plas, {}",),
        ("Étang communal {de}", "Plan d'eau {de}"),
        0.1,
        ("at the lake",),
    ),
    "wood": VenueKind(
        NATURE,
        ("Stadsbos, {}", "Kloosterbos, {}"),
        ("Bois communal {de}", "Bois du Prince, {}"),
        0.0,
        ("in the woods", "between the beeches"),
    ),
    "marsh": VenueKind(
        NATURE,
        ("Natuurreservaat De Meersen, {}",),
        ("Réserve naturelle {de}",),
        0.0,
        ("in the reeds", "along the marsh"),
    ),
}

OPEN_AIR = frozenset({OUTDOORS, NATURE})

# Houses that everybody there knows; the other kinds of a town have generic names.
_HOUSES: dict[tuple[str, str], tuple[str, ...]] = {
    ("Ghent", "concert hall"): ("De Bijloke", "Handelsbeurs"),
    ("Ghent", "hall"): ("Kunstencentrum Vooruit",),
    ("Ghent", "theatre"): ("NTGent Schouwburg", "Minardschouwburg"),
    ("Ghent", "museum"): ("S.M.A.K.", "Sint-Pietersabdij", "STAM"),
    ("Ghent", "works"): ("Industriemuseum",),
    ("Ghent", "cinema"): ("Sphinx Cinema", "Studio Skoop"),
    ("Ghent", "library"): ("De Krook",),
    ("Ghent", "park"): ("Citadelpark", "Baudelopark"),
    ("Ghent", "square"): ("Vrijdagmarkt", "Sint-Baafsplein"),
    ("Ghent", "quay"): ("Graslei", "Korenlei"),
    ("Ghent", "marsh"): ("Bourgoyen-Ossemeersen",),
    ("Ghent", "lake"): ("Blaarmeersen",),
    ("Ghent", "castle"): ("Gravensteen",),
    ("Deinze", "hall"): ("Leietheater",),
    ("Deinze", "museum"): ("mudel, Museum van Deinze en de Leiestreek",),
    ("Aalst", "hall"): ("Cultuurcentrum De Werf",),
    ("Antwerp", "concert hall"): ("deSingel", "Koningin Elisabethzaal"),
    ("Antwerp", "hall"): ("De Roma", "deSingel"),
    ("Antwerp", "theatre"): ("Bourlaschouwburg", "Arenberg"),
    ("Antwerp", "club"): ("Trix", "Het Bos"),
    ("Antwerp", "museum"): ("MAS", "Museum Vleeshuis"),
    ("Antwerp", "library"): ("Bibliotheek Permeke",),
    ("Antwerp", "park"): ("Rivierenhof", "Park Spoor Noord"),
    ("Antwerp", "quay"): ("Scheldekaaien", "Bonapartedok"),
    ("Antwerp", "church"): ("Sint-Carolus Borromeuskerk", "Sint-Pauluskerk"),
    ("Bruges", "concert hall"): ("Concertgebouw Brugge",),
    ("Bruges", "cinema"): ("Cinema Lumière",),
    ("Bruges", "park"): ("Minnewaterpark", "Koningin Astridpark"),
    ("Bruges", "square"): ("Markt", "Burg"),
    ("Bruges", "quay"): ("Spiegelrei", "Langerei"),
    ("Bruges", "brewery"): ("Brouwerij De Halve Maan",),
    ("Mechelen", "church"): ("Sint-Romboutskathedraal",),
    ("Mechelen", "brewery"): ("Brouwerij Het Anker",),
    ("Mechelen", "garden"): ("Kruidtuin",),
    ("Leuven", "theatre"): ("30CC/Schouwburg",),
    ("Leuven", "hall"): ("STUK", "30CC/Minnepoort"),
    ("Leuven", "club"): ("Het Depot",),
    ("Leuven", "museum"): ("M Leuven",),
    ("Leuven", "garden"): ("Kruidtuin Leuven",),
    ("Hasselt", "club"): ("Muziekodroom",),
    ("Hasselt", "museum"): ("Z33",),
    ("Genk", "hall"): ("C-mine",),
    ("Kortrijk", "theatre"): ("Schouwburg Kortrijk",),
    ("Kortrijk", "club"): ("Muziekcentrum Track",),
    ("Ostend", "hall"): ("De Grote Post", "Kursaal Oostende"),
    ("Ostend", "museum"): ("Mu.ZEE",),
    ("Ostend", "quay"): ("Visserskaai",),
    ("Turnhout", "hall"): ("De Warande",),
    ("Roeselare", "hall"): ("De Spil",),
    ("Tongeren", "hall"): ("De Velinx",),
    ("Sint-Niklaas", "club"): ("De Casino",),
    ("Tervuren", "park"): ("Park van Tervuren",),
    ("Tervuren", "wood"): ("Zoniënwoud",),
    ("Brussels", "concert hall"): ("Bozar",),
    ("Brussels", "club"): ("Ancienne Belgique",),
    ("Brussels", "theatre"): ("KVS", "Théâtre National"),
    ("Brussels", "cinema"): ("Cinematek", "Cinéma Galeries"),
    ("Brussels", "library"): ("Muntpunt",),
    ("Brussels", "park"): ("Parc de Bruxelles",),
    ("Brussels", "square"): ("Grand-Place", "Place du Jeu de Balle"),
    ("Ixelles", "concert hall"): ("Flagey",),
    ("Schaerbeek", "hall"): ("Halles de Schaerbeek",),
    ("Schaerbeek", "park"): ("Parc Josaphat",),
    ("Uccle", "wood"): ("Forêt de Soignes",),
    ("Etterbeek", "park"): ("Parc du Cinquantenaire",),
    ("Anderlecht", "brewery"): ("Brasserie Cantillon",),
    ("Liège", "theatre"): ("Théâtre de Liège",),
    ("Liège", "concert hall"): ("Salle Philharmonique",),
    ("Liège", "club"): ("Reflektor",),
    ("Liège", "museum"): ("La Boverie",),
    ("Liège", "park"): ("Parc de la Boverie",),
    ("Liège", "quay"): ("Quai de la Batte",),
    ("Namur", "hall"): ("Le Delta",),
    ("Namur", "castle"): ("Citadelle de Namur",),
    ("Mons", "theatre"): ("Théâtre le Manège",),
    ("Mons", "concert hall"): ("Arsonic",),
    ("Charleroi", "hall"): ("Palais des Beaux-Arts", "Eden"),
    ("Charleroi", "club"): ("Rockerill",),
    ("Louvain-la-Neuve", "hall"): ("Aula Magna", "Ferme du Biéreau"),
    ("Louvain-la-Neuve", "wood"): ("Bois de Lauzelle",),
    ("Bouillon", "castle"): ("Château fort de Bouillon",),
}


_GREEN_BRUSSELS = ("Anderlecht", "Uccle")


def exists_in(kind: str, town: Town) -> bool:
    """Whether a town has room for this kind: no quay without water, no wood in a dense city."""
    if kind == "quay":
        return bool(town.water)
    if kind in ("wood", "marsh", "lake", "farm", "castle"):
        return town.language != "both" or town.name in _GREEN_BRUSSELS
    return town.has_beach if kind == "beach" else True


def is_landmark(kind: str, town: Town) -> bool:
    """Whether the venue is a known house, whose own address no loose phrase should contradict."""
    return (town.name, kind) in _HOUSES


def _of(local: str) -> str:
    return f"d'{local}" if local[0] in "AEIOUÉ" else f"de {local}"


def name_venue(kind: str, town: Town, rng: np.random.Generator) -> str:
    """A name for a venue of this kind in a town, in the language spoken there."""
    house = _HOUSES.get((town.name, kind))
    if house:
        return house[int(rng.integers(len(house)))]
    names = KINDS[kind].dutch if town.language == "nl" else KINDS[kind].french
    pattern = names[int(rng.integers(len(names)))]
    if town.quay.endswith(("kaai", "dijk", "rei")):
        pattern = pattern.replace("{quay}kaai", "{quay}")
    return pattern.format(town.local, de=_of(town.local), quay=town.quay)

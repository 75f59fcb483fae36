"""Offers to meet at: markets, family days, food and drink."""

from __future__ import annotations

from teaser.data._events.programme import ALL_YEAR, SPRING, Act, Offer

_AFTERNOON = ("11:00", "12:00", "14:00")

MARKETS = (
    Offer(
        "Market",
        "Second-hand",
        ("square", "quay", "market hall"),
        (1, 4),
        (
            Act(
                "Attics of {town}|Flea market {spot}",
                "Three hundred stands of lamps, records and things without a name.",
            ),
            Act(
                "Old paper {spot}|Books by the kilo, {town}",
                "Maps, comics, sheet music and paperbacks, sold by weight after three.",
            ),
            Act(
                "Toys change hands in {town}|Children's flea market {town}",
                "Children sell their own toys from a blanket, and learn to bargain.",
                audiences=("Families", "Children"),
            ),
            Act(
                "Vinyl and tape {town}|Record fair {spot}",
                "Crates of jazz, new wave and chanson, and a turntable to try them.",
                ("market hall",),
                ("Everyone", "Adults"),
            ),
        ),
        weight=1.2,
        free=0.75,
        audiences=("Everyone",),
        months=(3, 4, 5, 6, 7, 8, 9, 10),
    ),
    Offer(
        "Market",
        "Christmas",
        ("square",),
        (1, 3),
        (
            Act(
                "Winter lights {spot}|Christmas market {town}",
                "Fifty wooden stalls, a choir on the steps and a tree from the Ardennes.",
                hours=_AFTERNOON,
            ),
            Act(
                "A makers' Christmas in {town}|Handmade Christmas {spot}",
                "Only things made by those who sell them, from candles to cutting boards.",
                ("market hall",),
                hours=_AFTERNOON,
            ),
            Act(
                "Jenever and gingerbread {spot}|Warm hands, {town}",
                "Gingerbread, jenever and a stable with a very patient donkey.",
                hours=_AFTERNOON,
            ),
        ),
        weight=0.8,
        free=0.85,
        audiences=("Everyone", "Families"),
        months=(12,),
        details=(
            "The lights stay on until ten.",
            "The youth band of {neighbour} plays carols between the stalls.",
            "Mulled wine for the tall, hot chocolate for the small.",
            "Sellers come from {town}, {neighbour} and further.",
            "Bring your own mug and save the deposit.",
        ),
    ),
    Offer(
        "Market",
        "Farm produce",
        ("square", "farm", "market hall"),
        (1, 4),
        (
            Act(
                "Harvest {spot}|The harvest market of {town}",
                "Pumpkins, pears and potatoes with earth on them, and jam to taste.",
                months=(9, 10),
            ),
            Act(
                "First asparagus of {town}|Strawberries and asparagus {spot}",
                "Growers from around {town} bring what was picked at dawn.",
                months=(5, 6),
            ),
            Act(
                "Cheese, bread and honey {spot}|Farmers of {town} at market",
                "Raw-milk cheese, heather honey and a baker with a wood oven on wheels.",
            ),
        ),
        weight=0.9,
        free=0.9,
        audiences=("Everyone",),
        months=ALL_YEAR,
    ),
)

FAMILY_DAYS = (
    Offer(
        "Family day",
        "Science",
        ("hall", "library", "lab"),
        (3, 12),
        (
            Act(
                "Bubbles, bolts and big bangs {town}|Small scientists of {town}",
                "Slime, circuits and a volcano that goes off on the hour.",
            ),
            Act(
                "The great paper-plane day, {town}|Who flies farthest? {town}",
                "Fold, throw and measure; the record is forty-one metres.",
            ),
            Act(
                "Touch the moon, {town}|Planets on the playground, {town}",
                "A mobile planetarium, meteorites to hold and rockets of cardboard.",
            ),
        ),
        weight=0.6,
        free=0.2,
        audiences=("Families", "Families", "Children"),
    ),
    Offer(
        "Family day",
        "Nature",
        ("farm", "park", "wood"),
        (2, 10),
        (
            Act(
                "Lambs in {town}|Spring at the farm, {town}",
                "Bottle-feed a lamb, churn butter and ride the hay cart.",
                ("farm",),
                months=SPRING,
            ),
            Act(
                "Build a hut {spot}|Hut day {town}",
                "Branches, rope and mud: build it in the morning, have lunch in it.",
                ("wood",),
            ),
            Act(
                "Little gardeners {town}|Seeds, snails and sunshine, {town}",
                "Sow sunflowers, race snails and build a hotel for bees.",
                ("park", "garden"),
                ("Families", "Toddlers"),
                months=(4, 5, 6),
            ),
            Act(
                "Pumpkin day {town}|Pumpkins {spot}",
                "Hollow out a pumpkin, cook soup from the inside and follow the lights home.",
                ("farm",),
                months=(10,),
            ),
        ),
        weight=0.8,
        free=0.25,
        audiences=("Families",),
        months=(4, 5, 6, 7, 8, 9),
    ),
    Offer(
        "Family day",
        "Circus",
        ("tent", "park", "sports hall"),
        (4, 14),
        (
            Act(
                "Circus for a day {town}|Learn to fall: circus day {town}",
                "Try trapeze, plates and unicycle, and perform at four.",
            ),
            Act(
                "Clowns, stilts and soup {spot}|Stilt day {town}",
                "Walk on stilts, throw pies and have soup with the clowns.",
            ),
        ),
        weight=0.5,
        free=0.12,
        audiences=("Families", "Children"),
    ),
)

FOOD = (
    Offer(
        "Food and drink",
        "Beer",
        ("brewery", "market hall", "square"),
        (6, 28),
        (
            Act(
                "Sixty beers {spot}|Beer weekend {town}",
                "Twenty small breweries bring three beers each, and glasses the right shape.",
            ),
            Act(
                "Sour and slow: gueuze in {town}|Gueuze and cheese {spot}",
                "Lambic blenders pour old and young, with farm cheese beside it.",
            ),
            Act(
                "Beer and the plate, with {person}|Five beers, five plates: {town}",
                "{person} cooks five small dishes around five Trappist and abbey beers.",
                ("brewery",),
            ),
        ),
        weight=0.9,
        free=0.1,
        audiences=("Adults",),
    ),
    Offer(
        "Food and drink",
        "Chocolate",
        ("kitchen", "market hall"),
        (8, 45),
        (
            Act(
                "From bean to bar in {town}|Bean to bar, with {person}",
                "Roast, crack and grind: {person} makes a bar before your eyes.",
            ),
            Act(
                "Pralines by hand, {town}|A box of your own: pralines in {town}",
                "Fill, dip and decorate twelve pralines, and try not to eat them all.",
                ("kitchen",),
                ("Everyone", "Families"),
            ),
            Act(
                "Chocolate {spot}|Chocolate days {town}",
                "Fifteen chocolatiers, a fountain and a nose for single origins.",
                ("market hall",),
            ),
        ),
        weight=0.6,
        free=0.03,
        audiences=("Everyone", "Adults"),
        details=(
            "{person} explains what you taste, and why.",
            "Coffee is poured between two tastings.",
            "The cocoa comes from one cooperative in Ghana.",
            "Nobody has ever left hungry.",
            "A chocolatier from {neighbour} shows how to temper on marble.",
        ),
    ),
    Offer(
        "Food and drink",
        "Street food",
        ("square", "park", "quay"),
        (2, 14),
        (
            Act(
                "Forty kitchens on wheels, {town}|Food trucks {spot}",
                "Bao, pitta, fries and waffles from forty vans in a ring.",
            ),
            Act(
                "The long table of {town}|One table, a thousand plates {spot}",
                "Neighbours cook, {town} eats: one table from end to end.",
                audiences=("Everyone", "Families"),
            ),
            Act(
                "Night market {town}|Lanterns and dumplings {spot}",
                "Noodles, skewers and a band on a roof, until late.",
                audiences=("Everyone", "Adults"),
                hours=("18:00", "19:00"),
            ),
            Act(
                "Fritkot olympics {town}|Fries, fries, fries {spot}",
                "Six fritkots, one jury, and a blind test of nineteen sauces.",
            ),
        ),
        weight=0.9,
        free=0.5,
        audiences=("Everyone",),
    ),
)

OFFERS: tuple[Offer, ...] = (*MARKETS, *FAMILY_DAYS, *FOOD)

"""Offers to go out for on foot or on wheels: guided tours, walks and sport."""

from __future__ import annotations

from teaser.data._events.programme import ALL_YEAR, SUMMER, WARM, Act, Offer

TOURS = (
    Offer(
        "Guided tour",
        "Architecture",
        ("streets",),
        (6, 17),
        (
            Act(
                "Art Nouveau doors of {town}|Look up, {town}!",
                "Sgraffito, wrought iron and a staircase that {person} has the key to.",
            ),
            Act(
                "Brutal and beautiful: concrete in {town}|Concrete {spot}",
                "Car parks, churches and flats of the sixties, defended with love.",
            ),
            Act(
                "New houses of {town}|How {town} wants to live",
                "Four architects open four front doors, their own included.",
            ),
        ),
        weight=0.8,
        free=0.1,
        audiences=("Adults", "Everyone", "Seniors"),
        months=ALL_YEAR,
    ),
    Offer(
        "Guided tour",
        "History",
        ("streets", "castle", "church"),
        (5, 15),
        (
            Act(
                "Behind closed doors in {town}|The hidden courts of {town}",
                "Passages, almshouses and a cellar: the town behind its fronts.",
                ("streets",),
            ),
            Act(
                "Up the tower {spot}|All the steps of {town}'s church tower",
                "Past the bells and the clock to the gallery, and down again with stories.",
                ("church",),
            ),
            Act(
                "Lantern tour {spot}|By lantern through {town}",
                "A night watchman tells of thieves, plague and beer.",
                ("streets",),
                ("Families", "Everyone"),
                months=(1, 2, 10, 11, 12),
                hours=("18:00", "19:00"),
            ),
            Act(
                "The countess's kitchen, {town}|Below stairs at the castle of {town}",
                "Kitchens, laundry and back stairs: the castle as its servants knew it.",
                ("castle",),
            ),
        ),
        weight=1.0,
        free=0.08,
        audiences=("Everyone", "Adults", "Seniors"),
        months=ALL_YEAR,
    ),
    Offer(
        "Guided tour",
        "Industrial heritage",
        ("works",),
        (5, 14),
        (
            Act(
                "Steam up in {town}|Steam {spot}",
                "The old engine turns again for one day; mind your sleeves.",
                audiences=("Families", "Everyone"),
            ),
            Act(
                "The mill that never slept, {town}|Looms and ledgers of {town}",
                "Former weavers show the machines they once started at five in the morning.",
            ),
            Act(
                "Chimneys of {town}|From shift to shift: {town}",
                "A walk between boiler house and canteen, with {person}, third generation.",
            ),
        ),
        weight=0.7,
        free=0.15,
        audiences=("Everyone", "Adults", "Seniors"),
        details=(
            "Groups stay under fifteen, so there is time for questions.",
            "Stairs are steep and floors uneven: wear sturdy shoes.",
            "{guest} kept the keys when the gates closed.",
            "Some of these doors open only once a year.",
            "Half of the workforce used to come from {neighbour}.",
        ),
    ),
    Offer(
        "Guided tour",
        "Beer",
        ("brewery",),
        (10, 24),
        (
            Act(
                "From hop to glass in {town}|Hops and copper {spot}",
                "See the copper, smell the hops and taste three beers that never leave town.",
            ),
            Act(
                "The brewer's rounds, with {person}|An hour in the brewhouse, {town}",
                "{person} stirs, measures and explains why the yeast gets a name.",
            ),
        ),
        weight=0.6,
        free=0.0,
        audiences=("Adults",),
        details=(
            "Groups stay under fifteen, so there is time for questions.",
            "Floors are wet and stairs are steep: mind your step.",
            "{guest} pours, and knows the joke that goes with each.",
            "The malt comes from fields near {neighbour}.",
        ),
    ),
)

WALKS = (
    Offer(
        "Walk",
        "Nature",
        ("wood", "marsh"),
        (2, 9),
        (
            Act(
                "Birds before breakfast, {town}|Dawn chorus {spot}",
                "Learn six songs by ear before most people are up.",
                ("wood", "marsh", "park"),
                months=(4, 5, 6),
                hours=("5:30", "6:00"),
            ),
            Act(
                "Mushrooms, look but don't eat: {town}|Under the caps: mushrooms of {town}",
                "{person} names the ceps, the stinkers and the ones that glow.",
                ("wood",),
                months=(9, 10, 11),
            ),
            Act(
                "Bats over {town}|Bat night {spot}",
                "With detectors and torches, in search of what flies at dusk.",
                ("wood", "marsh", "park"),
                audiences=("Families", "Everyone"),
                months=(7, 8, 9),
                hours=("20:30", "21:00"),
            ),
            Act(
                "Winter geese {spot}|Ten thousand geese near {town}",
                "Telescopes, thermos flasks and geese from Siberia.",
                ("marsh",),
                months=(1, 2, 12),
            ),
            Act(
                "Buggy walk {town}|Pram and puddle, {town}",
                "Three slow kilometres on firm paths, with ducks half-way.",
                ("park",),
                ("Toddlers",),
                months=(4, 5, 6, 7, 8, 9),
                hours=("10:00", "10:30"),
            ),
            Act(
                "Shells and shrimps {spot}|The tide line of {town}",
                "Push a shrimp net, empty it in a tray and give everything back.",
                ("beach",),
                ("Families", "Everyone"),
                months=WARM,
            ),
        ),
        weight=1.7,
        free=0.5,
        audiences=("Everyone", "Adults", "Seniors"),
        months=ALL_YEAR,
    ),
    Offer(
        "Walk",
        "History",
        ("streets", "wood"),
        (2, 8),
        (
            Act(
                "On foot to {neighbour}|The old road from {town} to {neighbour}",
                "Chapels, milestones and an inn that is now a hairdresser's.",
            ),
            Act(
                "War graves and orchards near {town}|Poppies and bunkers, {town}",
                "Bunkers, graves and new orchards: {person} walks where armies passed in 1914.",
            ),
            Act(
                "Smugglers' paths of {town}|Butter, salt and customs men: {town}",
                "Along hedges and back gardens, the way tobacco and butter once went.",
                months=(3, 4, 5, 6, 7, 8, 9, 10),
            ),
            Act(
                "Seven chapels of {town}|Chapels and lime trees, {town}",
                "A loop past seven wayside chapels, one story each.",
                audiences=("Seniors", "Everyone"),
            ),
        ),
        weight=1.0,
        free=0.45,
        audiences=("Everyone", "Adults", "Seniors"),
        months=ALL_YEAR,
    ),
)

SPORTS = (
    Offer(
        "Sport",
        "Running",
        ("streets", "park", "wood"),
        (5, 25),
        (
            Act(
                "Night run along {water}|Night run {town}",
                "Five or ten kilometres with a headlamp, past lit fronts and dark water.",
                ("quay",),
                ("Adults", "Everyone"),
                months=(3, 4, 9, 10, 11),
                hours=("20:00", "20:30"),
            ),
            Act(
                "The {town} ten miles|Ten miles of {town}",
                "Sixteen kilometres of cobbles, bridges and brass bands.",
                ("streets",),
            ),
            Act(
                "Mud and roots: the {town} trail|Trail run {spot}",
                "Twelve kilometres of mud, roots and one cold stream.",
                ("wood",),
                ("Adults", "Teenagers"),
            ),
            Act(
                "New Year's jog {town}|First run of the year, {town}",
                "A slow loop to run off the holidays, with chocolate milk to follow.",
                ("park",),
                months=(1,),
            ),
            Act(
                "Kids' mile {town}|The little mile {spot}",
                "One mile, one medal, and parents behind the tape.",
                ("park",),
                ("Children", "Families"),
                months=(4, 5, 6, 9, 10),
            ),
        ),
        weight=1.1,
        free=0.08,
        audiences=("Everyone", "Adults"),
        months=(3, 4, 5, 6, 9, 10, 11),
    ),
    Offer(
        "Sport",
        "Cycling",
        ("square", "streets"),
        (3, 22),
        (
            Act(
                "Cobbles and climbs: the {town} classic|The {town} cobbles ride",
                "Ninety kilometres over every bad road that the county kept for the purpose.",
                audiences=("Adults",),
            ),
            Act(
                "By bike to {neighbour} and back|From {town} to {neighbour} on two wheels",
                "A signed loop of forty kilometres with a coffee stop in {neighbour}.",
            ),
            Act(
                "Steel is real, {town}|Vintage ride {town}",
                "Bikes from before 1987, wool jerseys and toe clips only.",
                audiences=("Adults", "Seniors"),
            ),
            Act(
                "Car-free {town} by bike|Family ride {spot}",
                "Fifteen flat kilometres, an ice cream half-way and a mechanic at the back.",
                audiences=("Families",),
            ),
        ),
        weight=1.1,
        free=0.25,
        audiences=("Everyone", "Adults"),
        months=(4, 5, 6, 7, 8, 9, 10),
    ),
    Offer(
        "Sport",
        "Swimming",
        ("pool", "lake"),
        (3, 18),
        (
            Act(
                "Open-water mile {town}|The {town} lake swim",
                "One mile between the buoys, with canoes alongside.",
                ("lake",),
                ("Adults", "Teenagers"),
                months=SUMMER,
            ),
            Act(
                "Splash hour {town}|Water babies {town}",
                "Warm shallow water, songs and floating frogs for the very young.",
                ("pool",),
                ("Toddlers",),
            ),
            Act(
                "Twelve-hour relay {town}|A length for {town}",
                "Teams swim lengths for charity from morning to evening, and so can you.",
                ("pool",),
            ),
            Act(
                "Swim without hurry, {town}|Grey dolphins {town}",
                "Lanes for slow swimmers, gymnastics in the shallow end, coffee afterwards.",
                ("pool",),
                ("Seniors",),
            ),
            Act(
                "Sea swim {town}|Into the waves, {town}",
                "A supervised swim from groyne to groyne when the tide is right.",
                ("beach",),
                ("Adults",),
                months=SUMMER,
            ),
        ),
        weight=0.8,
        free=0.1,
        audiences=("Everyone", "Adults"),
        details=(
            "Lockers take a one-euro coin.",
            "Lifeguard {guest} keeps watch and gives advice.",
            "The swimming club of {neighbour} joins in.",
            "Warm tea at the edge.",
            "Caps are lent at the desk.",
        ),
    ),
)

OFFERS: tuple[Offer, ...] = (*TOURS, *WALKS, *SPORTS)

"""Offers to listen to: concerts, and festivals of every kind."""

from __future__ import annotations

from teaser.data._events.programme import AUTUMN, DAYTIME, NIGHT, SUMMER, WARM, Act, Offer

CONCERTS = (
    Offer(
        "Concert",
        "Jazz",
        ("club", "concert hall", "cafe", "park", "quay"),
        (8, 24),
        (
            Act(
                "Jazz by {water}|{weekday} jazz {spot}|Jazz {spot}",
                "The {person} Quartet plays ballads and hard bop, with room for a long bass solo.",
            ),
            Act(
                "{person} Trio: blue hour|Blue hour with {person}",
                "Piano, bass and brushes: {person} turns old street songs into slow jazz.",
            ),
            Act(
                "A harmonica for Toots {spot}|Toots forever, from {town}",
                "Young players from {town} and {neighbour} salute Toots Thielemans.",
            ),
            Act(
                "Big band {spot}|The {town} Big Band plays Basie",
                "Seventeen players and one singer share a small stage for Basie and Ellington.",
            ),
            Act(
                "Django's guitars {spot}|Swing without drums: {person} and friends",
                "Two guitars, a violin and no drums: swing after Django Reinhardt of Liberchies.",
            ),
        ),
        weight=1.3,
        free=0.15,
        audiences=("Adults", "Adults", "Everyone"),
    ),
    Offer(
        "Concert",
        "Classical",
        ("concert hall", "church", "castle"),
        (12, 46),
        (
            Act(
                "Summer strings {spot}|Strings at dusk {spot}",
                "A string orchestra plays Elgar, Grieg and a new piece by {person}.",
                ("park", "castle"),
                months=SUMMER,
            ),
            Act(
                "Schubert's last year, {person} at the piano|Late Schubert {spot}",
                "{person} plays the two final sonatas with the lid wide open.",
            ),
            Act(
                "Lunch concert: {person}, cello|Forty minutes of Bach {spot}",
                "A cello suite and a sandwich: {person} plays Bach in the middle of the day.",
                ("concert hall", "church"),
                ("Everyone", "Seniors"),
                hours=("12:15", "12:30"),
                details=("Sandwiches wait in the foyer.", "Doors close when the bow goes up."),
            ),
            Act(
                "The {town} Symphony meets Dvořák|From the New World, to {town}",
                "Eighty amateurs and a conductor, {person}, who will not hear that word.",
                ("concert hall", "theatre"),
            ),
            Act(
                "Peter and the wolf {spot}|A wolf, a duck and an orchestra in {town}",
                "Prokofiev's fairy tale, told by {person}, with every instrument shown up close.",
                ("concert hall", "theatre"),
                ("Families", "Children"),
                hours=DAYTIME,
            ),
        ),
        weight=1.5,
        free=0.08,
        audiences=("Adults", "Seniors", "Everyone"),
    ),
    Offer(
        "Concert",
        "Rock",
        ("club", "hall", "club"),
        (9, 38),
        (
            Act(
                "Three chords {spot}|Loud and local: three bands from {town}",
                "Three young bands get half an hour each and one amplifier stack to share.",
                audiences=("Teenagers", "Everyone"),
            ),
            Act(
                "{person} & the Wild Geese|{person} plugs in",
                "{person} trades the acoustic guitar for a borrowed Telecaster and a loud band.",
            ),
            Act(
                "The class of '94 plays {town}|Nineties night: the {town} reunion",
                "Five friends play the guitar songs they grew up with, a little slower than then.",
            ),
            Act(
                "Garage evening {spot}|Fuzz and feedback in {town}",
                "Garage rock from {town}, surf from {neighbour}, and earplugs at the door.",
            ),
            Act(
                "Guitars on the grass {spot}|Summer stage {town}: {person}",
                "A stage, a hedge and an evening of guitar songs with {person} and band.",
                ("park", "square"),
                months=WARM,
            ),
        ),
        weight=1.5,
        audiences=("Adults", "Everyone"),
        details=(
            "{guest} opens, alone, for a quarter of an hour.",
            "Earplugs are free, and so is the cloakroom.",
            "The bar closes an hour after the last chord.",
            "It is the only date around {town} this season.",
            "The next stop is {neighbour}.",
        ),
    ),
    Offer(
        "Concert",
        "Folk",
        ("hall", "cafe", "church", "farm"),
        (6, 19),
        (
            Act(
                "Pipes and fiddles {spot}|Bagpipes over {town}",
                "Bagpipe, hurdy-gurdy and fiddle: dance tunes from both sides of the border.",
            ),
            Act(
                "Songs of the bargemen|Songs along {water}",
                "{person} sings of locks, horses and lost loads, as her grandfather did.",
            ),
            Act(
                "Kitchen songs with {person}|{person} sings around the table",
                "Everybody sits round one long table, and {person} sings without a microphone.",
            ),
            Act(
                "Accordion evening {spot}|Four accordions and {town}",
                "Musette, klezmer and tango on four accordions, two of them older than the hall.",
            ),
        ),
        free=0.2,
        audiences=("Everyone", "Adults", "Seniors"),
    ),
    Offer(
        "Concert",
        "Electronic",
        ("club",),
        (8, 25),
        (
            Act(
                "Basement frequencies {town}|Low end {spot}",
                "Dub techno and a sound system built by hand; {person} plays all night.",
                hours=NIGHT,
            ),
            Act(
                "Modular night {spot}|Patch cables: {person} live",
                "No laptop in sight: {person} improvises on a wall of modular synthesizers.",
            ),
            Act(
                "{town} after midnight|Until the first train to {neighbour}",
                "House and disco until the first train, with {person} and {guest} back to back.",
                hours=NIGHT,
            ),
            Act(
                "Ambient lying down {spot}|Horizontal: {person} live",
                "Bring a pillow: two hours of slow tape loops by {person}, for a lying audience.",
                ("club", "church"),
            ),
        ),
        weight=1.1,
        free=0.03,
        audiences=("Adults",),
        details=(
            "{guest} takes care of the lights.",
            "The dance floor is phone-free.",
            "Water is free all night.",
            "A night bus leaves for {neighbour} every hour.",
        ),
    ),
    Offer(
        "Concert",
        "Brass",
        ("square", "park", "hall", "square"),
        (4, 14),
        (
            Act(
                "Brass {spot}|Brass in {town}: the old harmony plays",
                "The royal harmony of {town} leaves its practice room for marches and film music.",
            ),
            Act(
                "Balkan brass {spot}|Nine horns from {neighbour}",
                "Nine horns, two drums and no standing still: Balkan brass on foot.",
            ),
            Act(
                "Young brass {spot}|First notes: the youth brass of {town}",
                "Sixty players under eighteen show what a year of practice can do.",
                audiences=("Families", "Everyone"),
                hours=DAYTIME,
            ),
            Act(
                "Fanfare against fanfare: {town} v {neighbour}|Battle of the bands {spot}",
                "The fanfares of {town} and {neighbour} play in turns; applause decides.",
            ),
        ),
        free=0.55,
        audiences=("Everyone",),
    ),
    Offer(
        "Concert",
        "Choir",
        ("church", "church", "concert hall"),
        (6, 20),
        (
            Act(
                "Choirs {spot}|Five choirs and {town}",
                "Five choirs from {town} and {neighbour} sing in turn, then all together.",
            ),
            Act(
                "Polyphony {spot}|Lassus in {town}",
                "Eight voices sing Orlandus Lassus and Josquin from one large handwritten book.",
            ),
            Act(
                "Sing along {spot}|{town} sings: everyone is the choir",
                "There is no stage: {person} teaches three songs and conducts the whole room.",
                ("community", "hall"),
                ("Everyone", "Seniors"),
            ),
            Act(
                "Carols {spot}|Christmas carols in {town}",
                "Carols in four languages, the last of them in the dark.",
                ("church",),
                months=(12,),
            ),
            Act(
                "Requiem for November|A requiem {spot}",
                "Fauré's Requiem with the chamber choir of {town} and {person} at the organ.",
                ("church",),
                months=(11,),
            ),
        ),
        free=0.2,
        audiences=("Everyone", "Adults", "Seniors"),
    ),
)

FESTIVALS = (
    Offer(
        "Festival",
        "Jazz",
        ("park", "concert hall", "quay", "square"),
        (18, 65),
        (
            Act(
                "{town} Jazz Days|Jazz {spot}: the festival",
                "Thirty concerts on four stages, from a stride pianist to a brass band on a boat.",
            ),
            Act(
                "Blue Notes {town}|Blue notes {spot}",
                "Young trios by day and one big name each night, {person} first.",
            ),
        ),
        weight=0.5,
        audiences=("Everyone", "Adults"),
        free=0.15,
    ),
    Offer(
        "Festival",
        "Rock",
        ("park", "square", "farm"),
        (25, 89),
        (
            Act(
                "{town} Rocks|Rock {spot}: the festival",
                "Two stages that never play at once, so nobody has to choose.",
            ),
            Act(
                "Meadow noise, {town}|Four stages, one meadow: {town}",
                "Forty bands and a meadow, with {person} as the last name on the last night.",
                ("park", "farm"),
            ),
            Act(
                "{town} kermis: four stages, one river|Kermis rock {spot}",
                "Fairground by day and guitars by night, in the week of the kermis.",
                ("square",),
            ),
        ),
        weight=0.6,
        audiences=("Everyone", "Adults", "Teenagers"),
        free=0.15,
        months=WARM,
    ),
    Offer(
        "Festival",
        "Electronic",
        ("park", "beach", "works"),
        (29, 95),
        (
            Act(
                "Voltage {town}|Voltage {spot}",
                "Techno, electro and drum and bass, day and night, behind a wall of containers.",
            ),
            Act(
                "Sunrise sets {spot}|Daybreak {town}",
                "It goes on until {person} has played the sun up.",
            ),
        ),
        weight=0.5,
        audiences=("Adults",),
        free=0.0,
    ),
    Offer(
        "Festival",
        "Folk",
        ("farm", "park", "castle"),
        (12, 48),
        (
            Act(
                "Folk {spot}: the festival|{town} Folk Weekend",
                "Bal folk until late, and tune sessions for whoever brought an instrument.",
            ),
            Act(
                "World strings {town}|Strings of the world {spot}",
                "Kora, oud, saz and guitar meet for a festival without electricity.",
            ),
        ),
        weight=0.5,
        audiences=("Everyone", "Families"),
        free=0.15,
        months=WARM,
    ),
    Offer(
        "Festival",
        "Circus",
        ("square", "tent", "park"),
        (8, 28),
        (
            Act(
                "Circus in town: {town}|Circus {spot}",
                "Tightropes, clowns and a wheel of death: companies from six countries.",
            ),
            Act(
                "{town} upside down|Street acts {spot}",
                "Jugglers and acrobats take over every corner; pass the hat and look up.",
                ("square", "park"),
            ),
        ),
        weight=0.5,
        audiences=("Families", "Everyone"),
        free=0.35,
    ),
    Offer(
        "Festival",
        "Literature",
        ("library", "hall", "theatre"),
        (8, 26),
        (
            Act(
                "{town} Reads|Words {spot}: the festival",
                "Forty writers, one long night of poetry and a debate that {person} must calm.",
            ),
            Act(
                "Crime scene {town}|Whodunnit {spot}",
                "Crime writers solve a murder on stage, chapter by chapter, with {person}.",
                months=AUTUMN,
            ),
        ),
        weight=0.45,
        audiences=("Adults", "Everyone"),
        free=0.2,
    ),
)

OFFERS: tuple[Offer, ...] = (*CONCERTS, *FESTIVALS)

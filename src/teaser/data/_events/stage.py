"""Offers on a stage or a screen: theatre, dance, comedy and film."""

from __future__ import annotations

from teaser.data._events.programme import DAYTIME, SUMMER, Act, Offer

_YOUNG = ("Families", "Children")

THEATRE = (
    Offer(
        "Theatre",
        "Drama",
        ("theatre", "hall"),
        (12, 30),
        (
            Act(
                "The last tram to {neighbour}|Last train from {town}",
                "Three strangers miss the last connection and tell one another the truth.",
            ),
            Act(
                "Antigone {spot}|Antigone of {town}",
                "Sophocles without togas, with {person} as a girl who will not step aside.",
            ),
            Act(
                "The inheritance, with {person}|Four heirs and a house in {town}",
                "Four heirs divide a terraced house, and find one room too many.",
            ),
            Act(
                "Chekhov's orchard {spot}|The cherry orchard, replanted in {town}",
                "{person} moves Chekhov to a Belgian villa with a leaking roof.",
            ),
            Act(
                "Class photo|The class photo of {town}",
                "Twelve pupils write, argue and act out the year that made them.",
                audiences=("Teenagers",),
            ),
        ),
        weight=1.5,
        free=0.03,
        audiences=("Adults", "Adults", "Seniors"),
    ),
    Offer(
        "Theatre",
        "Puppetry",
        ("theatre", "hall", "library"),
        (5, 13),
        (
            Act(
                "Reynard and the {town} geese|Reynard the fox {spot}",
                "The fox talks himself out of trouble again, in wood, felt and one real feather.",
            ),
            Act(
                "The moon in a suitcase|A moon over {town}",
                "Shadow puppets, a suitcase and a moon that does not want to go to bed.",
                audiences=("Toddlers",),
                hours=("10:00", "10:30", "15:00"),
            ),
            Act(
                "Woltje's grandchildren|String pullers of {town}",
                "{person} plays nine marionettes alone, and gives each another dialect.",
            ),
            Act(
                "The button that got away|A button lost in {town}",
                "A coat button rolls off into the world; a small tale with large hands.",
                audiences=("Toddlers", "Children"),
                hours=("10:00", "11:00", "15:00"),
            ),
        ),
        weight=1.0,
        free=0.08,
        audiences=_YOUNG,
    ),
    Offer(
        "Theatre",
        "Musical",
        ("theatre", "hall"),
        (18, 58),
        (
            Act(
                "Nights at the {town} Palace|Grand Hotel {town}",
                "Tap shoes, telegrams and a wrong suitcase: a hotel musical with twenty singers.",
            ),
            Act(
                "Fiddler {spot}|A fiddler on the roofs of {town}",
                "The amateur company of {town} turns eighty and dances on the roof.",
            ),
            Act(
                "The miner's daughter, with {person}|The miner's daughter comes to {town}",
                "A strike, a dance and a voice: {person} sings the title part.",
            ),
        ),
        weight=0.7,
        free=0.0,
        audiences=("Everyone", "Adults", "Seniors"),
    ),
    Offer(
        "Theatre",
        "Circus",
        ("tent", "theatre"),
        (9, 24),
        (
            Act(
                "One rope, two people|A rope across {town}",
                "Two acrobats share one rope, one ladder and one temper.",
            ),
            Act(
                "Gravity, a love story|Falling for {town}",
                "Trampoline, teeterboard and a slow dance three metres above the ground.",
            ),
            Act(
                "The clumsy company {spot}|Circus {person}",
                "{person} drops everything, always, until forty plates stay in the air.",
            ),
        ),
        weight=0.8,
        free=0.03,
        audiences=("Families", "Everyone", "Children"),
    ),
)

DANCE = (
    Offer(
        "Dance",
        "Contemporary dance",
        ("theatre", "hall"),
        (11, 26),
        (
            Act(
                "Salt, by {person}|Salt on the floor {spot}",
                "Five dancers and two hundred kilos of salt; every step leaves a trace.",
            ),
            Act(
                "Unison for nine strangers|Nine strangers from {town}",
                "Nine people from {town} who never danced before share a stage with {person}.",
            ),
            Act(
                "Slow room|A slow room in {town}",
                "Nothing is faster than breathing in this piece for four bodies and one lamp.",
            ),
        ),
        weight=1.0,
        free=0.05,
        audiences=("Adults", "Adults", "Everyone"),
    ),
    Offer(
        "Dance",
        "Ballet",
        ("theatre", "hall"),
        (16, 52),
        (
            Act(
                "The nutcracker {spot}|The nutcracker comes to {town}",
                "Tchaikovsky's Christmas night, with forty pupils as mice and snow.",
                audiences=("Families", "Everyone"),
                months=(12,),
                hours=DAYTIME,
            ),
            Act(
                "Swan lake in miniature|Eight swans in {town}",
                "Eight dancers, not thirty-two, and you see every feather.",
            ),
            Act(
                "Giselle, danced by {person}|Giselle {spot}",
                "{person} dances the girl who forgives; the second act is almost all white.",
            ),
        ),
        weight=0.6,
        free=0.0,
        audiences=("Everyone", "Adults", "Seniors"),
    ),
    Offer(
        "Dance",
        "Social dance",
        ("community", "cafe", "hall", "square"),
        (4, 14),
        (
            Act(
                "Tango {spot}|Milonga {town}",
                "An hour of lessons for beginners, then a milonga with {person} on bandoneon.",
            ),
            Act(
                "Bal folk {spot}|Bal folk in {town}: mazurkas until late",
                "Every dance is explained once, and then the hurdy-gurdy does not wait.",
            ),
            Act(
                "Salsa {spot}|Salsa night {town}",
                "Cuban steps, a live band and no need to bring a partner.",
            ),
            Act(
                "Tea dance {town}|Tea dance {spot}",
                "Waltz, quickstep and cha-cha with an orchestra, coffee and rice tart.",
                ("community", "hall"),
                ("Seniors",),
                hours=("14:00", "14:30"),
            ),
        ),
        weight=1.1,
        free=0.2,
        audiences=("Adults", "Everyone"),
        details=(
            "Beginners are taken by the hand, literally.",
            "{person} explains the steps.",
            "Dancers from {neighbour} come by the busload.",
            "The floor is wood and the chairs are few.",
            "Bring shoes that can turn.",
        ),
    ),
)

COMEDY = (
    Offer(
        "Comedy",
        "Stand-up",
        ("theatre", "cafe", "club"),
        (9, 28),
        (
            Act(
                "{person}: mostly harmless|{person} explains Belgium",
                "{person} has six governments and a leaking tap, and complains about all of them.",
            ),
            Act(
                "{person}: sorry I'm late|{person} returns to {town}",
                "An hour about trains, in-laws and the quiet carriage, by {person} of {neighbour}.",
            ),
            Act(
                "Open mic {spot}|New jokes, {town}",
                "Eight comedians try five new minutes each; some of it will even work.",
                ("cafe", "club"),
            ),
        ),
        weight=1.4,
        free=0.06,
        audiences=("Adults", "Adults", "Everyone"),
    ),
    Offer(
        "Comedy",
        "Improvisation",
        ("theatre", "cafe", "hall"),
        (6, 16),
        (
            Act(
                "{town} against {neighbour}: the improv match|Improv derby {spot}",
                "Two teams, one referee and themes that the audience writes on slips of paper.",
            ),
            Act(
                "Your life, the musical: {town}|One suggestion from {town}",
                "One of you tells about a day; {person} and three others sing it back.",
            ),
            Act(
                "Fairy tales on request|Once upon a time in {town}",
                "Children choose the hero, the monster and the end; the actors sweat.",
                ("theatre", "hall"),
                ("Children", "Families"),
                hours=DAYTIME,
                details=("Every show is another story.", "Drawings decide how it ends."),
            ),
        ),
        weight=0.8,
        free=0.08,
        audiences=("Everyone", "Adults"),
    ),
)

FILMS = (
    Offer(
        "Film",
        "Film classics",
        ("cinema", "cinema", "hall"),
        (5, 11),
        (
            Act(
                "Playtime on the big screen|Tati in {town}",
                "Jacques Tati's glass city in a restored print, sharper than it ever was.",
            ),
            Act(
                "Cléo, two hours in Paris|Agnès Varda {spot}",
                "Agnès Varda's walk through Paris, with {person} on what to look for.",
            ),
            Act(
                "Nosferatu with live organ|Nosferatu {spot}",
                "The silent vampire, with new music improvised by {person} at the organ.",
                ("cinema", "church"),
                months=(10, 11),
            ),
            Act(
                "Cinema under the stars {spot}|Open-air cinema {town}",
                "Some Like It Hot on a white wall, as soon as it is dark enough.",
                ("park", "square"),
                ("Everyone",),
                months=SUMMER,
                hours=("21:30", "22:00"),
            ),
            Act(
                "Matinee for grey cats|{weekday} matinee {town}",
                "Roman Holiday, a slice of cake and the lights up slowly afterwards.",
                ("cinema", "hall"),
                ("Seniors",),
                hours=("14:00", "14:30"),
            ),
        ),
        weight=1.2,
        free=0.1,
        audiences=("Adults", "Everyone"),
    ),
    Offer(
        "Film",
        "Documentary",
        ("cinema", "library", "hall"),
        (4, 10),
        (
            Act(
                "Twelve winters on {water}|The last fisherman of {town}",
                "{person} filmed one fisherman for twelve years, and let him speak.",
            ),
            Act(
                "Night shift|Night shift in {town}",
                "Cleaners, bakers and nurses between two and six, without a voice-over.",
            ),
            Act(
                "Seeds, a film by {person}|The seed keepers, seen from {town}",
                "Four women save old beans from being forgotten, from Puglia to the Ardennes.",
            ),
            Act(
                "Home movies of {town}|{town} in eight millimetres",
                "Weddings, floods and kermises: family films from attics, with live piano.",
                audiences=("Everyone", "Seniors"),
            ),
        ),
        weight=0.9,
        free=0.25,
        audiences=("Adults",),
    ),
    Offer(
        "Film",
        "Animation",
        ("cinema", "library", "hall"),
        (3.5, 9),
        (
            Act(
                "First film, short film|Little eyes, big screen {town}",
                "Five short films without words, with the sound turned down and a lamp left on.",
                audiences=("Toddlers",),
                hours=("10:00", "10:30", "15:00"),
            ),
            Act(
                "Wallace, Gromit and {town}|Clay and patience {spot}",
                "A morning of plasticine films, and a look inside a puppet's skeleton.",
                hours=("10:00", "10:30"),
            ),
            Act(
                "Anime evening {town}|Anime {spot}",
                "Two films by Studio Ghibli with subtitles, ramen in between.",
                ("cinema",),
                ("Teenagers",),
            ),
            Act(
                "The fox who drew|Draw me a film in {town}",
                "A film about a fox with a pencil, and paper on every seat.",
                hours=DAYTIME,
            ),
        ),
        weight=0.8,
        free=0.12,
        audiences=("Children", "Families"),
    ),
)

OFFERS: tuple[Offer, ...] = (*THEATRE, *DANCE, *COMEDY, *FILMS)

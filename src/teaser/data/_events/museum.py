"""Offers to look at and listen to quietly: exhibitions and lectures."""

from __future__ import annotations

from teaser.data._events.programme import Act, Offer

EXHIBITIONS = (
    Offer(
        "Exhibition",
        "Painting",
        ("museum", "gallery", "museum"),
        (5, 16),
        (
            Act(
                "Painters of {water}|Painters {spot}",
                "A century of light on {water}, from the first easels outdoors to now.",
                ("museum",),
            ),
            Act(
                "{person}: interiors|{person}, painter of empty rooms",
                "{person} painted the same kitchen for forty years, and never the same way.",
            ),
            Act(
                "After Ensor: masks in {town}|Masks {spot}",
                "Twenty painters answer Ensor's masks with faces of their own.",
            ),
            Act(
                "Large canvases, small town|Colour fields in {town}",
                "Abstract canvases as wide as a tram, with benches to sit and look.",
            ),
        ),
        weight=1.1,
        free=0.2,
    ),
    Offer(
        "Exhibition",
        "Photography",
        ("gallery", "museum", "library"),
        (4, 13),
        (
            Act(
                "Last seen in {town}|Shopfronts of {town}",
                "{person} photographed every shopfront of {town} the week before it closed.",
            ),
            Act(
                "Night buses, by {person}|Line 8 to {neighbour}",
                "Portraits of passengers between midnight and the depot.",
            ),
            Act(
                "Silver and salt: {person}|The first photographers of {town}",
                "Glass plates from a photographer's attic, printed for the first time.",
            ),
            Act(
                "Young lenses {town}|Seventeen: self-portraits from {town}",
                "Pupils from {town} turn the camera round.",
                audiences=("Teenagers", "Everyone"),
            ),
        ),
        weight=0.9,
        free=0.35,
    ),
    Offer(
        "Exhibition",
        "Design",
        ("museum", "gallery", "works"),
        (5, 14),
        (
            Act(
                "A chair is a chair is a chair|Sixty chairs in {town}",
                "From a milking stool to a printed seat: sixty chairs, half to be sat upon.",
            ),
            Act(
                "Repaired: objects from {town}|Mended, not new",
                "Darned, soldered and glued: what a repair says about its owner.",
            ),
            Act(
                "Letters on walls: type from {town}|Enamel signs {spot}",
                "Enamel plates, painted gables and the people who drew their letters.",
            ),
        ),
        weight=0.6,
        free=0.2,
    ),
    Offer(
        "Exhibition",
        "History",
        ("museum", "museum", "castle"),
        (4, 15),
        (
            Act(
                "{town} under the ground|Dug up in {town}",
                "What builders found below the new car park, from Roman tiles to a toy tank.",
            ),
            Act(
                "Ordinary Sundays: {town}, 1900 to 1960|The Sunday best of {town}",
                "Photographs, hats and prayer books from a century of Sundays.",
            ),
            Act(
                "Occupied rooms: {town}, 1940 to 1944|Letters from a closed town: {town}",
                "Diaries and ration books tell how one street came through the war.",
                audiences=("Adults", "Teenagers"),
            ),
            Act(
                "Knights, real ones, in {town}|How heavy is a helmet? Knights in {town}",
                "Lift a sword, read a seal and find out who had to wash the horses.",
                audiences=("Families", "Children"),
            ),
        ),
        weight=0.9,
        free=0.2,
    ),
    Offer(
        "Exhibition",
        "Comics",
        ("gallery", "library", "museum"),
        (4, 12),
        (
            Act(
                "Drawn in {town}: comics by {person}|{person}, panel by panel",
                "Original pages by {person}, with the corrections still visible.",
            ),
            Act(
                "Clear lines|The clear line reaches {town}",
                "What happens to a story when every outline has the same weight.",
            ),
            Act(
                "Balloons without words: {town}|Silent comics {spot}",
                "Comics that need no language, read on the floor, on walls and on the stairs.",
                audiences=("Families", "Children", "Everyone"),
            ),
        ),
        weight=0.6,
        free=0.3,
        audiences=("Everyone", "Teenagers", "Adults"),
    ),
)

LECTURES = (
    Offer(
        "Lecture",
        "Science",
        ("library", "hall"),
        (4, 12),
        (
            Act(
                "Why the night sky is dark, {person}|The dark night sky over {town}",
                "Astronomer {person} asks a child's question, and needs the whole universe.",
            ),
            Act(
                "Can a machine be wrong? {person} in {town}|Algorithms for the rest of us: {town}",
                "What learning machines do well, what they do badly, and who answers for it.",
            ),
            Act(
                "The secret life of moss, with {person}|Small and green: moss in {town}",
                "Moss was here before the trees, and {person} has the lenses to prove it.",
            ),
            Act(
                "Ask me anything about sleep, {person}|Why we sleep badly: an evening in {town}",
                "Sleep researcher {person} sorts the facts from the pillows.",
            ),
        ),
        weight=0.8,
        free=0.35,
        audiences=("Adults", "Everyone", "Seniors"),
    ),
    Offer(
        "Lecture",
        "History",
        ("library", "hall", "museum"),
        (4, 12),
        (
            Act(
                "The year {town} burned|Fire over {town}",
                "Historian {person} follows one night through court records and songs.",
            ),
            Act(
                "Who built the railway to {neighbour}?|Iron road: {town} to {neighbour}",
                "Navvies, engineers and a bankrupt count: how the line came to {town}.",
            ),
            Act(
                "Women on the square: a history of {town}|Market women of {town}",
                "Five centuries of women who traded, protested and kept the books.",
            ),
        ),
        weight=0.7,
        free=0.35,
        audiences=("Adults", "Seniors"),
    ),
    Offer(
        "Lecture",
        "Literature",
        ("library", "theatre", "cafe"),
        (4, 14),
        (
            Act(
                "{person} reads from a new novel|An evening with {person}, novelist",
                "{person} reads three chapters and tells which one was almost cut.",
            ),
            Act(
                "Poems for a wet evening, {town}|Poets {spot}",
                "Six poets, one lamp, ten minutes each.",
            ),
            Act(
                "Simenon's rain|Maigret comes to {town}",
                "Why it always rains in Simenon, and why we keep turning the pages.",
            ),
            Act(
                "Story hour {town}|Stories on the carpet, {town}",
                "{person} reads three picture books, and does all the voices.",
                ("library",),
                ("Toddlers", "Children"),
                hours=("10:00", "10:30", "15:00"),
            ),
        ),
        weight=0.9,
        free=0.3,
        audiences=("Adults", "Seniors"),
        details=(
            "Books are for sale afterwards, and signed.",
            "The bookshop of {neighbour} brings a table full.",
            "{guest} asks the questions.",
            "No need to have read anything before.",
            "Wine and a reading lamp are provided.",
        ),
    ),
)

OFFERS: tuple[Offer, ...] = (*EXHIBITIONS, *LECTURES)

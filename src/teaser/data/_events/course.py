"""Offers to learn by doing: workshops and courses."""

from __future__ import annotations

from teaser.data._events.programme import SPRING, WARM, Act, Offer

WORKSHOPS = (
    Offer(
        "Workshop",
        "Ceramics",
        ("atelier",),
        (18, 65),
        (
            Act(
                "Throwing a first bowl, with {person}|Your first bowl, made in {town}",
                "Centre, open, lift: a morning at the wheel with potter {person}.",
            ),
            Act(
                "Clay beasts {town}|A dragon of your own {spot}",
                "Pinch, roll and scratch until the clay looks back at you.",
                audiences=("Children", "Families"),
            ),
            Act(
                "Raku and smoke {town}|Fire and glaze with {person}",
                "Glowing pots go from the kiln into sawdust, and come out cracked on purpose.",
            ),
        ),
        weight=0.8,
        free=0.0,
        audiences=("Adults", "Adults", "Seniors"),
    ),
    Offer(
        "Workshop",
        "Textiles",
        ("atelier", "community"),
        (8, 42),
        (
            Act(
                "Visible mending {town}|Mend it, with {person}",
                "Bring a jumper with a hole and leave with a better one.",
            ),
            Act(
                "Indigo days {town}|Blue hands: indigo with {person}",
                "Fold, tie and dip: Japanese shibori in a vat of real indigo.",
            ),
            Act(
                "Bobbin lace for beginners {town}|Sixteen bobbins, with {person}",
                "Cross, twist, pin: the first centimetres of a lace ribbon.",
                audiences=("Adults", "Seniors"),
            ),
            Act(
                "Knit and natter {town}|Knitting {spot}",
                "Knitters of all speeds share patterns, wool and gossip.",
                ("community", "library"),
                ("Seniors", "Everyone"),
            ),
        ),
        weight=0.8,
        free=0.12,
        audiences=("Adults", "Adults", "Seniors"),
    ),
    Offer(
        "Workshop",
        "Technology",
        ("lab", "library"),
        (5, 35),
        (
            Act(
                "Robots that draw {town}|Teach a robot to draw {spot}",
                "Build a small robot, give it a pen and see who made the portrait.",
                audiences=("Children", "Teenagers"),
            ),
            Act(
                "Repair café {town}|Bring your broken toaster to {town}",
                "Volunteers with soldering irons look at your lamp, radio or toaster.",
                ("lab", "community"),
                ("Everyone",),
            ),
            Act(
                "Make a game in an afternoon, {town}|Game jam {town}",
                "Code, draw and test a small game; {person} helps where it crashes.",
                audiences=("Teenagers",),
            ),
            Act(
                "Phone without fear, {town}|Digital tea hour {town}",
                "Bring your own telephone and your own questions; nobody sighs.",
                ("library", "community"),
                ("Seniors",),
                hours=("10:00", "14:00"),
            ),
        ),
        weight=0.8,
        free=0.35,
        audiences=("Children", "Teenagers"),
        details=(
            "There is room for twelve, and nobody needs experience.",
            "{guest} and two volunteers walk round the tables.",
            "Laptops are there for those who have none.",
            "Tea and something sweet half-way.",
        ),
    ),
    Offer(
        "Workshop",
        "Photography",
        ("atelier", "gallery"),
        (20, 58),
        (
            Act(
                "Darkroom hours with {person}|In the darkroom, {town}",
                "Red light, three trays and the moment when a picture appears.",
            ),
            Act(
                "Street portraits {spot}|A stranger from {town}: portraits with {person}",
                "Learn to ask, to wait and to press once; {person} walks along.",
            ),
            Act(
                "Pinhole cameras from biscuit tins, {town}|The biscuit-tin camera of {town}",
                "A tin, a needle and a sheet of paper make a camera that works.",
                audiences=("Families", "Children"),
            ),
        ),
        weight=0.5,
        free=0.0,
        audiences=("Adults",),
    ),
    Offer(
        "Workshop",
        "Cooking",
        ("kitchen",),
        (15, 62),
        (
            Act(
                "Sourdough with {person}|Bread from scratch in {town}",
                "Feed, fold and bake: you go home with a loaf and a living jar.",
            ),
            Act(
                "Leftovers, five courses|Nothing wasted in {town}",
                "{person} opens the fridge of a neighbour and makes five courses.",
            ),
            Act(
                "Dumplings of the world {town}|Fold and steam, with {person}",
                "Momo, ravioli and pierogi at one long table, eaten while they are hot.",
            ),
            Act(
                "Little cooks {town}|Soup stars of {town}",
                "Peel, stir and taste in an apron that is too large.",
                audiences=("Children",),
            ),
        ),
        weight=0.9,
        free=0.04,
        audiences=("Adults", "Adults", "Everyone"),
    ),
)

COURSES = (
    Offer(
        "Course",
        "Language",
        ("community", "library"),
        (25, 120),
        (
            Act(
                "Dutch at the kitchen table, {town}|Speak Dutch in {town}",
                "Everyday Dutch from the first minute, with {person} as patient host.",
            ),
            Act(
                "French you can use, {town}|French without fear, {person}",
                "Markets, doctors and small talk: French for those who forgot their school.",
            ),
            Act(
                "Sign language for beginners, {town}|Talking hands {town}",
                "The alphabet, the weather and a joke, all in sign language.",
            ),
            Act(
                "Italian songs, Italian verbs: {town}|Italian with {person}",
                "One song a week, and the grammar that hides in it.",
            ),
        ),
        weight=0.8,
        free=0.12,
        audiences=("Adults", "Adults", "Seniors"),
        months=(1, 2, 3, 4, 9, 10),
    ),
    Offer(
        "Course",
        "Painting",
        ("atelier",),
        (60, 165),
        (
            Act(
                "Watercolour for the impatient, {town}|Watercolour with {person}",
                "Wet on wet, dry on dry, and knowing when to put the brush down.",
            ),
            Act(
                "Drawing from life, {town}|Life drawing with {person}",
                "A model, a stove and charcoal: short poses first, long ones later.",
                audiences=("Adults",),
            ),
            Act(
                "Paint up to your elbows, {town}|Big brushes {town}",
                "Large paper, large brushes and paint mixed by hand.",
                audiences=("Children",),
                hours=("14:00",),
            ),
        ),
        weight=0.6,
        free=0.0,
        audiences=("Adults", "Seniors"),
        months=(1, 2, 3, 9, 10),
    ),
    Offer(
        "Course",
        "Wellbeing",
        ("community", "sports hall"),
        (20, 110),
        (
            Act(
                "Yoga for stiff people, {town}|Slow yoga with {person}",
                "No headstands: breath, balance and a long rest at the end.",
            ),
            Act(
                "Breathe out, {town}|Sleep better, a course with {person}",
                "Simple exercises for those who lie awake, tried at home between lessons.",
            ),
            Act(
                "Tai chi {spot}|Tai chi in {town}",
                "Twenty-four slow movements, learned one or two at a time.",
                ("community", "sports hall"),
                ("Seniors", "Everyone"),
            ),
            Act(
                "Baby and me: massage and music, {town}|First lullabies {town}",
                "Songs, soft balls and quiet for babies with a parent.",
                ("community",),
                ("Toddlers",),
                hours=("9:30", "10:00"),
            ),
        ),
        weight=0.9,
        free=0.08,
        audiences=("Adults", "Seniors"),
        months=(1, 2, 3, 4, 9, 10),
    ),
    Offer(
        "Course",
        "Gardening",
        ("garden", "community"),
        (15, 75),
        (
            Act(
                "A vegetable garden in a square metre, {town}|Grow your own in {town}",
                "Sow, thin and wait: a season's harvest from the size of a bath mat.",
                ("garden",),
                months=(3, 4, 5),
            ),
            Act(
                "Compost, worms and patience: {town}|Good soil, with {person}",
                "What goes on the heap, what never does, and who lives in it.",
                ("garden",),
                months=(4, 5, 6, 9),
            ),
            Act(
                "Herbs for body and soup, {town}|Know your herbs, with {person}",
                "Smell, draw and dry forty plants, from lovage to valerian.",
                ("garden",),
                months=WARM,
            ),
        ),
        weight=0.6,
        free=0.12,
        audiences=("Adults", "Seniors", "Everyone"),
        months=SPRING,
    ),
)

OFFERS: tuple[Offer, ...] = (*WORKSHOPS, *COURSES)

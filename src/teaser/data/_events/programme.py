"""What the listings offer: the shape of an offer, and what each type of event implies."""

from __future__ import annotations

from dataclasses import dataclass

ALL_YEAR = tuple(range(1, 13))
WARM = (5, 6, 7, 8, 9)
SUMMER = (6, 7, 8)
SPRING = (3, 4, 5)
AUTUMN = (9, 10, 11)

EVENING = ("19:30", "20:00", "20:30")
NIGHT = ("22:00", "22:30", "23:00")
DAYTIME = ("10:00", "11:00", "14:00", "15:00")


@dataclass(frozen=True)
class Act:
    """One thing to do: titles (separated by "|"), what happens, and what it needs.

    Titles and text may use ``{town} {spot} {water} {venue} {person} {guest} {neighbour}
    {weekday} {weeks}``. Empty fields fall back to those of the offer, and its details to those
    of the type.
    """

    titles: str
    text: str
    kinds: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()
    months: tuple[int, ...] = ()
    hours: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Offer:
    """All acts of one type and theme, with the venues, audiences and prices that suit them.

    ``prices`` is a range in euro, ``free`` the share of events without a ticket. Without
    ``months``, an act in the open air falls in the warm months and one under a roof in any.
    """

    type: str
    theme: str
    kinds: tuple[str, ...]
    prices: tuple[float, float]
    acts: tuple[Act, ...]
    weight: float = 1.0
    free: float = 0.1
    audiences: tuple[str, ...] = ("Everyone", "Adults")
    months: tuple[int, ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class TypeRule:
    """What a type of event implies, whatever its theme.

    ``weekend`` is the share of single days that fall on Saturday or Sunday. ``lengths`` are the
    possible durations in days, drawn with equal chance; ``weekly`` ones come back every week.
    ``draw`` shifts popularity. ``details`` are sentences for any event of the type.
    """

    weekend: float
    details: tuple[str, ...]
    lengths: tuple[int, ...] = (1,)
    weekly: bool = False
    hours: tuple[str, ...] = EVENING
    draw: float = 0.0


TYPES: dict[str, TypeRule] = {
    "Concert": TypeRule(
        0.55,
        (
            "There is no interval, and there will be an encore.",
            "{guest} says a few words between the pieces.",
            "Afterwards the musicians stay for a drink and a talk.",
            "It is the only date around {town} this season.",
            "The programme was tried out in {neighbour} last month.",
            "Places are not numbered, so come early.",
            "",
        ),
        draw=0.2,
    ),
    "Festival": TypeRule(
        0.9,
        (
            "Food stalls from {town} and {neighbour} stay open until the end.",
            "Come for an hour or for every day of it.",
            "Over a hundred volunteers from {town} keep it running.",
            "The full timetable hangs at the entrance.",
            "Local names and guests from abroad share the bill, {guest} among them.",
        ),
        lengths=(2, 2, 3, 3, 4),
        hours=("11:00", "12:00", "14:00"),
        draw=1.0,
    ),
    "Exhibition": TypeRule(
        0.4,
        (
            "Curator {guest} chose with care; many pieces were never shown before.",
            "The rooms follow one another by date, and the last one is empty on purpose.",
            "A small catalogue is for sale at the desk.",
            "Half of the pieces were lent by families from {neighbour}.",
            "Closed on Mondays.",
            "An audio tour takes forty minutes.",
        ),
        lengths=(16, 30, 44, 58, 72, 93),
        hours=(),
        draw=0.3,
    ),
    "Theatre": TypeRule(
        0.5,
        (
            "{guest} directs.",
            "After the show the cast sits down with the audience.",
            "It runs for an hour and has no interval.",
            "The company rehearsed for three weeks in {neighbour}.",
            "{guest} made the set out of what the last show left behind.",
            "",
        ),
    ),
    "Dance": TypeRule(
        0.5,
        (
            "The floor is close: from the first row you hear the breathing.",
            "Music is played live by {guest}.",
            "There is a short introduction half an hour before.",
            "Made during a residency in {neighbour}.",
            "",
        ),
    ),
    "Comedy": TypeRule(
        0.5,
        (
            "Sit in the front row at your own risk.",
            "{guest} warms up the room.",
            "The bar stays open afterwards.",
            "The last evening in {neighbour} sold out, so do not wait too long.",
            "Two halves of forty-five minutes, one bar in between.",
        ),
        draw=0.2,
    ),
    "Film": TypeRule(
        0.4,
        (
            "{guest} introduces the film and takes questions afterwards.",
            "One screening only.",
            "Doors open half an hour before, and so does the bar.",
            "With a short film from a maker in {neighbour} before it.",
            "",
        ),
    ),
    "Workshop": TypeRule(
        0.65,
        (
            "There is room for twelve, and nobody needs experience.",
            "{person} shows every step and then walks round the tables.",
            "You take home what you made.",
            "Bring a notebook; everything else is on the table.",
            "Tea and something sweet half-way.",
        ),
        hours=("10:00", "13:30", "14:00"),
        draw=-0.3,
    ),
    "Course": TypeRule(
        0.15,
        (
            "{weeks} sessions, every {weekday}, in a group of at most fourteen.",
            "{weeks} times on {weekday}; a missed lesson can be made up in {neighbour}.",
            "On {weekday}, {weeks} weeks long, with time to practise in between.",
            "The group meets {weeks} times, each {weekday}.",
        ),
        lengths=(22, 29, 36, 43, 50, 64),
        weekly=True,
        hours=("10:00", "13:30", "18:30", "19:00"),
        draw=-0.5,
    ),
    "Guided tour": TypeRule(
        0.7,
        (
            "The tour takes two hours and ends with a view.",
            "{person} has been a guide in {town} for twenty years.",
            "Groups stay under fifteen, so there is time for questions.",
            "Some of the doors are closed to the public on any other day.",
            "Comfortable shoes advised: there are cobbles and stairs.",
        ),
        hours=("10:30", "14:00", "14:30"),
        draw=-0.1,
    ),
    "Lecture": TypeRule(
        0.15,
        (
            "Half of the time is kept for questions.",
            "Slides, stories and a reading list to take home.",
            "{guest} asks the first critical question.",
            "No prior knowledge needed.",
            "Organised with the reading circle of {neighbour}.",
        ),
        draw=-0.3,
    ),
    "Market": TypeRule(
        0.9,
        (
            "Early birds find the best; the last stalls pack up at five.",
            "Bicycles can be parked, guarded, for nothing.",
            "Sellers come from {town}, {neighbour} and further.",
            "The youth band of {neighbour} walks between the stalls.",
            "Coffee and hot soup at the corner stall.",
        ),
        lengths=(1, 1, 1, 2),
        hours=("8:00", "9:00", "10:00"),
        draw=0.4,
    ),
    "Walk": TypeRule(
        0.8,
        (
            "The pace is easy and the group small.",
            "{person} carries the map and the thermos.",
            "You are back in time for the train to {neighbour}.",
            "After heavy rain, boots are no luxury.",
            "Short stops on the way, a longer one at the end.",
        ),
        hours=("9:30", "10:00", "13:30", "14:00"),
        draw=-0.1,
    ),
    "Sport": TypeRule(
        0.85,
        (
            "Showers and changing rooms at the finish.",
            "Changing rooms open an hour before, and coffee even earlier.",
            "The club of {neighbour} has taken up the challenge.",
            "Everyone who finishes gets soup and an honest round of applause.",
            "Times are kept, but nobody is last.",
        ),
        hours=("9:00", "9:30", "10:00", "10:30"),
        draw=0.2,
    ),
    "Family day": TypeRule(
        0.95,
        (
            "Grandparents are as welcome as babies.",
            "Pancakes, a quiet corner and a changing table are there.",
            "Drop in whenever you like; everything is repeated each hour.",
            "{guest} tells stories between the activities.",
            "A treasure hunt leads past all the stands.",
        ),
        hours=("10:00", "11:00", "13:00"),
        draw=0.3,
    ),
    "Food and drink": TypeRule(
        0.85,
        (
            "The first round starts on the hour, the last one two hours later.",
            "{person} explains what you taste, and why.",
            "All producers work within fifty kilometres of {town}.",
            "Come hungry, and leave the car at home.",
            "A baker from {neighbour} brings the bread.",
        ),
        hours=("12:00", "14:00", "17:00", "18:00"),
        draw=0.2,
    ),
}

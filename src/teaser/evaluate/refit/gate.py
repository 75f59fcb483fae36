"""The verdict on a candidate: what was measured, and why it may not go live."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from teaser.errors import ParameterError
from teaser.evaluate.refit.measure import ENOUGH_PEOPLE, MIN_INTERACTIONS, Comparison
from teaser.files import say_bytes
from teaser.model.recipe import percent

MARGIN = 0.05
LEAST = 0.5


@dataclass(frozen=True)
class NamesKept:
    """How many names there were, how many there are, and how many of the former are left."""

    before: int
    after: int
    kept: int

    @classmethod
    def of(cls, before: Iterable[object], after: Iterable[object]) -> "NamesKept":
        """Compare two sets of names."""
        old, new = set(before), set(after)
        return cls(len(old), len(new), len(old & new))

    @property
    def share(self) -> float:
        """The share of the former names that are left; 1 if there were none."""
        return self.kept / self.before if self.before else 1.0


@dataclass(frozen=True)
class Measured:
    """What was measured of a candidate and of the present model.

    Attributes
    ----------
    twins
        Twins of both models on held-out people; None where too few people have enough
        interactions.
    models
        Both models themselves on the same people, whom they learned from.
    origins
        The comparison of the twins for people of the data set and of the site apart.
    coverage
        The share of the items that is in the first 20 of the lists of these people, before and
        after; None without such people.
    items, tags
        The names of items and tags.
    presses
        Presses of visitors on tags, one for each visitor and tag; None where there are none.
    sizes
        Numbers before and after by name: bytes, users, interactions. None before where the
        number is not known.
    """

    twins: Comparison | None
    models: Comparison | None
    origins: Mapping[str, Comparison]
    coverage: tuple[float, float] | None
    items: NamesKept
    tags: NamesKept
    presses: NamesKept | None
    sizes: Mapping[str, tuple[int | None, int]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = asdict(self)
        for name in ("twins", "models"):
            found: Comparison | None = getattr(self, name)
            plain[name] = None if found is None else found.as_dict()
        plain["origins"] = {name: found.as_dict() for name, found in self.origins.items()}
        return plain

    def lines(self) -> list[str]:
        """Return what was measured as sentences."""
        found = []
        if self.twins is not None:
            found.append(f"twins, on {_said(self.twins)}")
        found += [f"  of the {name}: {_said(part)}" for name, part in self.origins.items()]
        if self.models is not None:
            found.append(f"the models themselves, on {_said(self.models)}")
        if self.coverage is not None:
            before, after = self.coverage
            found.append(
                f"{percent(before)} of the items are in top-20 lists, then {percent(after)}"
            )
        kinds = {"items": self.items, "tags": self.tags, "presses of visitors": self.presses}
        for name, each in kinds.items():
            if each is not None:
                counts = f"{each.before:,} {name} before, {each.after:,} now"
                found.append(f"{counts}; {each.kept:,} kept")
        for name, (was, now) in self.sizes.items():
            found.append(f"{_size(name, was)} before, {_size(name, now)} now")
        return found


@dataclass(frozen=True)
class GateLimits:
    """How much worse a candidate may be.

    Parameters
    ----------
    margin
        The largest loss of nDCG@100, as a share of the present model's.
    least
        The smallest share of items, tags, coverage and sizes that must be left.
    """

    margin: float = MARGIN
    least: float = LEAST

    def __post_init__(self) -> None:
        for name in ("margin", "least"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ParameterError(f"{name} must be from 0 to 1, found {value:g}.")

    def reasons(self, found: Measured) -> list[str]:
        """Return why a candidate may not go live; nothing if it may."""
        return [
            *self._accuracy("Twins", found.twins),
            *self._accuracy("The models themselves", found.models),
            *self._shares(found),
        ]

    def _accuracy(self, which: str, found: Comparison | None) -> list[str]:
        if found is None:
            if which != "Twins":
                return []
            return [
                f"Fewer than {ENOUGH_PEOPLE} people could be held out, so that nothing says "
                f"whether it is worse: {2 * ENOUGH_PEOPLE} people with {MIN_INTERACTIONS} "
                "interactions are needed."
            ]
        if found.change >= -self.margin:
            return []
        return [
            f"{which}: nDCG@100 falls by {-found.change:.1%}, from {found.before:.3f} to "
            f"{found.after:.3f}, and the margin is {self.margin:.1%}."
        ]

    def _shares(self, found: Measured) -> list[str]:
        shares = {"items": found.items.share, "tags": found.tags.share}
        if found.presses is not None:
            shares["presses of visitors"] = found.presses.share
        if found.coverage is not None and found.coverage[0]:
            shares["coverage"] = found.coverage[1] / found.coverage[0]
        for name, (was, now) in found.sizes.items():
            if was:
                shares[name] = now / was
        return [
            f"Of the {name} of the present model {percent(share)} would be left, and at least "
            f"{percent(self.least)} must be."
            for name, share in shares.items()
            if share < self.least
        ]


def _said(found: Comparison) -> str:
    return (
        f"{found.people:,} held-out people: nDCG@100 {found.before:.3f}, then {found.after:.3f} "
        f"({found.change:+.1%}, from {found.low:+.1%} to {found.high:+.1%})"
    )


def _size(name: str, value: int | None) -> str:
    if value is None:
        return f"unknown {name}"
    return say_bytes(value) if name == "bytes" else f"{value:,} {name}"

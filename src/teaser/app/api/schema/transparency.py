"""What decides here, as typed JSON."""

from datetime import date as day
from typing import Literal, Self

from teaser.app.api.schema.examples import Schema
from teaser.app.api.schema.requests import Share
from teaser.app.serving.catalogue import Catalogue
from teaser.transparency import DataSources
from teaser.transparency import FeatureSource as FoundSource
from teaser.transparency import Transparency as Measured


class PartShare(Schema):
    """The mean share of one part in the scores of lists.

    `feature`: null for parts that are none. `press_change`: how many items of a list one press on
    a tag of it exchanges, on average; null where none was tried.
    """

    part: Literal["feature", "general", "popularity", "discovered", "viewed"]
    feature: str | None
    share: Share
    press_change: float | None


class Impacts(Schema):
    """What decides in the first `k` of the lists of `n_people` people; the shares sum to 1.

    `step`: how far one press moves an affinity. `press_change`: how many of the k items one press
    exchanges, on average over people who each pressed + on a tag of an item of their list.
    """

    n_people: int
    k: int
    shares: list[PartShare]
    step: float
    press_change: float

    @classmethod
    def of(cls, measured: Measured) -> Self:
        """Return what was measured."""
        found, rows = measured.impacts, measured.to_frame().iter_rows(named=True)
        return cls(
            n_people=found.n_people,
            k=found.k,
            shares=[PartShare(**{**row, "share": min(1.0, row["share"])}) for row in rows],
            step=found.step,
            press_change=found.press_change,
        )


class FeatureSource(Schema):
    """A feature, the columns that its tags were made from, and the number of tags."""

    feature: str
    columns: list[str]
    n_tags: int

    @classmethod
    def of(cls, found: FoundSource) -> Self:
        """Return a source of the library."""
        return cls(feature=found.feature, columns=list(found.columns), n_tags=found.n_tags)


class Sources(Schema):
    """Where the data come from, and what of them is not used.

    `n_disliked`: dislikes, which count in histories only; `strengths`: whether interactions count
    by a strength; `n_discovered`: tags that the system found from who chose what; `shown_columns`:
    columns of the items that are displayed, by role; `unused_columns`: those that are not used.
    """

    n_users: int
    n_items: int
    n_interactions: int
    n_disliked: int
    strengths: bool
    features: list[FeatureSource]
    n_discovered: int
    user_features: list[FeatureSource]
    uses_user_features: bool
    shown_columns: dict[str, str]
    unused_columns: list[str]

    @classmethod
    def of(cls, found: DataSources) -> Self:
        """Return the sources of the library."""
        own = dict(vars(found))
        for name in ("features", "user_features"):
            own[name] = [FeatureSource.of(each) for each in own[name]]
        return cls(**{**own, "unused_columns": list(found.unused_columns)})


class Transparency(Schema):
    """What decides here: made from the model that is served, and from the settings of the site.

    `impacts`, `sources`, `version` and `date` are of the fit of the model; null for a model of an
    earlier version, or without histories. `learns_from_views`: whether what visitors view here is
    used for the next model, of those who allow it. `boosts`: what the site adds to scores, for
    everybody alike.
    """

    impacts: Impacts | None
    sources: Sources | None
    version: str | None
    date: day | None
    learns_from_views: bool
    boosts: dict[str, float]

    @classmethod
    def of(cls, catalogue: Catalogue, *, learns: bool) -> Self:
        """Return what decides in a catalogue; `learns` is the setting of the site."""
        found = catalogue.model.transparency_
        return cls(
            impacts=None if found is None else Impacts.of(found),
            sources=None if found is None else Sources.of(found.sources),
            version=None if found is None else found.version,
            date=None if found is None else found.date,
            learns_from_views=learns,
            boosts=catalogue.boost,
        )

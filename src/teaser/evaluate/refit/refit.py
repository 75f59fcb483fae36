"""The next model: fitted to the data set and the views of the site, judged, and put into place."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from teaser.artifact import read_manifest
from teaser.data.dataset import Dataset
from teaser.data.tags import Tag
from teaser.errors import ArtifactError, ResourceError
from teaser.evaluate.choose import fit as choose_fit
from teaser.evaluate.refit.gate import GateLimits, Measured, NamesKept
from teaser.evaluate.refit.history import ACCEPTED, FORCED, KEEP, REFUSED, Entry, History, facts_of
from teaser.evaluate.refit.measure import (
    Array,
    HeldOut,
    accuracy_of,
    compared,
    coverage_of,
    lists_of,
)
from teaser.evaluate.refit.site_interactions import SiteInteractions, join
from teaser.model import load
from teaser.model.teaser import Teaser
from teaser.progress import Update

# What must not shrink by more than the limit, where it is known of the present model.
SIZES = ("bytes", "users", "interactions")


@dataclass(frozen=True)
class RefitOptions:
    """How a refit works.

    Parameters
    ----------
    limits
        How much worse the next model may be.
    choose
        Whether to choose the recipe anew; else the parameters of the present model are taken.
    force
        Whether to serve the next model even if it is worse.
    keep
        Of how many models copies are kept, beside the served one.
    rng
        Seed of the held-out people.
    """

    limits: GateLimits = field(default_factory=GateLimits)
    choose: bool = False
    force: bool = False
    keep: int = KEEP
    rng: int = 0


def refit(
    folder: Path,
    dataset: Dataset,
    site: SiteInteractions,
    *,
    dataset_path: str | None = None,
    options: RefitOptions | None = None,
    callback: Update | None = None,
) -> tuple[Entry, Measured]:
    """Fit the next model of a folder, and put it there unless it is worse.

    Parameters
    ----------
    folder
        The folder of the present model, which is replaced by one rename.
    dataset
        The data set as it is now.
    site
        What people viewed on the site.
    dataset_path
        The folder of the data set, to be kept in the model.
    callback
        Called with what is being done and the share of the work that is done.

    Returns
    -------
    entry, measured
        The entry in the history, with the verdict and its reasons; and what was measured.

    Raises
    ------
    ArtifactError
        If another refit is running, or another model was saved in the folder meanwhile.
    """
    options, report = options or RefitOptions(), callback or (lambda _what, _share: None)
    history = History(folder)
    with history.locked():
        before = read_manifest(folder)
        present, earlier = load(folder, Teaser), history.served()
        work = _Work(present, dataset, site, options, report)
        candidate = work.fit(dataset_path)
        with history.draft() as draft:
            candidate.save(draft)
            facts = {**facts_of(candidate, draft), **work.counts()}
            old = {**facts_of(present, folder), **({} if earlier is None else earlier.facts)}
            sizes = {name: (old.get(name), facts[name]) for name in SIZES}
            measured = work.measure(candidate, None if earlier is None else earlier.views_until)
            measured = replace(measured, sizes=sizes)
            reasons = tuple(options.limits.reasons(measured))
            verdict = (FORCED if options.force else REFUSED) if reasons else ACCEPTED
            if read_manifest(folder) != before:
                raise ArtifactError(
                    f"Another model was saved in {folder} meanwhile, which the next one was not "
                    "compared with. Nothing was changed: refit again."
                )
            history.add_present()
            entry = history.add(
                draft,
                verdict,
                reasons=reasons,
                facts=facts,
                views_until=float(site.times.max()) if len(site.times) else None,
                report=measured.as_dict(),
            )
        if verdict != REFUSED:
            history.publish(entry)
        history.prune(options.keep)
    report("done", 1.0)
    return entry, measured


@dataclass(frozen=True, eq=False)
class _Work:
    """A present model, and what the next one learns from."""

    present: Teaser
    dataset: Dataset
    site: SiteInteractions
    options: RefitOptions
    report: Update

    @cached_property
    def joint(self) -> Dataset:
        """The data set with all people of the site."""
        return join(self.dataset, self.site)

    def counts(self) -> dict[str, int]:
        """Return how much the next model learns from."""
        return {
            "users": self.joint.n_users,
            "interactions": int(self.joint.X.nnz),
            "visitors": self.site.n_people,
            "views": int(self.site.X.nnz),
        }

    def fit(self, dataset_path: str | None) -> Teaser:
        """Fit the candidate, which begins from the present model and keeps names of groups."""
        present, options = self.present, self.options
        self.report("fitting the next model", 0.1)
        if options.choose:
            candidate = choose_fit(self.joint, rng=options.rng, start=present)
        else:
            candidate = present.clone()
            short = candidate.estimate(self.joint).shortage()
            if short is not None:
                raise ResourceError(f"The next model cannot be fitted here: {short}.")
            candidate.fit(self.joint, start=present)
            candidate.recipe_ = present.recipe_
        candidate.dataset_path_ = dataset_path
        return candidate

    def measure(self, candidate: Teaser, views_until: float | None) -> Measured:
        """Compare the candidate with the present model.

        Parameters
        ----------
        views_until
            Up to when views of the site taught the present model; None if none did.
        """
        held = HeldOut.draw(self.joint, self.dataset.n_users, rng=self.options.rng)
        names = _names_kept(self.present, candidate, self.site.pressed)
        if held is None:
            return Measured(None, None, {}, None, *names)
        rng, items = self.options.rng, self.joint.items
        before, after = self._twin_values(held, candidate, views_until)
        self.report("comparing the models", 0.9)
        lists = [lists_of(model, held.fold, items) for model in (self.present, candidate)]
        own = [accuracy_of(each, held.fold) for each in lists]
        return Measured(
            compared(before, after, rng=rng),
            compared(*own, rng=rng),
            held.by_origin(before, after, rng=rng),
            (coverage_of(lists[0], len(items)), coverage_of(lists[1], len(items))),
            *names,
        )

    def _twin_values(
        self, held: HeldOut, candidate: Teaser, views_until: float | None
    ) -> tuple[Array, Array]:
        """Return the accuracy of each held-out person with the twins of both models."""
        self.report("fitting the twin of the next model", 0.4)
        after = held.values(held.fit_twin(candidate, self.joint))
        # What the present model learned from, as far as it is still there.
        known = join(self.dataset, self.site.until(-1.0 if views_until is None else views_until))
        if known.X.nnz == self.joint.X.nnz and candidate.parameters() == self.present.parameters():
            return after, after
        self.report("fitting the twin of the present model", 0.65)
        return held.values(held.fit_twin(self.present, known)), after


def _names_kept(
    present: Teaser, candidate: Teaser, pressed: Mapping[str, int]
) -> tuple[NamesKept, NamesKept, NamesKept | None]:
    """Return how many items, tags, and presses of visitors on tags are kept."""
    old, new = present.tag_table_.index, candidate.tag_table_.index
    tags = NamesKept(len(present.tags_), len(candidate.tags_), sum(t in new for t in present.tags_))
    parsed = {Tag.parse(text): n for text, n in pressed.items()}
    before = sum(n for tag, n in parsed.items() if tag in old)
    after = sum(n for tag, n in parsed.items() if tag in new)
    kept = sum(n for tag, n in parsed.items() if tag in old and tag in new)
    presses = NamesKept(before, after, kept) if parsed else None
    return NamesKept.of(present.items_, candidate.items_), tags, presses

"""Fit a model whose recipe is chosen on held-out users."""

from typing import Any

import numpy as np

from teaser.data.dataset import Dataset
from teaser.evaluate.plan import FitPlan, make_plan
from teaser.evaluate.recipe import AUTO
from teaser.evaluate.search import Search
from teaser.model.extensions.groups import Groups
from teaser.model.solve import share_solved
from teaser.model.teaser import Teaser
from teaser.progress import Update, progress_bar


def fit(
    dataset: Dataset,
    *,
    recipe: str = AUTO,
    rng: int | np.random.Generator = 0,
    start: Teaser | None = None,
    previous: Groups | None = None,
    callback: Update | None = None,
    progress: bool = False,
    **given: Any,
) -> Teaser:
    """Return a fitted model whose recipe was chosen on held-out users; `recipe_` says why.

    The recipes are `"paper"`, the paper's model; `"weighted"`, with weights; `"discovered"`, with
    discovered tags too; `"neighbours"`, with a remainder of neighbours too. Each is fitted to
    nine tenths of the users at a coarse tolerance, with a few penalties, and measured on the
    others. The most readable recipe within 2 % of the most accurate is fitted to all users.

    Parameters
    ----------
    recipe
        `"auto"` to choose, or the name of one recipe, of which the penalties are chosen.
        `"paper"` has its defaults.
    rng
        Seed of the held-out users and of the fits.
    start
        An earlier model to begin from; see `Teaser.fit`.
    previous
        Groups of an earlier model, whose names are kept; those of `start` by default.
    callback
        Called with what is being done and the share of the work that is done.
    progress
        Whether to show a bar, in a notebook or a terminal; a `callback` takes its place.
    given
        Parameters of `Teaser`, which every recipe takes as they are. With `l2_weights` or
        `l2_encoder` nothing is tried: `"auto"` is then a plain fit of these parameters.

    Raises
    ------
    ResourceError
        If no recipe fits into the memory of this machine.
    """
    plan = make_plan(dataset, recipe=recipe, rng=rng, **given)
    with progress_bar("preparing", show=progress and callback is None) as update:
        return run_plan(plan, start=start, previous=previous, callback=callback or update)


def run_plan(
    plan: FitPlan,
    *,
    start: Teaser | None = None,
    previous: Groups | None = None,
    callback: Update | None = None,
) -> Teaser:
    """Return the model of a plan, fitted; for the parameters see `fit`."""
    report = callback or (lambda _what, _share: None)
    if previous is None and start is not None:
        previous = start.groups_
    if plan.split is None:
        model, found = plan.model(), plan.stated
    else:
        model, found, start = Search(plan, report, previous).run(start)
    said = f"fitting {found.chosen} to all users"
    report(said, plan.done)

    done = plan.done

    def residual(iteration: int, size: float) -> None:
        nonlocal done
        done = max(done, plan.done + (1 - plan.done) * share_solved(size, model.tol))
        report(f"{said}: iteration {iteration}, residual {size:.1e}", done)

    model.fit(plan.dataset, start=start, previous=previous, callback=residual)
    model.recipe_ = found
    report("done", 1.0)
    return model

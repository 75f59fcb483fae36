"""Measure a fit of 100,000 items x 3,000 tags and 20 M interactions, in time and memory.

Asked for, also with a remainder of neighbours (`--remainder 100`), and how long it takes to find
discovered tags (`--discovered`). Each runs in a process of its own, whose peak memory is reported;
the Gram is never held as an items x items array.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import Any

from apart import clocked, measure_apart, parse, run_part, warm_up
from generated import generated, named
from report import report

from teaser import Dataset, Teaser
from teaser.extensions import DiscoveredTags, Remainder
from teaser.model.extensions.discovered import discover


def data(chosen: argparse.Namespace) -> Dataset:
    return named("small" if chosen.quick else "100k")


def fit(chosen: argparse.Namespace, remainder: Remainder | None = None) -> dict[str, Any]:
    dataset = data(chosen)
    warm_up()
    model = Teaser(gram="sparse", tol=chosen.tol, remainder=remainder)
    if remainder is not None:
        _warm(lambda tiny: Teaser(gram="sparse", tol=0.5, remainder=remainder).fit(tiny))
    expected = model.estimate(dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, took = clocked(lambda: model.fit(dataset))
    return {
        **took,
        "foreseen GB": expected.total_memory / 1e9,
        "foreseen s": expected.seconds,
        "iterations": model.iterations_,
        "residual": model.residual_,
        **sizes(dataset),
    }


def fit_remainder(chosen: argparse.Namespace) -> dict[str, Any]:
    return fit(chosen, Remainder(neighbours=chosen.remainder))


def find_groups(chosen: argparse.Namespace) -> dict[str, Any]:
    dataset, options = data(chosen), DiscoveredTags()
    _warm(lambda tiny: discover(tiny, DiscoveredTags(grains=(10,), factors=8)))
    (_, groups), took = clocked(lambda: discover(dataset, options))
    nothing: dict[str, Any] = dict.fromkeys(
        ("foreseen GB", "foreseen s", "iterations", "residual"), ""
    )
    return {**took, **nothing, **sizes(dataset), "groups": len(groups)}


def sizes(dataset: Dataset) -> dict[str, Any]:
    return {
        "users": dataset.n_users,
        "items": dataset.n_items,
        "tags": dataset.n_tags,
        "interactions": int(dataset.X.nnz),
    }


def _warm(work: Callable[[Dataset], object]) -> None:
    """Compile the loops of an extension before the clock runs."""
    work(generated(n_users=200, n_items=100, n_tags=20, n_interactions=1500))


def _tol(text: str) -> float | str:
    return text if text == "settled" else float(text)


def main() -> None:
    parser = parse(__doc__)
    parser.add_argument("--tol", type=_tol, default="settled", help="a number, or settled")
    parser.add_argument("--remainder", type=int, help="also with so many neighbours")
    parser.add_argument("--discovered", action="store_true", help="also the discovered tags")
    parser.add_argument("--without-fit", action="store_true", help="not the fit of tags alone")
    chosen = parser.parse_args()
    if chosen.part:
        parts = {"fit": fit, "remainder": fit_remainder, "discovered tags": find_groups}
        run_part(chosen, parts)
        return
    given = ["--tol", str(chosen.tol), *(["--quick"] if chosen.quick else [])]
    rows = [] if chosen.without_fit else [measure_apart(__file__, "fit", *given)]
    if chosen.remainder:
        more = ["--remainder", str(chosen.remainder)]
        rows.append(measure_apart(__file__, "remainder", *given, *more))
    if chosen.discovered:
        rows.append(measure_apart(__file__, "discovered tags", *given))
    if not rows:
        parser.error("--without-fit needs --remainder or --discovered.")
    one_gram = rows[0]["items"] ** 2 * 4 / 1e9
    name = "large-quick" if chosen.quick else "large"
    facts = {key: rows[0][key] for key in ("users", "items", "tags", "interactions")}
    shown = [{k: row[k] for k in row if k not in {*facts, "groups"}} for row in rows]
    facts |= {"neighbours": chosen.remainder, "groups": rows[-1].get("groups")}
    report(name, shown, **facts, items_x_items_would_be_gb=one_gram)


if __name__ == "__main__":
    main()

"""Measure what is lost when only the largest entries of a remainder are kept.

MovieLens 1M where it is found, else generated; nDCG@100 of 1,000 users outside the training set,
with the paired difference from keeping all.
"""

from typing import Any

from films import parse_films, read_films
from report import report, saved_mb

from teaser import Teaser
from teaser.data.split import split
from teaser.evaluate.protocol import compare, evaluate
from teaser.extensions import Remainder

METRIC = "ndcg@100"
SHARES = (1.0, 0.99, 0.95, 0.9, 0.8, 0.5)
L2_WEIGHTS, L2_ENCODER, L2_REMAINDER = 300.0, 1000.0, 300.0


def main() -> None:
    dataset, said, suffix = read_films(parse_films(__doc__).parse_args())
    parts = split(dataset, n_validation=0, n_test=1000, rng=0)
    rows: list[dict[str, Any]] = []
    whole = None
    for share in SHARES:
        model = Teaser(
            l2_weights=L2_WEIGHTS,
            l2_encoder=L2_ENCODER,
            remainder=Remainder(l2=L2_REMAINDER, neighbours=None, share=share),
        ).fit(parts.training)
        found = evaluate(model, parts.test, metrics=[METRIC], name=f"{share:g}")
        whole = whole or found
        change = compare(whole, found, rng=0)[METRIC]
        rows.append(
            {
                "share of squares": share,
                "entries": model.describe()["remainder"]["entries"],
                "file MB": saved_mb(model),
                METRIC: found.summary()[METRIC].mean,
                "change": change.mean,
                "low": change.low,
                "high": change.high,
            }
        )
    name = f"remainder-size{suffix}"
    penalties = {"l2_weights": L2_WEIGHTS, "l2_encoder": L2_ENCODER, "remainder.l2": L2_REMAINDER}
    report(name, rows, data=said, **penalties)


if __name__ == "__main__":
    main()

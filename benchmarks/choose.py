"""Measure what a fit that chooses costs, compared with one fit of the recipe that it chose.

The data are those of the studies, ML-1M and Amazon Video Games: the training users alone. The
choice is then measured on the validation users; test users are never read. On a shared machine,
the ratio of processor seconds is the claim.
"""

import argparse
from pathlib import Path
from typing import Any

from apart import clocked, warm_up
from report import report

import teaser
from teaser import Teaser
from teaser.data.split import Split
from teaser.evaluate.protocol import evaluate
from teaser.evaluate.study.plan import Study
from teaser.evaluate.study.run import StudyRun

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
STUDIES = ("ml-1m", "amazon-video-games")


def measure(name: str, split: Split) -> dict[str, Any]:
    """Return what choosing and one fit of the chosen recipe took."""
    model, choosing = clocked(lambda: teaser.fit(split.training))
    alone, fitting = clocked(lambda: Teaser(**model.parameters()).fit(split.training))
    record = model.recipe_
    if record is None:
        raise RuntimeError("teaser.fit left no record")
    accuracy = {
        of: evaluate(each, split.validation, metrics=["ndcg@100"]).summary()["ndcg@100"].mean
        for of, each in (("chosen", model), ("alone", alone))
    }
    print(record.why, flush=True)
    return {
        "study": name,
        "chosen": record.chosen,
        "trials": len(record.tried),
        "choosing s": choosing["seconds"],
        "one fit s": fitting["seconds"],
        "times one fit": choosing["seconds"] / fitting["seconds"],
        "processor s": choosing["processor s"],
        "times, processor": choosing["processor s"] / fitting["processor s"],
        "nDCG@100": accuracy["chosen"],
        "alone": accuracy["alone"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"), help="the public data sets")
    parser.add_argument("--study", nargs="*", default=STUDIES, help="which studies")
    chosen = parser.parse_args()
    warm_up()
    rows = []
    for name in chosen.study:
        study = Study.read(EXPERIMENTS / f"{name}.toml")
        rows.append(measure(name, StudyRun.start(study, data=chosen.data).split))
        report("choose", rows)


if __name__ == "__main__":
    main()

"""The record of a choice: its table, its best trials, and its plain form."""

import json

from teaser.evaluate import Recipe, Trial
from teaser.model.recipe import best_trial

TRIED = (
    Trial("Popularity", ndcg=0.1, share=0.2),
    Trial("EASE", ndcg=0.5, share=1.0),
    Trial(
        "paper",
        {"l2_weights": 200.0},
        0.24,
        0.48,
        {"general": 0.7, "declared": 0.3},
        1.0,
        truth={"known": 3.1, "agreement": None, "with_reason": 0.98},
    ),
    Trial("weighted", ndcg=0.23, share=0.46),
    Trial("discovered", {"l2_encoder": 300.0}, 0.44, 0.88),
    Trial("discovered", {"l2_encoder": 3000.0}, 0.465, 0.93),
    Trial("neighbours", reason="it needs 80.0 GB, and this machine has 16.0 GB"),
)


def test_of_one_recipe_the_most_accurate_is_the_best() -> None:
    found = best_trial(t for t in TRIED if t.name == "discovered")
    assert found is TRIED[5]
    assert best_trial(()) is None
    record = Recipe(TRIED, "discovered", "")
    assert [t.name for t in record.table()] == list(dict.fromkeys(t.name for t in TRIED))
    assert record.best("neighbours") is TRIED[-1]
    assert record.best("other") is None


def test_the_record_survives_json() -> None:
    record = Recipe(TRIED, "discovered", "Because.", n_users=50)
    assert Recipe.from_dict(json.loads(json.dumps(record.as_dict()))) == record

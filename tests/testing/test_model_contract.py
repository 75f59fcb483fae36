"""The contract that is shipped: it passes a sound model and finds what is wrong with others."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from teaser import Dataset, Teaser
from teaser.baselines import Popularity
from teaser.testing import ModelContract, TaggedModelContract, example_dataset


class Shaken(Popularity):
    """A model whose scores differ each time it is asked."""

    def score_batch(self, X: Any) -> Any:
        return super().score_batch(X) + np.random.default_rng().random()


class Greedy(Popularity):
    """A model that recommends what was viewed already."""

    def recommend_batch(self, histories: Any, **how: Any) -> Any:
        return super().recommend_batch(histories, **{**how, "exclude_history": False})


class Careless(Popularity):
    """A model that takes anything for a data set."""

    def fit(self, dataset: Any) -> Any:
        return super().fit(dataset if isinstance(dataset, Dataset) else example_dataset())


@pytest.mark.parametrize(
    ("model", "check"),
    [
        (Shaken, "test_a_batch_equals_its_single_users"),
        (Greedy, "test_the_history_is_left_out_unless_asked_for"),
        (Careless, "test_only_a_data_set_can_be_learned_from"),
    ],
)
def test_a_model_that_breaks_the_contract_is_found(model: Any, check: str) -> None:
    contract = ModelContract()
    getattr(contract, check)(Popularity().fit(example_dataset()))
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(contract, check)(model().fit(example_dataset()))


def test_reasons_that_do_not_add_up_are_found() -> None:
    class Boastful(Teaser, abstract=True):
        def score_state(self, state: Any) -> Any:
            return 2 * super().score_state(state)

    with pytest.raises(AssertionError):
        TaggedModelContract().test_contributions_sum_to_what_the_reasons_cover(
            Boastful().fit(example_dataset())
        )


def test_the_library_itself_does_without_pytest() -> None:
    code = "import sys, teaser; teaser.steer.similar; sys.exit('pytest' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_test_class_of_three_lines_runs_the_contract(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "from teaser.model import Popularity\n"
        "from teaser.testing import ModelContract\n"
        "class TestMine(ModelContract):\n"
        "    def make(self):\n"
        "        return Popularity()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout

"""What a joint remainder refuses, before any work: options, precision, memory, a wrong ridge."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import teaser
from teaser import Dataset, Teaser
from teaser.errors import ArtifactError, ParameterError, ResourceError
from teaser.extensions import LearnedDecoder, Remainder, SparseEncoder
from teaser.model.baselines.ease import EASE
from teaser.model.extensions import remainder as module
from teaser.model.extensions.remainder import (
    estimate_remainder,
)
from teaser.model.gram import cost


def test_a_remainder_of_another_size_is_refused(remainder_model: Teaser, tmp_path: Path) -> None:
    remainder_model.save(tmp_path / "m")
    content = teaser.artifact.read(tmp_path / "m")
    teaser.artifact.write(
        tmp_path / "m", kind=content.kind, settings=content.settings,
        arrays={**content.arrays, "remainder": np.zeros((3, 3))}, tables=content.tables,
    )  # fmt: skip
    with pytest.raises(ArtifactError, match="remainder is not of the items"):
        teaser.load(tmp_path / "m")


def test_what_was_prepared_for_another_ridge_is_refused(dataset: Dataset) -> None:
    system = Teaser(l2_weights=5.0, remainder=Remainder(neighbours=None, l2=20.0)).prepare(dataset)
    with pytest.raises(ParameterError, match="ridge of 25 and the model has a ridge of 30"):
        Teaser(l2_weights=5.0, remainder=Remainder(neighbours=None, l2=25.0)).fit(
            dataset, system=system
        )
    with pytest.raises(ParameterError, match="ridge of 25 and the model has no inverse"):
        Teaser(l2_weights=5.0).fit(dataset, system=system)
    plain = Teaser(l2_weights=5.0).prepare(dataset)
    with pytest.raises(ParameterError, match="no inverse and the model has a ridge of 25"):
        Teaser(l2_weights=5.0, remainder=Remainder(neighbours=None, l2=20.0)).fit(
            dataset, system=plain
        )


def test_options_that_exclude_each_other_are_refused_with_the_reason() -> None:
    for options, said in (
        (Remainder(neighbours=0), r"remainder\.neighbours must be a whole number of at least 1"),
        (Remainder(neighbours=2.5), r"remainder\.neighbours"),  # type: ignore[arg-type]
        (Remainder(rounds=0), r"remainder\.rounds"),
        (Remainder(neighbours=None, rounds=2), "rounds=2 needs neighbours.*jointly"),
        (Remainder(share=0.5), "share=0.5 is for neighbours=None.*100 neighbours is sparse"),
    ):
        with pytest.raises(ParameterError, match=said):
            options.check()
    for fine in (Remainder(), Remainder(neighbours=None, share=0.5), Remainder(rounds=3)):
        fine.check()
    assert Remainder() == Remainder(l2=50.0, neighbours=100, rounds=1, share=1.0)


def test_rounding_does_not_decide_a_remainder_of_neighbours(dataset: Dataset) -> None:
    with pytest.raises(ParameterError, match="rounding"):
        Remainder(l2=1e8, neighbours=None).check_precision(5.0, dataset.X, "float32")
    Remainder(l2=1e8).check_precision(5.0, dataset.X, "float32")


def test_a_senseless_penalty_is_refused(dataset: Dataset) -> None:
    wrong: list[Any] = [0, -1.0, np.inf, np.nan, True, "5"]
    for k in wrong:
        with pytest.raises(ParameterError, match=r"remainder\.l2"):
            Teaser(remainder=Remainder(neighbours=None, l2=k)).fit(dataset)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"remainder": Remainder(neighbours=None, share=0.0)}, r"remainder\.share"),
        ({"remainder": Remainder(neighbours=None, share=1.5)}, r"remainder\.share"),
        ({"remainder": {"l2": 5.0}}, "remainder must be a Remainder object"),
        ({"solver": "admm"}, "found solver='admm'"),
        ({"gram": "sparse"}, "as an array, found gram='sparse'"),
        ({"decoder": LearnedDecoder()}, "together with decoder"),
        ({"sparse": SparseEncoder()}, "together with sparse"),
    ],
)
def test_contradictions_are_refused_before_any_work(
    dataset: Dataset, settings: dict[str, Any], said: str
) -> None:
    for work in ("fit", "prepare", "estimate"):
        with pytest.raises(ParameterError, match=said):
            getattr(Teaser(**{"remainder": Remainder(neighbours=None, l2=5.0), **settings}), work)(
                dataset
            )


def test_what_does_not_fit_is_refused_with_the_numbers(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        pytest.fail("something was counted before the refusal")

    monkeypatch.setattr(cost, "memory_of_machine", lambda: 20_000)
    monkeypatch.setattr(module, "build_gram", refuse)
    model = Teaser(remainder=Remainder(neighbours=None, l2=5.0), dtype="float64")
    said = r"40 items needs 26 kB for 2 items x items arrays .* has 20 kB. Use dtype='float32'"
    with pytest.raises(ResourceError, match=said):
        model.prepare(dataset)
    with pytest.raises(ResourceError, match=r"13 kB for 1 items x items array "):
        model.fit(dataset)
    with pytest.raises(ResourceError, match="or no remainder"):
        model.fit(dataset)


def test_the_estimate_counts_the_inverse(dataset: Dataset) -> None:
    plain = Teaser(gram="dense").estimate(dataset)
    found = Teaser(remainder=Remainder(neighbours=None, l2=5.0)).estimate(dataset)
    assert found.gram == "dense"
    assert found.memory["items x items"] == 40 * 40 * 4
    assert found.total_memory == plain.total_memory
    few = Teaser(remainder=Remainder(neighbours=None, l2=5.0, share=0.5)).estimate(dataset)
    assert few.memory["sparse remainder"] == 0.5 * 40 * 40 * 8
    large = estimate_remainder(plain, 30_000, "float32", Remainder(neighbours=None))
    assert large.seconds > plain.seconds + 1


def test_warnings_stay_warnings(dataset: Dataset) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = Teaser(remainder=Remainder(neighbours=None, l2=20.0), max_iter=1, tol=1e-5).fit(
            dataset
        )
    assert not model.converged_
    assert any("Stopped after 1 iterations" in str(w.message) for w in caught)


def test_a_k_that_single_precision_cannot_hold_is_refused_before_any_work(
    dataset: Dataset,
) -> None:
    with pytest.raises(ParameterError, match=r"remainder\.l2=1e\+08 is more than 1,000 times"):
        Teaser(remainder=Remainder(neighbours=None, l2=1e8)).fit(dataset)
    plain = Teaser(dtype="float64", tol=1e-9).fit(dataset)
    large = Teaser(remainder=Remainder(neighbours=None, l2=1e8), dtype="float64", tol=1e-9).fit(
        dataset
    )
    assert_allclose(large.encoder_, plain.encoder_, atol=1e-5 * np.abs(plain.encoder_).max())


def test_room_is_wanted_for_what_is_kept_too(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    need = dataset.n_items**2 * 4
    rest = 7 * dataset.n_items * (dataset.n_tags + 1) * 4 + 3 * (dataset.n_tags + 1) ** 2 * 8
    limits = {"free_on_gpu": need + rest}
    monkeypatch.setattr(
        module, "check_room", lambda *args, **named: cost.check_room(*args, **{**named, **limits})
    )
    Teaser(remainder=Remainder(neighbours=None, l2=50.0)).fit(dataset)
    with pytest.raises(ResourceError, match="A remainder of"):
        Teaser(remainder=Remainder(neighbours=None, l2=50.0, share=0.999)).fit(dataset)


def test_an_inverse_of_another_ridge_is_refused(dataset: Dataset) -> None:
    system: Any = Teaser(l2_weights=20.0, remainder=Remainder(neighbours=None, l2=480.0)).prepare(
        dataset
    )
    EASE(l2_weights=500.0).fit(dataset, inverse=system.inverse)
    with pytest.raises(ParameterError, match=r"not that of X'X \+ 77 I"):
        EASE(l2_weights=77.0).fit(dataset, inverse=system.inverse)

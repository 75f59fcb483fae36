"""The trials of a plan."""

from typing import Any

import pytest
from choose_data import record_of

import teaser
from teaser import Dataset, Teaser
from teaser.errors import ResourceError, SolverError
from teaser.evaluate import search as module


def test_a_recipe_that_fails_is_left_out_with_its_reason(
    many: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = Teaser.fit

    def broken(self: Teaser, *given: Any, **named: Any) -> Any:
        if self.remainder is not None:
            raise SolverError("No solution here.")
        return fit(self, *given, **named)

    monkeypatch.setattr(Teaser, "fit", broken)
    model = teaser.fit(many)
    assert record_of(model).best("neighbours").reason == "No solution here."
    assert record_of(model).chosen in ("paper", "weighted", "discovered")
    with pytest.raises(ResourceError, match=r"No recipe could be fitted.*No solution here"):
        teaser.fit(many, recipe="neighbours")


def test_large_catalogues_are_compared_with_ease_on_neighbours(
    many: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EASE_ITEMS", many.n_items - 1)
    record = record_of(teaser.fit(many, recipe="weighted"))
    assert record.yardstick == "NeighbourEASE"
    assert record.best("NeighbourEASE").share == 1.0
    assert "of NeighbourEASE here" in record.why

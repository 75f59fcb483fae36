"""What tests of the fit that chooses share."""

from typing import Any

from teaser import Teaser


def record_of(model: Teaser) -> Any:
    assert model.recipe_ is not None
    return model.recipe_

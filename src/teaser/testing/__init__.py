"""The contract that every model must meet, as pytest classes to inherit from.

To test a model of your own, name a class `Test...`, inherit from `ModelContract` (or from
`TaggedModelContract` for a model with tags) and say how to make the model:

    from teaser.testing import ModelContract

    class TestMyModel(ModelContract):
        def make(self) -> MyModel:
            return MyModel(l2=5.0)

pytest then runs every check on a small data set of 40 events, which `example_dataset` returns.
Only this module needs pytest. For readable failures, put
`pytest.register_assert_rewrite("teaser.testing")` into your conftest.py.
"""

from teaser.testing.contract import (
    ListContract,
    ModelContract,
    TaggedModelContract,
    assert_same_lists,
    user_histories,
)
from teaser.testing.example import RULES, example_dataset, example_tables

__all__ = [
    "RULES",
    "ListContract",
    "ModelContract",
    "TaggedModelContract",
    "assert_same_lists",
    "example_dataset",
    "example_tables",
    "user_histories",
]

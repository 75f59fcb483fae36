"""Compiled functions give what Python gives, also where there is no folder to keep them in."""

import subprocess
import sys
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from teaser.model.compiled.compiler import compiled


def _total(values: Any) -> Any:
    total = 0.0
    for value in values:
        total += value
    return total


def test_compiled_sums_are_those_of_python() -> None:
    values = np.random.default_rng(0).standard_normal(1000)
    assert compiled(_total)(values) == _total(values.tolist())
    assert_allclose(compiled(_total, reorder=True)(values), _total(values.tolist()), rtol=1e-9)


NOWHERE = """
import warnings
warnings.simplefilter("error")
from numba.core import caching
def refuse(*arguments):
    raise RuntimeError("cannot cache function: no locator available")
caching.FunctionCache.__init__ = refuse
import numpy as np, scipy.sparse as sp
from teaser.model.gram.operator import SparseGram, kernels
assert kernels() is not None
gram = SparseGram(sp.csr_array(np.eye(3)), np.dtype("float32"))
assert (gram.apply(np.ones((3, 2), np.float32)) == 1).all()
"""


def test_where_nothing_can_be_written_the_loops_are_compiled_anew() -> None:
    """As in an installation that is read-only, of a user without a home."""
    subprocess.run([sys.executable, "-c", NOWHERE], check=True)

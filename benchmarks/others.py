"""What others do with the same interactions: EASE by LAPACK, and ALS by `implicit`."""

import warnings
from typing import Any

import scipy.sparse as sp
from apart import clocked

from teaser import Dataset
from teaser.baselines import EASE

SAID = {
    "ease": "EASE by LAPACK in double precision",
    "als": "implicit's ALS, 128 factors, 15 rounds",
}


def ease(dataset: Dataset, l2: float) -> dict[str, Any]:
    """Fit EASE in double precision; return what that took."""
    return clocked(lambda: EASE(l2=l2, dtype="float64").fit(dataset))[1]


def als(dataset: Dataset) -> dict[str, Any]:
    """Fit 128 factors by alternating least squares; return what that took."""
    from implicit.als import AlternatingLeastSquares

    X = sp.csr_matrix(dataset.X.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AlternatingLeastSquares(factors=128, iterations=15, random_state=0)
        return clocked(lambda: model.fit(X, show_progress=False))[1]

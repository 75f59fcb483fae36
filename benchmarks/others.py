"""What others do with the same interactions: EASE by LAPACK, and ALS by `implicit`."""

import warnings
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from apart import clocked

from teaser import Dataset

SAID = {
    "ease": "EASE by LAPACK in double precision",
    "als": "implicit's ALS, 128 factors, 15 rounds",
}


def ease(dataset: Dataset, l2: float) -> dict[str, Any]:
    """Fit EASE in double precision; return what that took."""
    X = dataset.X.astype(np.float64)

    def work() -> None:
        G = (X.T @ X).toarray()
        G[np.diag_indices_from(G)] += l2
        half = scipy.linalg.cho_factor(G, overwrite_a=True, check_finite=False)
        C = scipy.linalg.cho_solve(half, np.eye(len(G)), overwrite_b=True, check_finite=False)
        C /= -C.diagonal()
        C[np.diag_indices_from(C)] = 0

    return clocked(work)[1]


def als(dataset: Dataset) -> dict[str, Any]:
    """Fit 128 factors by alternating least squares; return what that took."""
    from implicit.als import AlternatingLeastSquares

    X = sp.csr_matrix(dataset.X.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AlternatingLeastSquares(factors=128, iterations=15, random_state=0)
        return clocked(lambda: model.fit(X, show_progress=False))[1]

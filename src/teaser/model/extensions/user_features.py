"""User features: further rows of the encoder, one for each, beside those of the items.

With p user features in a binary matrix Q (users x p), the encoder gets p more rows, and

    |X - [X Q] P(E D')|^2 + l1 |P(E D')|^2 + l2 |E|^2

is the objective of TEASER for the interactions [X Q] and a decoder with p rows of zeros below:
only rows of items have a diagonal to remove. These rows hold what a feature *adds to a history*.
They are too small for a user without a history, since every user they were learned from has one.
What a feature predicts *on its own* minimises the same without X on the right,

    |X - Q N D'|^2 + l1 |N D'|^2 + l2 |N|^2,    (Q'Q + l1 I) N D'D + l2 N = Q'X D,

which the eigenvectors of Q'Q and D'D solve in closed form. A profile moves from N to E as the
history grows. With weights (model/gram.py) it is (Q'wQ + L_Q) N D'D + l2 N = Q'wX C D, in
which D is C times the decoder.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from teaser.artifact import Content
from teaser.data.dataset import Dataset
from teaser.data.metadata import UserFeatures
from teaser.data.tags import Tag, resolve_tag, tag_frame, tags_from
from teaser.errors import ParameterError
from teaser.model._arrays import as_dense, to_host
from teaser.model.gram import weigh_users
from teaser.model.solve import System
from teaser.model.tables import Packed
from teaser.profile import POPULARITY

Array = NDArray[Any]
About = Iterable[Tag | str]  # the features of one user
ManyAbout: TypeAlias = Any  # a list with the features of each user, or a binary matrix


@dataclass(frozen=True, eq=False)
class UserRows:
    """What a model learned of the user features.

    Attributes
    ----------
    tags
        The features, in the order of the rows.
    encoder
        E's rows: what each adds to the raw scores of a user with a history (features x tags).
    alone
        N: the raw scores that each gives a user without a history (features x tags).
    """

    tags: tuple[Tag, ...]
    encoder: Array = field(repr=False)
    alone: Array = field(repr=False)

    @cached_property
    def index(self) -> dict[Tag, int]:
        """The row of each feature."""
        return {tag: i for i, tag in enumerate(self.tags)}

    def encode(self, known: sp.csr_array, lengths: Array) -> Array:
        """Return what features add to the raw scores of users with histories of these lengths."""
        share = alone_share(lengths)[:, None]
        together = known.astype(np.float64)
        # w N_f + (1 - w) E_f, summed over the tags f of each user (users x tags).
        return np.asarray(share * (together @ self.alone) + (1 - share) * (together @ self.encoder))

    def mean(self, known: sp.csr_array, lengths: Array) -> Array:
        """Return the mean of `encode` over users (tags), without an array for each user."""
        share, n_users = alone_share(lengths), max(1, known.shape[0])
        together = known.astype(np.float64).T
        total = (together @ share) @ self.alone + (together @ (1 - share)) @ self.encoder
        return np.asarray(total / n_users)

    def origins(self, known: Sequence[int], direction: Array, length: int) -> dict[Tag, float]:
        """Return what each feature adds to p.c for a direction c (tags)."""
        share = float(alone_share(np.array(length)))
        parts = share * (self.alone.astype(np.float64) @ direction)
        parts += (1 - share) * (self.encoder.astype(np.float64) @ direction)
        return {self.tags[i]: float(parts[i]) for i in known}

    def pack(self) -> Packed:
        """Return arrays and tables to be saved."""
        arrays = {"user_features.encoder": self.encoder, "user_features.alone": self.alone}
        return Packed(arrays=arrays, tables={"user_tags": tag_frame(self.tags)})

    @classmethod
    def unpack(cls, content: Content, n_tags: int) -> Self | None:
        """Return what `pack` gave, or None where there is none."""
        if "user_tags" not in content.tables:
            return None
        tags = tags_from(content.tables["user_tags"])
        names = ("user_features.encoder", "user_features.alone")
        encoder, alone = (np.array(content.arrays[name]) for name in names)
        if {encoder.shape, alone.shape} != {(len(tags), n_tags)}:
            raise ValueError("its rows of user features are of different sizes")
        return cls(tags, encoder, alone)


def alone_share(lengths: Array) -> Array:
    """Return the share of N beside E, 2 / (2 + length^2): 1, 2/3, 1/3, 2/11, ..."""
    return np.asarray(2.0 / (2.0 + np.square(lengths, dtype=np.float64)))


def learned_features(model: Any, dataset: Dataset) -> UserFeatures | None:
    """Return the user features of a data set, where a Teaser is to learn from them."""
    if dataset.user_features is None or not model.user_features:
        return None
    if model.joint_remainder is not None:
        raise ParameterError(
            "The data set has user features, which cannot be learned together with a full "
            "remainder: its closed form has rows of items alone. Use neighbours, as in "
            "Remainder(neighbours=100), or leave the features out, with user_features=False."
        )
    return dataset.user_features


def learn_user_rows(
    features: UserFeatures | None,
    X: sp.csr_array,
    encoder: Any,
    system: System,
    D: sp.csr_array,
    *,
    l1: float,
    l2: float,
    user_power: float = 0.0,
) -> UserRows | None:
    """Return the rows of the user features: those below the items' rows of E, and N.

    Parameters
    ----------
    X
        Interactions, users x items.
    encoder
        E with all rows, those of the user features last.
    system
        The system that was solved.
    D
        The decoder of the system (items x tags) in double precision, without weights of columns.
    user_power
        Of the weights of users.
    """
    if features is None:
        return None
    n_items = X.shape[1]
    both = weigh_users(
        stack_interactions(X, features), user_power, np.dtype(np.float64), n_items=n_items
    )
    c = to_host(system.column_weight)[:n_items].astype(np.float64)
    alone = learn_alone(
        both[:, n_items:],
        both[:, :n_items],
        sp.csr_array(D.multiply(np.square(c)[:, None])),
        basis=(to_host(system.V), to_host(system.eta)),
        penalty=l1 * to_host(system.row_penalty)[n_items:].astype(np.float64),
        l2=l2,
    )
    together = as_dense(encoder[n_items:]).copy()
    return UserRows(features.tags, together, alone.astype(encoder.dtype))


def learn_alone(
    known: sp.csr_array,
    X: sp.csr_array,
    D: sp.csr_array,
    *,
    basis: tuple[Array, Array],
    penalty: Array,
    l2: float,
) -> Array:
    """Return N, what each user feature predicts on its own (features x tags).

    Parameters
    ----------
    known
        Q, users x features, its rows times the root of the weights of users, as those of X.
    D
        The decoder, its rows times the squares of the weights of columns.
    basis
        V and eta, the eigenvectors and eigenvalues of D'D, its rows times those weights.
    penalty
        The penalty l1 r_f of each feature.
    """
    Q = known.astype(np.float64)
    V, eta = (np.asarray(part, dtype=np.float64) for part in basis)
    l1 = float(penalty.min(initial=np.inf))
    mu, U = np.linalg.eigh((Q.T @ Q).toarray() + np.diag(penalty - l1))
    # Q'X first: X D would be users x tags.
    right = ((Q.T @ X) @ D).toarray()
    # With the eigenvectors of Q'Q + L_Q on the left and of D'D on the right, both terms in N
    # become products entry by entry: (mu_f + l1) eta_b + l2.
    found = (U.T @ right @ V) / ((mu[:, None] + l1) * eta + l2)
    return np.asarray(U @ found @ V.T)


def stack_interactions(X: Any, features: UserFeatures | None) -> Any:
    """Return [X Q], or X without user features."""
    return X if features is None else sp.csr_array(sp.hstack([X, features.Q], format="csr"))


def match_rows(start: Any, encoder: Any, dataset: Dataset, features: UserFeatures | None) -> Array:
    """Return the encoder of a model in the order of the items and features of a data set.

    Parameters
    ----------
    start
        A fitted model, and `encoder` the rows of its items.
    """
    rows = as_dense(encoder)
    names: list[Any] = list(start.items_[: len(rows)])
    if start.user_encoder_ is not None:
        rows = np.vstack([rows, start.user_encoder_])
        names += start.user_tags_
    wanted: list[Any] = [*dataset.items, *(() if features is None else features.tags)]
    from_rows = _places(names, wanted)
    from_columns = _places(start.tag_table_.learned_tags, (*dataset.tags, POPULARITY))
    # A place of -1 reads the last row or column, which is set to zero after.
    out: Array = rows[np.ix_(from_rows, from_columns)]
    out[from_rows < 0] = 0
    out[:, from_columns < 0] = 0
    return out


def _places(known: Sequence[Any], wanted: Sequence[Any]) -> Array:
    """Return the place of each wanted name among those known, -1 where it is not there."""
    places = {name: place for place, name in enumerate(known)}
    return np.array([places.get(name, -1) for name in wanted], dtype=np.int64)


def place_many_about(given: Any, rows: UserRows | None, n_users: int) -> sp.csr_array | None:
    """Return the features of several users (users x features), or None if none are given.

    Parameters
    ----------
    given
        For each user a list of features, or None; or a binary matrix.
    """
    if given is None:
        return None
    width = 0 if rows is None else len(rows.tags)
    if sp.issparse(given) or isinstance(given, np.ndarray):
        return _checked_matrix(given, (n_users, width))
    if isinstance(given, str | Mapping | Tag) or len(given) != n_users:
        raise ParameterError(
            f"The features of {n_users} users are a list, one list of features for each user; "
            f"found {given!r}."
        )
    places = [place_about(known, rows) for known in given]
    indptr = np.cumsum([0, *map(len, places)])
    indices = np.array([i for row in places for i in row], dtype=np.int64)
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(n_users, width))


def place_about(known: Any, rows: UserRows | None) -> list[int]:
    """Return the rows of the features of one user, each once, in order."""
    if known is None:
        return []
    if isinstance(known, str | Mapping | Tag) or not isinstance(known, Iterable):
        raise ParameterError(
            f"The features of a user are a list such as ['age=25-34'], found {known!r}."
        )
    wanted = list(known)
    if wanted and rows is None:
        raise ParameterError(
            f"This model has no user features, so {wanted[0]} has no meaning. Fit it to a data "
            "set made with users= (--users of teaser prepare), or leave the features out."
        )
    return sorted({resolve_tag(tag, rows.index) for tag in wanted}) if rows else []


def _checked_matrix(given: Any, shape: tuple[int, int]) -> sp.csr_array:
    matrix = sp.csr_array(given if sp.issparse(given) else np.atleast_2d(given), copy=True)
    if matrix.shape != shape or not np.isin(matrix.data, (0, 1)).all():
        raise ParameterError(
            f"User features must be 0 or 1, one row for each of {shape[0]:,} histories and one "
            f"column for each of the model's {shape[1]:,} features; found the shape {matrix.shape}."
        )
    matrix.eliminate_zeros()
    return matrix

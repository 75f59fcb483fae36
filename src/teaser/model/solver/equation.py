"""The equation for the encoder, which is half the gradient of the paper's objective set to zero.

    A(E) = B,    A(E) = P((G + L) P(E D')) D + l2 E,    B = P(G) C D,

where P(M) is M with a zero diagonal, L = l1 dM(r) and C = dM(c) hold the weights of rows and
columns, and D is C times the decoder; without weights L = l1 I and C = I. It is evaluated in
items x tags form only; see docs/users/model.md for the derivation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teaser.model.cuda.steps import finish as finish_there
from teaser.model.cuda.steps import in_rows
from teaser.model.gram.blocks import chunks, each_block, rowdot
from teaser.model.gram.operator import PairGram, SparseGram
from teaser.model.solver.preconditioner import Preconditioner
from teaser.model.solver.system import System

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class EncoderEquation:
    """The equation of a system and the two penalties; the unknowns are F = E V.

    `right` is the right-hand side in the basis of V where it is not B V of the system: beside
    other weights than P(E D'), which explain a part of X already.
    """

    system: System
    l1: float
    l2: float
    right: Array | None = None

    def operator(self, F: Array) -> Array:
        """Return A(F V') V.

        With W = P(E D') D V = F diag(eta) - diag(beta) DV and beta = diag(E D') this is

            (G + L) W - diag(alpha) DV + l2 F,    alpha = diag(G E D') - g beta,

        where alpha is diag((G + L) P(E D')), in which the terms with L cancel. One product
        with G and one with V, or two with a G that takes little time.
        """
        gram = self.system.gram
        return self._operator(F, gram.apply_pair if isinstance(gram, PairGram) else None)

    def rounded_operator(self) -> Callable[[Array], Array] | None:
        """Return the operator with operands rounded to two bytes, where the Gram has that."""
        gram = self.system.gram
        if not isinstance(gram, SparseGram) or not gram.can_round:
            return None
        return lambda F: self._operator(F, gram.apply_pair_rounded)

    def _operator(self, F: Array, pair: Callable[..., tuple[Array, Array]] | None) -> Array:
        system, gram = self.system, self.system.gram
        DV, eta = system.DV, system.eta
        # diag(E D') = diag(F (D V)'), because V is orthogonal.
        beta = rowdot(F, DV)
        if pair is not None:
            out, diagonal = pair(F, DV, eta, beta)
        else:
            out = gram.apply(F)
            # diag(G E D') = diag(G F (D V)'), read before `out` is overwritten.
            diagonal = rowdot(out, DV)
            removed = gram.apply(system.scaled(beta))
            for rows in chunks(F):  # G W = G F diag(eta) - G diag(beta) D V
                out[rows] *= eta
                out[rows] -= removed[rows] @ system.V
            del removed
        L, l2 = system.penalty(self.l1), system.g.dtype.type(self.l2)
        # alpha + L beta: what L W adds of beta DV is taken out here too.
        taken = diagonal + (L - system.g) * beta
        if in_rows(out, F, DV):
            finish_there(out, F, DV, eta, L, l2, taken)
            return out

        def finish(rows: slice) -> None:
            # L F Diag(eta) + l2 F: what L W and l2 E contribute of F.
            own = np.outer(L[rows], eta)
            own += l2
            own *= F[rows]
            out[rows] += own
            out[rows] -= taken[rows, None] * DV[rows]

        each_block(finish, out)
        return out

    def right_hand_side(self) -> Array:
        """Return B V."""
        return self.system.right_hand_side() if self.right is None else self.right.copy()

    def preconditioner(self) -> Callable[[Array], Array]:
        """Return an approximate inverse of the operator."""
        return Preconditioner.build(self.system, l1=self.l1, l2=self.l2).apply

    def unknowns(self, encoder: Array) -> Array:
        """Return F = E V."""
        return self.system.rotate(encoder)

    def encoder(self, F: Array) -> Array:
        """Return E = F V'."""
        return self.system.rotate_back(F)

"""The equation for the encoder, which is half the gradient of the paper's objective set to zero.

    A(E) = B,    A(E) = P((G + L) P(E D')) D + l2 E,    B = P(G) C D,

where P(M) is M with a zero diagonal, L = l1 dM(r) and C = dM(c) hold the weights of rows and
columns, and D is C times the decoder; without weights L = l1 I and C = I. It is evaluated in
items x tags form only; see docs/users/model.md for the derivation.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from teaser.model.gram.blocks import chunks, rowdot
from teaser.model.gram.operator import PairGram, SparseGram
from teaser.model.solver.preconditioner import Preconditioner
from teaser.model.solver.steps import finish
from teaser.model.solver.system import System

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class EncoderEquation:
    """The equation of a system and the two penalties; the unknowns are F = E V.

    `right` is the right-hand side in the basis of V where it is not B V of the system: beside
    other weights than P(E D'), which explain a part of X already. With `is_rounded`, products with
    G have operands rounded to two bytes.
    """

    system: System
    l1: float
    l2: float
    right: Array | None = None
    is_rounded: bool = False

    def operator(self, F: Array) -> Array:
        """Return A(F V') V.

        With W = P(E D') D V = F diag(eta) - diag(beta) DV and beta = diag(E D') this is

            (G + L) W - diag(alpha) DV + l2 F,    alpha = diag(G E D') - g beta,

        where alpha is diag((G + L) P(E D')), in which the terms with L cancel. One product
        with G and one with V, or two with a G that takes little time.
        """
        system, gram = self.system, self.system.gram
        DV, eta = system.DV, system.eta
        # diag(E D') = diag(F (D V)'), because V is orthogonal.
        beta = rowdot(F, DV)
        if self.is_rounded and isinstance(gram, SparseGram):
            out, diagonal = gram.apply_pair_rounded(F, DV, eta, beta)
        elif isinstance(gram, PairGram):
            out, diagonal = gram.apply_pair(F, DV, eta, beta)
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
        # L F diag(eta) + l2 F: what L W and l2 E contribute of F.
        finish(out, F, DV, eta, L, l2, taken)
        return out

    def right_hand_side(self) -> Array:
        """Return B V."""
        if self.right is not None:
            return self.right.copy()
        return self.system.right_hand_side(is_rounded=self.is_rounded)

    def rounded(self) -> "EncoderEquation":
        """Return the equation with operands rounded to two bytes, where the Gram has that."""
        gram = self.system.gram
        can_round = isinstance(gram, SparseGram) and gram.can_round
        return replace(self, is_rounded=True) if can_round else self

    def preconditioner(self) -> Callable[[Array], Array]:
        """Return an approximate inverse of the operator."""
        return Preconditioner.build(self.system, l1=self.l1, l2=self.l2).apply

    def unknowns(self, encoder: Array) -> Array:
        """Return F = E V."""
        return self.system.rotate(encoder)

    def encoder(self, F: Array) -> Array:
        """Return E = F V'."""
        return self.system.rotate_back(F)

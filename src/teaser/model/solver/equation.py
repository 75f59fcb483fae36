"""The equation for the encoder, which is half the gradient of the paper's objective set to zero.

    A(E) = B,    A(E) = P((G + l1 I) P(E D')) D + l2 E,    B = P(G) D,

where P(M) is M with a zero diagonal. It is evaluated in items x tags form only; see
docs/users/model.md for the derivation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from teaser.model.gram.blocks import chunks, each_block, rowdot
from teaser.model.gram.operator import PairGram
from teaser.model.solver.preconditioner import Preconditioner
from teaser.model.solver.system import System

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class EncoderEquation:
    """The equation of a system and the two penalties; the unknowns are F = E V."""

    system: System
    l1: float
    l2: float

    def operator(self, F: Array) -> Array:
        """Return A(F V') V.

        With W = P(E D') D V = F diag(eta) - diag(beta) DV and beta = diag(E D') this is

            (G + l1 I) W - diag(alpha) DV + l2 F,    alpha = diag(G E D') - g beta,

        where alpha is diag((G + l1 I) P(E D')), in which the terms with l1 cancel. One product
        with G and one with V, or two with a G that takes little time.
        """
        system, gram = self.system, self.system.gram
        DV, eta = system.DV, system.eta
        # diag(E D') = diag(F (D V)'), because V is orthogonal.
        beta = rowdot(F, DV)
        if isinstance(gram, PairGram):
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
        # l1 F Diag(eta) + l2 F: what l1 W and l2 E contribute of F.
        own = self.l1 * eta + self.l2
        # alpha + l1 beta: what l1 W adds of beta DV is taken out here too.
        taken = diagonal + (self.l1 - system.g) * beta

        def finish(rows: slice) -> None:
            out[rows] += F[rows] * own
            out[rows] -= taken[rows, None] * DV[rows]

        each_block(finish, out)
        return out

    def right_hand_side(self) -> Array:
        """Return B V."""
        return self.system.right_hand_side()

    def preconditioner(self) -> Callable[[Array], Array]:
        """Return an approximate inverse of the operator."""
        return Preconditioner.build(self.system, l1=self.l1, l2=self.l2).apply

    def unknowns(self, encoder: Array) -> Array:
        """Return F = E V."""
        return self.system.rotate(encoder)

    def encoder(self, F: Array) -> Array:
        """Return E = F V'."""
        return self.system.rotate_back(F)

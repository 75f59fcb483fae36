"""ADMM, the solver of the paper's appendix, for comparison with conjugate gradients."""

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from teaser.errors import SolverError
from teaser.model._arrays import norm, rowdot
from teaser.model.gram import Gram, as_array
from teaser.model.solve import (
    EncoderEquation,
    Limits,
    Solution,
    not_positive_definite,
    warn_not_converged,
)


def admm(equation: EncoderEquation, limits: Limits) -> Solution:
    """Solve for the encoder by the alternating directions of the paper's appendix.

    Needs the full eigendecomposition of G + L, so several items x items arrays. The multiplier
    moves by gamma += beta - diag(E D'), as the Lagrangian demands; beta is not clipped. The penalty
    rho of the augmented Lagrangian is the mean of diag(G + L) at first. Where the residual grows,
    it is made smaller and the search begins again.
    """
    system, l2, tol = equation.system, equation.l2, float(limits.tol)
    gram = system.gram
    B = equation.right_hand_side()
    goal = norm(B)
    if goal == 0.0:
        return Solution(np.zeros_like(B), 0, 0.0, True, 0.0)
    # L = l1 I + dM(extra) with the least of the penalties as l1: G + dM(extra) is decomposed.
    L = system.penalty(equation.l1)
    l1 = L.min()
    g, extra = system.g, L - l1
    mu, U = _eigenpairs(gram, extra)
    rho = float(np.mean(g + extra) + l1)
    # In the bases of U and V, (G + L) E K + l2 E is a product entry by entry.
    inverse = 1.0 / ((mu + l1) * system.eta + l2)
    gc = g * system.column_weight  # diag(G C)
    GD = gram.apply(system.scaled(system.column_weight))
    beta = np.zeros_like(g)
    gamma = np.zeros_like(g)
    F, true, iteration, best = np.zeros_like(B), np.inf, 0, np.inf
    for iteration in range(1, limits.max_iter + 1):
        # (G + L) E K + l2 E = G C D + (G + L) (beta * D) + rho (gamma + beta) * D
        right = (
            GD + gram.apply(system.scaled(beta)) + system.scaled(rho * (gamma + beta) + L * beta)
        )
        Y = (U.T @ (np.asarray(right) @ system.V)) * inverse
        F = U @ Y
        diagonal = rowdot(F, system.DV)
        # diag(G E D'), of which mu belongs to G + dM(extra).
        g_diagonal = rowdot(U @ (mu * Y), system.DV) - extra * diagonal
        beta_was = beta
        # With 2 rho, rho (gamma + beta) = alpha - gc at the fixed point, where then A(E) = B.
        beta = (g_diagonal - gc - rho * gamma + (L + rho) * diagonal) / (g + L + 2 * rho)
        # What the equation for E, solved for the earlier beta and gamma, leaves of A(E) - B.
        alpha = g_diagonal - g * diagonal
        apart = beta_was - diagonal
        rest = gram.apply(system.scaled(apart))
        rest += system.scaled(L * apart + rho * (gamma + beta_was) - alpha + gc)
        gamma = gamma + beta - diagonal
        # The norm is the same in both bases, because V is orthogonal.
        residual = norm(np.asarray(rest)) / goal
        limits.report(iteration, residual)
        if not residual < 10 * best and rho > 1e-6 * g.mean():
            # The appendix drops a term of the Lagrangian, which holds for small rho only.
            rho *= 0.3
            beta, gamma, best = np.zeros_like(g), np.zeros_like(g), np.inf
            continue
        best = min(best, residual)
        if residual <= tol:
            last, true = true, norm(B - equation.operator(F)) / goal
            # What the true residual is above that of the steps is rounding: it need not fall.
            if true <= tol or true >= last:
                break
    else:
        true = norm(B - equation.operator(F)) / goal
        if not np.isfinite(true):
            raise SolverError(not_positive_definite(gram.dtype))
    if true > tol:
        warn_not_converged(iteration, true, limits, gram.dtype)
    return Solution(system.rotate_back(F), iteration, true, true <= tol, 2 * true * goal)


def _eigenpairs(gram: Gram, extra: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the eigenvalues of G + dM(extra), a column, and its eigenvectors."""
    G = as_array(gram)
    G.flat[:: len(G) + 1] += extra
    mu, U = scipy.linalg.eigh(G, check_finite=False, driver="evd", overwrite_a=True)
    # It is positive semidefinite: eigenvalues below zero are rounding.
    return np.maximum(mu, 0.0)[:, None], U

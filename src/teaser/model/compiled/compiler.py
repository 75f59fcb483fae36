"""Functions compiled at their first use; imported only where numba is installed."""

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any], *, reorder: bool = False) -> Callable[..., Any]:
    """Compile a function at its first use; it is cached on disk if a writable folder exists.

    Parameters
    ----------
    reorder
        Whether sums may be added in another order, several terms at once.
    """
    free = {"reassoc", "contract"} if reorder else False
    try:
        return njit(nogil=True, cache=True, fastmath=free)(function)
    except RuntimeError:  # neither this folder nor the user's own can be written to
        return njit(nogil=True, fastmath=free)(function)

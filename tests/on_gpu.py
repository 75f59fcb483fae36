"""What tests of a GPU share: whether there is one."""

import pytest

from teaser.errors import ResourceError
from teaser.model.gpu import cupy


def is_available() -> bool:
    """Return whether CuPy and a GPU are there."""
    try:
        cupy()
    except ResourceError:
        return False
    return True


needs_gpu = pytest.mark.skipif(
    not is_available(), reason="there is no GPU with CuPy on this machine"
)

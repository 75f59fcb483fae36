"""Free memory goes back to the system."""

import ctypes
import os
from pathlib import Path

import pytest

from teaser.app.serving.memory import return_memory


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="glibc only")
def test_free_blocks_below_a_used_one_are_given_back() -> None:
    blocks = [bytes(50_000) for _ in range(1_000)]
    pin = bytes(50_000)  # the allocator gives back only what is above it by itself
    del blocks
    before = resident()
    return_memory()
    assert before - resident() > 30_000_000
    assert len(pin) == 50_000

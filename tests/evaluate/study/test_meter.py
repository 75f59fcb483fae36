"""The meter sees time pass and memory come and go."""

import time

import numpy as np

from teaser.evaluate.study.meter import Meter, peak_memory


def test_seconds_are_those_of_the_block() -> None:
    with Meter() as meter:
        time.sleep(0.05)
    assert meter.seconds >= 0.05
    with Meter() as busy:
        np.linalg.svd(np.random.default_rng(0).random((300, 300)))
    assert busy.cpu_seconds > 0


def test_the_peak_is_that_of_the_block_alone() -> None:
    with Meter() as small:
        pass
    with Meter() as large:
        held = np.ones(25_000_000)
        held += 1
        del held
    with Meter() as after:
        pass
    assert large.peak_memory > small.peak_memory + 150e6
    assert after.peak_memory < large.peak_memory - 100e6
    assert peak_memory() > 0

"""The steps of k-means on a GPU are those of numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from on_gpu import needs_gpu

from teaser.model.cuda import groups
from teaser.model.cuda.launch import xp
from teaser.model.extensions import discovered


@needs_gpu
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_steps_of_k_means_are_those_of_numpy(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    Y = discovered.unit_rows(rng.standard_normal((700, 40))).astype(kind)
    centroids = discovered.unit_rows(rng.standard_normal((30, 40))).astype(kind)
    there, middle = xp().asarray(Y), xp().asarray(centroids)
    for block in (2**30, 30 * 8 * 100):  # all items at once, and some at a time
        monkeypatch.setattr(groups, "_BLOCK_BYTES", block)
        group, cosine = groups.nearest_groups(there, middle)
        products = Y @ centroids.T
        assert_array_equal(group, products.argmax(axis=1))
        assert_allclose(cosine, products.max(axis=1), atol=1e-5)
        columns, values = groups.top_groups(there, middle, 3)
        assert_array_equal(columns, np.argsort(-products, axis=1)[:, :3])
        assert_allclose(values, -np.sort(-products, axis=1)[:, :3], atol=1e-5)
    sums = xp().asnumpy(groups.group_sums(there, group, 31))
    right = np.zeros((31, 40))
    np.add.at(right, group, Y.astype(np.float64))
    assert_allclose(sums, right, atol=1e-5)


@needs_gpu
def test_k_means_there_ends_where_that_of_the_processor_does() -> None:
    rng = np.random.default_rng(1)
    Y = discovered.unit_rows(rng.standard_normal((900, 24)) + 3 * rng.integers(0, 2, (900, 24)))
    found = []
    for items in (Y, xp().asarray(Y)):
        known = np.zeros((0, 24))
        start = discovered.draw_centroids(items, 40, np.random.default_rng(0), known)
        centroids = discovered.cluster(items, start, rounds=30)
        assert isinstance(centroids, type(items))
        found.append(discovered.cosines(items, centroids, 3).toarray())
    assert_allclose(found[1], found[0], atol=1e-9)

"""Many fits to one data set: what does not depend on the penalties is computed once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from teaser.data.dataset import Dataset
from teaser.errors import ParameterError
from teaser.model.base import KINDS, Model
from teaser.model.baselines.ease import EASE
from teaser.model.baselines.neighbour_ease import NeighbourEASE
from teaser.model.build import dense_gram
from teaser.model.estimate import choose_gram
from teaser.model.extensions.discovered import Discovered, expected_groups, find_groups
from teaser.model.extensions.groups import Groups
from teaser.model.extensions.weights import PLAIN, Weights, scale_pairs
from teaser.model.gram import DenseGram, Gram
from teaser.model.solve import is_coarse
from teaser.model.teaser import Teaser


class SharedFits:
    """Fits models to one data set, and shares between fits what does not change.

    The Gram matrix is computed once for all models that take one. For Teaser, the eigenpairs of
    the preconditioner are computed once, and a fit starts at the encoder of the previous one.
    With a joint remainder, the inverse is shared where the ridge (the sum of the penalties on
    weights and remainder) is the same: put `l2_encoder` last in a grid. Item-to-item weights that
    differ in `history_power` alone are found once: put it last in a grid of EASE.

    Parameters
    ----------
    previous
        Groups of an earlier model; discovered groups keep their names.
    """

    def __init__(self, training: Dataset, *, previous: Groups | None = None) -> None:
        self.training = training
        self.previous = previous
        self._grams: dict[tuple[str, float], Gram] = {}
        self._prepared: tuple[Any, ...] = ()
        self._last: tuple[Any, ...] = ()
        self._discovered: dict[tuple[Any, ...], Discovered] = {}
        self._pairs: tuple[Any, ...] = ()

    def fit(self, model: Model, start: Teaser | None = None) -> Model:
        """Fit a model, and return it; a Teaser begins from `start`, or from the one before."""
        if isinstance(model, Teaser):
            return self._fit_teaser(model, start)
        if isinstance(model, EASE | NeighbourEASE):
            return self._fit_pairs(model)
        if model.gram == "auto":
            model.gram = self._gram(model.dtype, getattr(model, "weights", None))
        return model.fit(self.training)

    def _fit_pairs(self, model: EASE | NeighbourEASE) -> Model:
        """Fit a model of item-to-item weights; those before are scaled where that is enough."""
        model.check_parameters()
        weights = model.weights or PLAIN
        plain = replace(weights, history_power=0.0)
        key = (type(model), str(model.parameters() | {"weights": plain}))
        if self._pairs[:1] != (key,):
            self._pairs = ()  # before another items x items array is made
            if isinstance(model.gram, str) and model.gram == "auto":
                model.gram = self._gram(model.dtype, weights)
            model.weights = plain
            self._pairs = (key, model.fit(self.training).weights_)
            model.weights = weights
        model.keep_items(self.training)
        B, factors = self._pairs[1], weights.of_history(self.training.item_counts)
        model.weights_ = B if factors is None else scale_pairs(B.copy(), factors)
        return model

    def clear(self) -> None:
        """Free what is shared."""
        self._grams.clear()
        self._discovered.clear()
        self._prepared = self._last = self._pairs = ()

    def _fit_teaser(self, model: Teaser, start: Teaser | None) -> Teaser:
        # What is prepared depends on these. The penalties are not among them, except for those of
        # a joint remainder, which are part of its inverse. Powers of histories come after the fit.
        weights, joint = model.weights or PLAIN, model.joint_remainder
        ridge: tuple[float, ...] = ()
        if joint is not None:
            model.check_parameters()
            both = float(model.l2_weights), float(joint.l2)
            ridge = both if weights.ridge_power else (sum(both),)
        alike = (
            model.dtype,
            replace(weights, history_power=0.0),
            model.discovered,
            model.solver,
            is_coarse(model.tol, model.solver),
            str(model.gram),
            str(model.rng),
            model.device,
            model.user_features,
            joint is None,
            ridge,
        )
        key = (model.content, *alike)
        if self._prepared[:1] != (key,):
            self._prepared = ()  # one at a time: the arrays of a system may be large
            if self._takes_array(model):
                model.gram = self._gram(model.dtype, weights)
            groups = self._groups(model)
            self._prepared = (key, model.prepare(self.training, discovered=groups))
        # Another content moves the encoder less than it is away from zero.
        if start is None and self._last[:1] == (alike,):
            start = self._last[1]
        model.fit(self.training, prepared=self._prepared[1], start=start)
        self._last = (alike, model)
        return model

    def _groups(self, model: Teaser) -> Discovered | None:
        """Return the training data with discovered tags, found once for the same options."""
        key = (model.discovered, str(model.rng), model.dtype, model.device)
        if model.discovered is not None and key not in self._discovered:
            self._discovered[key] = find_groups(model, self.training, self.previous)
        return self._discovered.get(key)

    def _takes_array(self, model: Teaser) -> bool:
        """Whether a model works on X'X as one array, which all such models share."""
        training = self.training
        if model.device != "cpu" or not isinstance(model.gram, str) or model.gram == "sparse":
            return False
        if model.joint_remainder is not None:
            return True
        if training.Q is not None and model.user_features:  # its Gram is of user features too
            return False
        n_tags = training.n_tags + 1 + expected_groups(model.discovered, training)
        chosen = choose_gram(training.X, n_tags, np.dtype(model.dtype))
        return model.gram == "dense" or chosen == "dense"

    def _gram(self, dtype: str, weights: Weights | None) -> Gram:
        key = (dtype, 0.0 if weights is None else weights.user_power)
        if key not in self._grams:
            G = dense_gram(self.training.X, "auto", dtype, user_power=key[1])
            self._grams[key] = DenseGram(G)
        return self._grams[key]


def make_model(kind: str, parameters: Mapping[str, Any], *parts: Model) -> Model:
    """Return an unfitted model of a kind; `parts` are the models of a product."""
    if kind not in KINDS:
        raise ParameterError(f"Unknown kind of model {kind!r}. Known: {', '.join(KINDS)}.")
    model: Model = KINDS[kind].from_parameters(parameters, *parts)
    return model

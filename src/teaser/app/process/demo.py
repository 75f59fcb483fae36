"""The model of the demonstration: fitted at the first call, then cached."""

import shutil
from datetime import date, timedelta
from pathlib import Path

from platformdirs import user_cache_path

from teaser._version import __version__
from teaser.data import demo
from teaser.errors import ArtifactError
from teaser.model import load
from teaser.model.teaser import Teaser

_MAX_AGE = timedelta(weeks=1)  # of the events of a demonstration


def demo_model(seed: int = 0, *, n_events: int = 2400, n_users: int = 9000) -> Path:
    """Return the folder of a cached model of the generated events.

    It is fitted at the first call, and again when some of its events are a week old.
    """
    folder = user_cache_path("teaser") / f"events-{__version__}-{n_events}-{n_users}-{seed}"
    try:
        model = load(folder, Teaser)
        is_recent = (model.table_["date"] >= date.today() - _MAX_AGE).all()
        # A model of an earlier version does not tell general appeal apart.
        if is_recent and model.tag_table_.basis is not None:
            return folder
    except ArtifactError:
        shutil.rmtree(folder, ignore_errors=True)
    dataset = demo.dataset(seed=seed, n_events=n_events, n_users=n_users)
    Teaser().fit(dataset).save(folder)
    return folder

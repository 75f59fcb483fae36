"""The demonstration's model: cached, and fitted again when it is broken or past."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import teaser
from teaser.app.process.demo import demo_model
from teaser.data import demo


def test_the_demonstrations_model_is_fitted_again_only_when_broken_or_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    today = date.today()
    size: dict[str, Any] = {"n_events": 50, "n_users": 100}
    folder = tmp_path / "teaser" / f"events-{teaser.__version__}-50-100-0"
    month_ago = demo.dataset(**size, start=today - timedelta(days=30))
    teaser.Teaser().fit(month_ago).save(folder)
    assert demo_model(**size) == folder
    assert (teaser.load(folder).table_["date"] >= today).all()
    stamp = (folder / "manifest.json").stat().st_mtime_ns
    assert demo_model(**size) == folder
    assert (folder / "manifest.json").stat().st_mtime_ns == stamp
    (folder / "manifest.json").write_text("broken")
    assert len(teaser.load(demo_model(**size)).items_) == 50

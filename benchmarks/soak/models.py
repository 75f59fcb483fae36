"""Two models of the same items that are saved in turn over the folder that is served."""

import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from soak.memory import mapped_models
from soak.servers import Server
from teaser import Dataset, Teaser

_TAKEN_UP_SECONDS = 180.0


@dataclass
class Models:
    """The served folder, what it can hold in turn, and what visitors can do with either.

    Attributes
    ----------
    items, tags
        Ids and tag texts that both models have.
    mapped
        The most models that the processes of a server mapped at once.
    """

    folder: Path
    sources: tuple[Path, Path]
    items: list[str]
    tags: list[str]
    turn: int = 0
    mapped: int = 0

    def replace(self) -> str:
        """Save the other model over the served folder; return the checksum of its arrays."""
        self.turn += 1
        source = self.sources[self.turn % 2]
        manifest = json.loads((source / "manifest.json").read_text())
        names = [str(entry["name"]) for entry in manifest["files"].values()]
        for name in names:
            if not (self.folder / name).exists():
                shutil.copyfile(source / name, self.folder / name)
        # As `save` does: the manifest last, in one step; then what it does not name goes.
        shutil.copyfile(source / "manifest.json", self.folder / ".next")
        os.replace(self.folder / ".next", self.folder / "manifest.json")
        for path in self.folder.iterdir():
            if path.name not in (*names, "manifest.json"):
                path.unlink()
        return str(manifest["files"]["arrays"]["sha256"])[:16]

    def wait_until_taken_up(self, server: Server, checksum: str) -> float:
        """Wait until every worker maps this model and no other; return the seconds."""
        begun = time.monotonic()
        while time.monotonic() < begun + _TAKEN_UP_SECONDS:
            mapped = mapped_models(*server.pids)
            self.mapped = max(self.mapped, len(mapped))
            if all(set(mapped_models(w.pid).values()) == {checksum} for w in server.workers):
                return time.monotonic() - begun
            time.sleep(0.05)  # a look goes through all processes of the machine
        raise RuntimeError(f"The new model was not taken up within {_TAKEN_UP_SECONDS:g} s.")


def make_models(folder: Path, dataset: Dataset) -> Models:
    """Fit two models of the same items, and save the first as the one to serve."""
    models = [Teaser(tol=1e-2).fit(dataset), Teaser(tol=1e-2, l2_encoder=300.0).fit(dataset)]
    sources = folder / "first", folder / "second"
    for model, source in zip(models, sources, strict=True):
        model.save(source)
    shutil.copytree(sources[0], folder / "model")
    both = set(models[0].tags_) & set(models[1].tags_)
    places = range(models[0].tag_table_.n_personal)
    tags = [str(models[0].tags_[j]) for j in places if models[0].tags_[j] in both]
    items = [str(item) for item in models[0].items_[:300]]
    return Models(folder / "model", sources, items, tags[:64])

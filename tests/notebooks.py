"""Run the notebooks of examples/ again, and write what they show into them.

    python tests/notebooks.py [name ...]

Each runs in a kernel of its own, in an empty folder. Without names, all are run.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat as untyped_format
from nbclient import NotebookClient

nbformat: Any = untyped_format

FOLDER = Path(__file__).resolve().parents[1] / "examples"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# Seconds for one cell, on a machine that has other work too.
LIMIT = 300


def read_notebook(path: Path) -> Any:
    """Return a notebook as it was saved."""
    return nbformat.read(path, as_version=4)


def run_notebook(path: Path, folder: Path) -> Any:
    """Return a notebook with the outputs of a run in a folder; an error in a cell is raised.

    The kernel has one thread: numbers do not depend on the machine's cores.
    """
    notebook = read_notebook(path)
    NotebookClient(
        notebook,
        timeout=LIMIT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        # When each cell ran would change with every run.
        record_timing=False,
    ).execute(env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    # What the kernel says of itself depends on the machine.
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def main(names: list[str]) -> None:
    """Run notebooks and write them back."""
    for path in [FOLDER / f"{name}.ipynb" for name in names] or NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(run_notebook(path, Path(folder)), path)


if __name__ == "__main__":
    main(sys.argv[1:])

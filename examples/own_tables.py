"""From frames of your own to a model on disk, with rules and a report."""

import tempfile
from pathlib import Path

import polars as pl

import teaser


def main() -> None:
    loans = pl.DataFrame(
        {
            "reader": ["ann", "ann", "ben", "ben", "cas", "cas", "cas", "dee", "dee", None],
            "book": ["a", "b", "a", "b", "b", "c", "d", "c", "d", "a"],
            "stars": [5, 4, 5, 5, 2, 4, 5, 4, 5, 5],
        }
    )
    books = pl.DataFrame(
        {
            "book": ["a", "b", "c", "d", "e"],
            "title": ["Dune", "Solaris", "Emma", "Persuasion", "Ubik"],
            "genre": [
                "science fiction",
                "science fiction",
                "romance",
                "romance",
                "science fiction",
            ],
            "year": [1965, 1961, 1815, 1817, 1969],
        }
    )
    dataset = teaser.Dataset.from_tables(
        loans,
        books,
        user="reader",
        item="book",
        positive="stars >= 4",
        rules=[teaser.Category("genre"), teaser.Year("year", width=10, feature="decade")],
    )
    print("\n".join(dataset.lines()))
    model = teaser.Teaser(l2_weights=1.0, l2_encoder=1.0).fit(dataset)
    with tempfile.TemporaryDirectory() as scratch:
        model.save(Path(scratch) / "model")
        loaded = teaser.load(Path(scratch) / "model")
        for r in loaded.recommend(["a"], k=3):
            print(r.title, *(reason.sentence() for reason in r.reasons), sep="\n    ")


if __name__ == "__main__":
    main()

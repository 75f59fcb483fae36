"""How well requests are read: python tests/words/measure.py FILE [--wrong].

A line of the file is a request in JSON: catalogue, language, text, wishes, unknown, contradiction.
"""

import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from words.catalogues import TODAY, vocabulary

from teaser.words.interpreter import read
from teaser.words.wishes import Reading, Wish


@dataclass
class Score:
    """Counts over requests, and the shares made of them."""

    requests: int = 0
    exact: int = 0
    full: int = 0
    right: int = 0
    given: int = 0
    intended: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, request: dict[str, Any], reading: Reading) -> None:
        """Count a request."""
        intended, given = Counter(request["wishes"]), Counter(map(str, reading.wishes))
        right = sum((intended & given).values())
        is_exact = intended == given and bool(reading.contradictions) == request["contradiction"]
        self.requests += 1
        self.exact += is_exact
        self.full += is_exact and _same(request["unknown"], reading.unknown)
        self.right += right
        self.given += sum(given.values())
        self.intended += sum(intended.values())
        if not is_exact or not _same(request["unknown"], reading.unknown):
            missed, extra = intended - given, given - intended
            self.wrong.append(
                f"{'  ' if is_exact else '! '}{request['language']} {request['text']}\n"
                f"      missed {list(missed.elements())}  extra {list(extra.elements())}"
                f"  unknown {list(reading.unknown)} for {request['unknown']}"
                f"{'  contradiction' if reading.contradictions else ''}"
            )

    def row(self, name: str) -> str:
        """Return the shares as a row of a table."""
        shares = (
            self.exact / max(1, self.requests),
            self.right / max(1, self.given),
            self.right / max(1, self.intended),
            self.full / max(1, self.requests),
        )
        return f"| {name} | {self.requests} | " + " | ".join(f"{s:.1%}" for s in shares) + " |"


def _same(intended: Iterable[str], given: Iterable[str]) -> bool:
    """Return whether the same words were not understood."""
    return {w.casefold() for w in intended} == {w.casefold() for w in given}


def requests(path: Path) -> list[dict[str, Any]]:
    """Return the requests of a file: lines of JSON, or TOML on the foreign catalogues."""
    text = path.read_text("utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return [
        {
            "catalogue": name, "language": "en", "text": said, "contradiction": False,
            "wishes": [_with_middle(wish, name) for wish in meant if wish[0] != "?"],
            "unknown": [word[2:] for word in meant if word[0] == "?"],
        }
        for name, table in tomllib.loads(text).items()
        for said, meant in table.items()
    ]  # fmt: skip


def _with_middle(wish: str, catalogue: str) -> str:
    """Return a wish with the middle of its column for `~`."""
    if not wish.endswith(" ~"):
        return wish
    column = wish.split(" ")[1]
    return str(Wish.parse(f"{wish[:-1]}{vocabulary(catalogue).medians[column]}"))


def measure(path: str | Path) -> dict[str, Score]:
    """Return the scores of a file of requests: of all, by language and by catalogue."""
    scores: dict[str, Score] = {"all": Score()}
    for request in requests(Path(path)):
        known = vocabulary(request["catalogue"])
        reading = read(request["text"], known, language=request["language"], today=TODAY)
        for name in ("all", request["language"], request["catalogue"]):
            scores.setdefault(name, Score()).add(request, reading)
    return scores


def main() -> None:
    """Print the table of a file, and with --wrong the requests that were read otherwise."""
    scores = measure(sys.argv[1])
    if "--wrong" in sys.argv:
        print("\n".join(scores["all"].wrong))
    print("| requests | number | exact | precision | recall | understood in full |")
    print("|---|---|---|---|---|---|")
    for name, score in scores.items():
        print(score.row(name))


if __name__ == "__main__":
    main()

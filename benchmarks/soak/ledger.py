"""What a person did as their client knows it, and the comparison with what the server stored."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Action = tuple[str, str]  # the kind, and the item or the tag
# How far ahead of its place a stored action is looked for.
_WINDOW = 20


@dataclass
class Ledger:
    """The actions of one person in the order in which they were sent.

    Attributes
    ----------
    sent
        Each action, and whether the server acknowledged it. One without an acknowledgement may
        be stored or not: the answer may have been lost after the commit.
    is_deleted
        Whether the server acknowledged that all was deleted; None if that is not known.
    """

    sent: list[tuple[Action, bool]] = field(default_factory=list)
    is_deleted: bool | None = False

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged actions."""
        return sum(is_sure for _, is_sure in self.sent)


@dataclass(frozen=True)
class Comparison:
    """How many acknowledged actions are stored, lost, and stored without having been sent."""

    acknowledged: int = 0
    lost: int = 0
    unexplained: int = 0

    def __add__(self, other: "Comparison") -> "Comparison":
        return Comparison(
            self.acknowledged + other.acknowledged,
            self.lost + other.lost,
            self.unexplained + other.unexplained,
        )


def compare(ledger: Ledger, stored: Sequence[Action]) -> Comparison:
    """Compare what was sent with what is stored, in the way that loses fewest actions.

    `costs` has, for each number of stored actions that are accounted for, the fewest (lost,
    unexplained) so far.
    """
    if ledger.is_deleted is None:
        return Comparison()
    if ledger.is_deleted:
        return Comparison(ledger.acknowledged + 1, lost=int(bool(stored)))
    costs: dict[int, tuple[int, int]] = {0: (0, 0)}
    for action, is_sure in ledger.sent:
        following: dict[int, tuple[int, int]] = {}
        for place, (lost, extra) in costs.items():
            _keep(following, place, (lost + is_sure, extra))
            for found in range(place, min(len(stored), place + _WINDOW)):
                if stored[found] == action:
                    _keep(following, found + 1, (lost, extra + found - place))
                    break
        fewest = min(following.values())
        costs = {p: cost for p, cost in following.items() if cost[0] <= fewest[0] + _WINDOW}
    lost, extra = min((lost, extra + len(stored) - p) for p, (lost, extra) in costs.items())
    return Comparison(ledger.acknowledged, lost, extra)


def _keep(costs: dict[int, tuple[int, int]], place: int, cost: tuple[int, int]) -> None:
    costs[place] = min(cost, costs.get(place, cost))


def stored_actions(export: dict[str, Any]) -> list[Action]:
    """Return the actions in an export of a person."""
    return [_action(event) for event in export.get("events", [])]


def _action(event: dict[str, Any]) -> Action:
    presses = event.get("presses") or []
    name = presses[0]["tag"] if presses else event.get("item_id") or ""
    return event["kind"], str(name)

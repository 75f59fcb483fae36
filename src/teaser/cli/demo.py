"""The demonstration in a terminal: the built-in events, one person, and three presses of +."""

from rich.console import Console
from rich.rule import Rule as Line

from teaser.cli.output import draw_profile, draw_recommendations, fit_visibly, say_change
from teaser.data import events
from teaser.data.dataset import Dataset
from teaser.data.tagging.tag import Tag
from teaser.model.teaser import Teaser
from teaser.profile import Presses

TOWN = Tag("town", "Ghent")
_LENGTH = 10
_PRESSED = ("type", "theme", "setting")


def run(out: Console, err: Console, *, seed: int = 0) -> Teaser:
    """Prepare the events, fit a model, and show a profile, a list and what three presses do."""
    with out.status("making up a year of events in Belgium"):
        dataset = events.dataset(seed=seed)
    _title(out, "The data")
    for line in dataset.lines():
        out.print(line, highlight=False, soft_wrap=True)
    model = Teaser()
    fit_visibly(model, dataset, err)
    history = choose_person(dataset)
    _title(out, f"Somebody who chose {len(history)} events")
    for item_id in history:
        place = dataset.items.index_of(item_id)
        row = dataset.table.row(place, named=True)
        out.print(
            f"  {row['title']} · {row['type']} · {row['town']} · {row['date']}", highlight=False
        )
    _title(out, "What the model learned")
    profile = model.profile(history)
    out.print(draw_profile(profile, per_feature=3))
    _title(out, "What it recommends, and why")
    before = model.recommend(history, k=_LENGTH)
    out.print(draw_recommendations(before))
    tag = choose_tag(model, history)
    presses = Presses().press(tag).press(tag).press(tag)
    after = model.recommend(history, presses, k=_LENGTH)
    moved = model.profile(history, presses).affinities[tag]
    _title(out, f"Three presses of + on {tag.value}")
    out.print(
        f"The affinity with {tag.value} goes from {profile.affinities[tag]:+.2f} to {moved:+.2f}. "
        + say_change(before, after),
        highlight=False,
        soft_wrap=True,
    )
    out.print(draw_recommendations(after, before=before))
    return model


def choose_person(dataset: Dataset) -> list[int | str]:
    """Return the history of the first person with five to eight events, most in one town."""
    in_town = dataset.S[:, [dataset.tags.index(TOWN)]].toarray().ravel()
    for user in range(dataset.n_users):
        seen = dataset.X.indices[dataset.X.indptr[user] : dataset.X.indptr[user + 1]]
        if 5 <= len(seen) <= 8 and in_town[seen].mean() > 0.5:
            return [dataset.items[i] for i in seen]
    return [dataset.items[i] for i in dataset.X.indices[: dataset.X.indptr[1]]]


def choose_tag(model: Teaser, history: list[int | str]) -> Tag:
    """Return the type, theme or setting with which three presses bring most news to the list."""
    before = {r.item_id for r in model.recommend(history, k=_LENGTH)}

    def news(tag: Tag) -> int:
        after = model.recommend(history, {tag: 3}, k=_LENGTH)
        return sum(r.item_id not in before for r in after)

    return max((tag for tag in model.tags_ if tag.feature in _PRESSED), key=news)


def _title(out: Console, text: str) -> None:
    out.print()
    out.print(Line(text, align="left", style="grey50"))

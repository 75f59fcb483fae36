"""See a profile, press + on a tag, and watch the list follow."""

from teaser import Presses, Teaser
from teaser.data import demo


def main() -> None:
    dataset = demo.dataset(n_events=600, n_users=2500)
    model = Teaser().fit(dataset)
    history = [dataset.items[i] for i in dataset.X.indices[:5]]
    print("The strongest leanings of somebody who saw", len(history), "events:")
    for ranked in model.profile(history).top(5):
        print(f"  {ranked.leaning:+.2f}  {ranked.tag}")
    before = model.recommend(history, k=3)
    presses = Presses().press("type=Concert", 3)
    after = model.recommend(history, presses, k=3)
    for name, found in (("before", before), ("after three presses of + on concerts", after)):
        print(f"\n{name}:")
        for r in found:
            print(f"  {r.match:4.0%}  {r.title}")
            for reason in r.reasons[:2]:
                print(f"        {reason.sentence()}")


if __name__ == "__main__":
    main()

"""The tools that read: search, lists, profiles, explanations, and presses that would help."""

from teaser.app.actions import decide
from teaser.app.api.guide import LiftAnswer
from teaser.app.api.model_input import ModelInput
from teaser.app.api.schema import guidance, requests, responses
from teaser.app.api.schema.reason_responses import named
from teaser.app.i18n.texts import texts_in
from teaser.app.mcp import sentences
from teaser.app.mcp.arguments import (
    CompareArguments,
    ItemArguments,
    LiftArguments,
    LikeArguments,
    ProfileArguments,
    RecommendArguments,
    SearchArguments,
    SimilarArguments,
)
from teaser.app.mcp.source import Source, input_of
from teaser.app.mcp.tool import Answer, Tool
from teaser.app.people.fold import state_after
from teaser.app.serving.catalogue import Catalogue
from teaser.app.serving.name_search import find_names
from teaser.app.wishes import event_of
from teaser.data.matrix import ItemId
from teaser.steer import say, statements
from teaser.steer.similarity import similar as similar_items
from teaser.words.wishes import Wish


def search(source: Source, asked: SearchArguments) -> Answer:
    """Return items and tags whose names contain every word."""
    catalogue = source.catalogue()
    model = catalogue.model
    matches = find_names(catalogue, asked.words, texts_in(asked.language))
    found = responses.Found(
        items=[
            responses.FoundItem(item_id=item_id, title=model.title(i) or str(item_id))
            for i, item_id in zip(matches.item_places, matches.items(0, asked.k), strict=False)
        ],
        tags=[
            responses.FoundTag(**named(model.tags_[j]), n_items=int(catalogue.tag_sizes[j]))
            for j in matches.tag_places[: asked.k]
        ],
    )
    return Answer(found, sentences.of_found(found))


def item(source: Source, asked: requests.ItemChoice) -> Answer:
    """Return the data of an item."""
    card = responses.Card.of(source.catalogue().card(asked.item_id))
    return Answer(card, sentences.of_card(card))


def recommend(source: Source, asked: RecommendArguments) -> Answer:
    """Return the best items, each with its reasons."""
    given = _with_wishes(source, asked) if asked.wishes else source.model_input(asked)
    options = requests.ListOptions(
        k=asked.k,
        where=asked.where,
        first_date=asked.first_date,
        last_date=asked.last_date,
        exclude=asked.exclude,
    )
    own = given.personal.state.variety if given.personal is not None else 0.0
    found = given.recommend(options, own if asked.variety is None else asked.variety)
    return Answer(found, sentences.of_list(found))


def _with_wishes(source: Source, asked: RecommendArguments) -> ModelInput:
    """Return the input of the model as if wishes were applied; nothing is stored."""
    catalogue = source.catalogue()
    wishes = [Wish.parse(text) for text in asked.wishes]
    state = source.state(asked, catalogue)
    event = decide(state, event_of(wishes, state, catalogue), catalogue)
    return input_of(state_after(state, event) if event else state, catalogue)


def profile(source: Source, asked: ProfileArguments) -> Answer:
    """Return the profile, as plain statements and as affinities."""
    learned = source.model_input(asked).profile()
    options = requests.ProfileOptions(top=asked.top, features=asked.features)
    found = responses.Profile.of(learned, options)
    return Answer(found, sentences.of_profile(found, map(say, statements(learned))))


def explain(source: Source, asked: ItemArguments) -> Answer:
    """Return the whole score of one item."""
    found = source.model_input(asked).explain(asked.item_id)
    return Answer(found, sentences.of_explanation(found))


def compare(source: Source, asked: CompareArguments) -> Answer:
    """Return why one item stands above another, part by part."""
    apart = source.model_input(asked).compare(asked.item_id, asked.other_id, {})
    found = guidance.Difference.of(apart)
    return Answer(found, sentences.of_difference(found))


def like(source: Source, asked: LikeArguments) -> Answer:
    """Return a list like an item, with some of its tags changed."""
    given = source.model_input(asked)
    options = guidance.VariationRequest(item_id=asked.item_id, where=asked.where, k=asked.k)
    found = given.vary(options, {change.old: change.new for change in asked.changes})
    return Answer(found, sentences.of_variation(found))


def lift(source: Source, asked: LiftArguments) -> Answer:
    """Return the fewest presses that bring an item among the first k."""
    given = source.model_input(asked)
    answer = LiftAnswer.of(given, asked.item_id, asked.k)
    shown = _name(given.catalogue, asked.item_id)
    return Answer(answer, sentences.of_lift(shown, asked.k, answer))


def similar(source: Source, asked: SimilarArguments) -> Answer:
    """Return the items that share most tags with one."""
    catalogue = source.catalogue()
    found = similar_items(catalogue.model, asked.item_id, k=asked.k)
    answer = responses.SimilarItems(similar=[responses.SimilarItem.of(s) for s in found])
    return Answer(answer, sentences.of_similar(_name(catalogue, asked.item_id), answer))


def _name(catalogue: Catalogue, item_id: ItemId) -> str:
    place = catalogue.model.items_.index_of(item_id)
    return sentences.name_of(catalogue.model.items_[place], catalogue.model.title(place))


READING_TOOLS = (
    Tool(
        "search",
        "Search items and tags",
        "Find items and tags by words in their names. Use it first: all other tools need item ids "
        "and tags (feature=value) exactly as the catalogue has them.",
        SearchArguments,
        responses.Found,
        search,
    ),
    Tool(
        "item",
        "Show an item",
        "Show what the data say of an item: title, description, date, link, tags.",
        requests.ItemChoice,
        responses.Card,
        item,
    ),
    Tool(
        "recommend",
        "Recommend",
        "List the best items for a person, or for a history and presses that you give, each with "
        "the reasons that make up its score. Without any of these the list follows general appeal.",
        RecommendArguments,
        responses.Recommendations,
        recommend,
    ),
    Tool(
        "profile",
        "Show a profile",
        "Show what the model knows of a taste: plain statements, and the affinity with each tag "
        "(-1 to 1, more is more of it).",
        ProfileArguments,
        responses.Profile,
        profile,
    ),
    Tool(
        "explain",
        "Explain a score",
        "Show why an item is where it is: all parts of its score, which sum to it.",
        ItemArguments,
        responses.Explanation,
        explain,
    ),
    Tool(
        "compare",
        "Compare two items",
        "Show why one item stands above another: what each part adds to the difference of their "
        "scores, which all parts sum to.",
        CompareArguments,
        guidance.Difference,
        compare,
    ),
    Tool(
        "like",
        "Like this, but",
        "List items like one, with some of its tags changed or left out: like this, but in another "
        "town. It presses nothing.",
        LikeArguments,
        guidance.Variation,
        like,
    ),
    Tool(
        "lift",
        "Presses that bring an item up",
        "Find the fewest presses that would bring an item among the first k. It presses nothing.",
        LiftArguments,
        LiftAnswer,
        lift,
    ),
    Tool(
        "similar",
        "Similar items",
        "List the items that share most tags with an item, rare tags counting more.",
        SimilarArguments,
        responses.SimilarItems,
        similar,
    ),
)

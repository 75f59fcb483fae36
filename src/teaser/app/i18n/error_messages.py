"""Error messages for visitors, in their language: by problem, else by HTTP status."""

from teaser.app.i18n.texts import Texts
from teaser.errors import TeaserError, shortened

# The sentence for a problem; the facts of the error fill it in.
_BY_PROBLEM = {
    "unknown item": "There is no item “{name}” here.",
    "unknown tag": "There is no tag “{name}” here.",
    "unknown feature": "There is no feature “{name}” here.",
    "unknown share": "There is no such link. Perhaps its owner ended it.",
    "unknown list": "You have no list named “{name}”.",
    "unknown viewed item": "This is no longer among what you looked at.",
    "unknown hidden item": "This is not hidden any more.",
    "presses": "This tag cannot be pressed further.",
    "same item": "These are the same item. Choose two different ones.",
    "no tags": "This has no tags, so nothing like it can be looked for.",
    "no wish": "This wish cannot be understood. Nothing was changed.",
    "no period": "These days cannot be understood. Nothing was changed.",
    "letters": "This is too long to read. Write what you want in a few sentences.",
    "contradiction": "Two of these wishes cannot both be. Take one of them off.",
    "wishes": (
        "These are {n} wishes, and at most {limit} can be taken at once. Nothing was changed."
    ),
    "nothing to undo": "There is nothing to undo.",
    "nothing to redo": "There is nothing to redo.",
    "list name": "A list needs a name of one line, of at most 60 letters.",
    "list exists": "You have a list named “{name}” already. Take another name.",
    "lists": "You have the largest number of lists. Drop one of them first.",
    "shares": "You have the largest number of links. End one of them first.",
    "stored": "There would be {n} {kind}, and at most {limit} can be kept. Nothing was changed.",
    "actions": "No more actions can be stored for you. Delete your data to begin again.",
    "bytes": "No more actions can be stored for you. Delete your data to begin again.",
    "no export": (
        "This is not a file that was exported here, or it is damaged. Nothing was changed."
    ),
    "foreign origin": "This form was sent from another site, so nothing was changed.",
}
_BY_STATUS = {
    403: "You may not do this here. Nothing was changed.",
    404: "There is nothing at this address.",
    405: "This address cannot be used in that way.",
    413: "That is more than can be sent at once. Nothing was changed.",
    429: "Too many requests came from your address. Wait a minute and try again.",
    500: "Something went wrong on our side. Nothing that was confirmed is lost.",
    503: "This cannot be done just now. Nothing that was confirmed is lost; try again soon.",
}
_OTHER = "What was sent cannot be understood. Go back and try again."


def error_message(
    status: int, details: str, texts: Texts, error: TeaserError | None = None
) -> tuple[str, str]:
    """Return a sentence for a visitor, and the error's own words if they differ.

    Parameters
    ----------
    status
        The HTTP status of the response.
    details
        The error's own words, in English.
    texts
        The texts of the visitor's language.
    error
        The error; without one, or for a problem that has no sentence, the status decides.
    """
    sentence = _BY_PROBLEM.get(error.problem) if error is not None else None
    if error is None or sentence is None:
        text = texts(_BY_STATUS.get(status, _OTHER if status < 500 else _BY_STATUS[500]))
    else:
        facts = {name: shortened(fact) for name, fact in error.facts.items()}
        facts |= {name: texts.integer(error.facts[name]) for name in {"n", "limit"} & {*facts}}
        if error.problem == "stored":
            facts["kind"] = texts(facts["kind"])  # one of `teaser.app.state.LIMITS`
        text = texts(sentence, **facts)
    return text, "" if details == text else details

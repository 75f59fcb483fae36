"""What went wrong, said to a person in their language; the library's own words stay as details."""

import re
from dataclasses import dataclass

from teaser.app.i18n.texts import Texts

# What an error says -> what a person is told. The first that fits is taken.
_KNOWN = (
    (r"^Unknown item (?P<name>.+?); the catalogue has", "There is no item “{name}” here."),
    (r"^Unknown tag (?P<name>.+?)\.(?: Closest: .*)?$", "There is no tag “{name}” here."),
    (r"^(?P<name>.+) is not a tag\.", "There is no tag “{name}” here."),
    (r"^Unknown feature (?P<name>.+)\.$", "There is no feature “{name}” here."),
    (r"are out of range", "That is as far as this tag goes; it cannot be pressed further."),
    (r"^There is nothing to undo", "There is nothing to undo."),
    (r"^There is nothing to redo", "There is nothing to redo."),
    (r"is not in the history", "This is not among what you looked at any more."),
    (r"is not hidden", "This is not hidden any more."),
    (r"sent from another site", "This form was sent from another site, so nothing was changed."),
    (r"^There is no such link", "There is no such link. Perhaps its owner ended it."),
    (r"links are in use", "You have as many links as can be had. End one of them first."),
    (r"actions are kept", "You have done as much as can be kept. Delete your data to begin again."),
)
# What a status says where nothing more is known.
_PLAIN = {
    403: "You may not do this here. Nothing was changed.",
    404: "There is nothing at this address.",
    405: "This address cannot be used in that way.",
    413: "That is more than can be sent at once. Nothing was changed.",
    429: "Too many requests came from your address. Wait a minute and try again.",
    500: "Something went wrong on our side. Nothing that was confirmed is lost.",
    503: "This cannot be done just now. Nothing that was confirmed is lost; try again soon.",
}
_OTHER = "What was sent cannot be understood. Go back and try again."
_LONGEST = 120


@dataclass(frozen=True)
class Trouble:
    """A sentence for a person, and the error's own words where those say something else."""

    said: str
    details: str


def say_trouble(status: int, message: str, texts: Texts) -> Trouble:
    """Return what to tell about an error of a status and a message."""
    for pattern, sentence in _KNOWN if status < 500 else ():
        found = re.search(pattern, message, re.DOTALL)
        if found:
            said = texts(sentence, **{k: _short(v) for k, v in found.groupdict().items()})
            return _trouble(said, message)
    return _trouble(texts(_PLAIN.get(status, _OTHER if status < 500 else _PLAIN[500])), message)


def _trouble(said: str, message: str) -> Trouble:
    return Trouble(said, "" if message == said else message)


def _short(name: str) -> str:
    """Return a name without the marks around it, cut where it is very long."""
    bare = name[1:-1] if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"" else name
    return bare if len(bare) <= _LONGEST else f"{bare[:_LONGEST]}…"

"""Reading a request in words: the built-in reader, or an interpreter of another package."""

from collections.abc import Callable
from datetime import date
from functools import cache
from importlib.metadata import entry_points

from teaser.data.tags import Tag
from teaser.errors import LimitError, ParameterError, ResourceError, closest, shortened
from teaser.words.grammar import Grammar
from teaser.words.phrases import LANGUAGES, lexicon, tokenize
from teaser.words.segmenter import Segmenter
from teaser.words.vocabulary import Vocabulary
from teaser.words.wishes import OF_COLUMNS, OF_TAGS, Reading, Wish

# The most letters of a request.
LONGEST = 2_000
# By how many words another language than the likely one has to be ahead.
_AHEAD = 2


def read(
    text: str, vocabulary: Vocabulary, *, language: str = "en", today: date | None = None
) -> Reading:
    """Return what a request asks for.

    Nothing is applied: the wishes are to be shown, so that each can be taken off.

    Parameters
    ----------
    text
        The request, of at most 2,000 letters.
    vocabulary
        What it can speak of.
    language
        The language that it is most likely written in: en, nl or fr. Another of the three is
        read if more words of the request belong to it.
    today
        The day that dates are counted from; that of the machine if it is not given.

    Raises
    ------
    LimitError
        If the text is longer.
    """
    _check_length(text)
    day = today or date.today()
    chosen = written_language(text, language, vocabulary)
    atoms = Segmenter(text, vocabulary, chosen, day).atoms()
    grammar = Grammar(text, vocabulary, atoms)
    return Reading.from_wishes(grammar.run(), grammar.unknown, today=day)


def written_language(text: str, likely: str, vocabulary: Vocabulary) -> str:
    """Return the language of a request: the likely one, unless another knows more of its words.

    Names of tags do not count: Ghent is Gent in Dutch and Gand in French, in any sentence.
    """
    words = [token.key for token in tokenize(text) if token.kind == "word"]
    spoken = [word for word in words if not vocabulary.names.exact(word)]
    known = {
        language: sum(word in lexicon(language).phrases.words for word in spoken)
        for language in LANGUAGES
    }
    likely = likely if likely in LANGUAGES else "en"
    best = max(LANGUAGES, key=lambda language: known[language])
    return best if known[best] >= known[likely] + _AHEAD else likely


Interpreter = Callable[[str, Vocabulary, str, date], Reading]

GROUP = "teaser.interpreters"
# The most wishes, and words that were not understood, that an interpreter may return.
MOST = 500


def interpret(
    text: str,
    vocabulary: Vocabulary,
    *,
    language: str = "en",
    today: date | None = None,
    interpreter: str | Interpreter = "",
) -> Reading:
    """Return what a request asks for, as an interpreter reads it.

    Parameters
    ----------
    text, vocabulary, language, today
        See `read`.
    interpreter
        A function, or the name of an installed one; the own reader if it is empty.

    Raises
    ------
    LimitError
        If the text is longer than 2,000 letters.
    ParameterError
        If no installed interpreter has the name.
    ResourceError
        If it fails, or returns what is no reading of this vocabulary.
    """
    if interpreter == "":
        return read(text, vocabulary, language=language, today=today)
    _check_length(text)
    day = today or date.today()
    if isinstance(interpreter, str):
        name, function = interpreter, find_interpreter(interpreter)
    else:
        name, function = getattr(interpreter, "__name__", "given"), interpreter
    try:
        found = function(text, vocabulary, language, day)
    except Exception as error:
        raise _unusable(name, f"It failed: {type(error).__name__}: {error}") from error
    problem = _problem(found, vocabulary)
    if problem:
        raise _unusable(name, problem)
    # What contradicts is for us to say.
    return Reading.from_wishes(found.wishes, found.unknown, today=day)


@cache
def find_interpreter(name: str) -> Interpreter:
    """Return an installed interpreter by its name.

    Raises
    ------
    ParameterError
        If there is none of that name.
    ResourceError
        If it cannot be loaded.
    """
    known = {point.name: point for point in entry_points(group=GROUP)}
    if name not in known:
        listed = f"Installed: {', '.join(sorted(known))}." if known else "None is installed."
        raise ParameterError(
            f"Unknown interpreter {name!r} of requests in words.{closest(name, known)} {listed}"
        )
    try:
        found: Interpreter = known[name].load()
    except Exception as error:
        raise _unusable(name, f"It cannot be loaded: {error}") from error
    if not callable(found):
        raise _unusable(name, f"It is no function, but {type(found).__name__}.")
    return found


def _check_length(text: str) -> None:
    if len(text) > LONGEST:
        raise LimitError(
            "The request has {n:,} letters; at most {limit:,} are read. Write a shorter one.",
            problem="letters",
            n=len(text),
            limit=LONGEST,
        )


def _unusable(name: str, problem: str) -> ResourceError:
    said = f"The interpreter {shortened(name)!r} of requests in words cannot be used. {problem}"
    return ResourceError(said)


def _problem(found: object, vocabulary: Vocabulary) -> str:
    """Return what is wrong with a foreign reading, or nothing."""
    if not isinstance(found, Reading) or not all(isinstance(w, Wish) for w in found.wishes):
        return f"It returned {shortened(repr(found))} in place of a Reading of wishes."
    if len(found.wishes) > MOST or len(found.unknown) > MOST:
        return f"It returned more than {MOST} wishes or unknown words."
    if not all(isinstance(word, str) for word in found.unknown):
        return "Its unknown words are not texts."
    known: dict[str, Callable[[str], bool]] = {
        **dict.fromkeys(OF_TAGS, lambda name: Tag.parse(name) in vocabulary.counts),
        **dict.fromkeys(OF_COLUMNS, lambda name: name in vocabulary.columns),
        "when": lambda name: vocabulary.has_dates,
        "like": lambda name: name in vocabulary.titles,
        "variety": lambda name: True,
    }
    wrong = next((wish for wish in found.wishes if not known[wish.kind](wish.name)), None)
    return "" if wrong is None else f"It returned {str(wrong)!r}, which no item has."

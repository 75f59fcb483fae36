"""A request in words becomes wishes."""

from datetime import date

from teaser.errors import RequestLengthError
from teaser.words.atoms import Segmenter
from teaser.words.grammar import Grammar
from teaser.words.phrases.lexicon import LANGUAGES, lexicon
from teaser.words.phrases.tokens import tokenize
from teaser.words.reading import Reading
from teaser.words.vocabulary import Vocabulary

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
    RequestLengthError
        If the text is longer.
    """
    if len(text) > LONGEST:
        raise RequestLengthError(len(text), LONGEST)
    day = today or date.today()
    chosen = written_language(text, language, vocabulary)
    atoms = Segmenter(text, vocabulary, chosen, day).atoms()
    grammar = Grammar(text, vocabulary, atoms)
    return Reading.of(grammar.run(), grammar.unknown, today=day)


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
